//! One worker process: it enqueues errands, and runs the worker that handles them.

use std::{sync::Arc, time::Duration};

use dlock_proof::tasks::Wrapped;
use dlock_tasks::{Context, NewTask, Periodic, Schedule, Stop, TaskStore, Worker};
use tokio::{sync::watch, time::sleep};
use uuid::Uuid;

use super::{
    LANES, LIMITED, QUEUE,
    database::{self, QueueDatabase},
    handler::{Desk, handle},
    late::Late,
    note::{Notes, What},
    payload::{JobPayload, Tick},
};
use crate::{cli::Failure, orders::Orders, store::Kind, tether::until_let_go};

/// The number of tasks that a process runs at a time.
const AT_A_TIME: usize = 8;

/// Works until the standard input closes, then ends in an orderly way.
pub(crate) async fn work(orders: Orders) -> Result<(), Failure> {
    match orders.store {
        #[cfg(feature = "postgres")]
        Kind::Postgres => serve::<database::PostgresShop>(orders).await,
        #[cfg(feature = "sqlite")]
        Kind::Sqlite => serve::<database::SqliteShop>(orders).await,
        other => Err(format!("{other} has no queue here").into()),
    }
}

async fn serve<S: QueueDatabase>(orders: Orders) -> Result<(), Failure> {
    let mut let_go = until_let_go();
    let shop = tokio::select! {
        shop = S::open(&orders.place) => shop?,
        _ = let_go.wait_for(|gone| *gone) => return Ok(()),
    };
    let desk = Arc::new(Desk {
        shop: shop.clone(),
        notes: Notes::open(&orders.history.with_extension("notes"), &orders.name)?,
        process: orders.name.clone(),
        storage: orders.storage,
    });
    let mut random = fastrand::Rng::with_seed(orders.seed);
    let leases = &orders.leases;
    let lease = leases[random.usize(..leases.len())];
    let late = Late::new(Duration::from_millis(2 * lease), random.u64(..));
    let enqueuing = tokio::spawn(enqueue(
        Arc::clone(&desk),
        (lease, orders.until),
        random,
        let_go.clone(),
    ));
    let handling = Arc::clone(&desk);
    let lease = Duration::from_millis(lease);
    let tick = NewTask::of(&Tick {})?.queue(QUEUE).build();
    let worker = Worker::builder()
        .store(Wrapped::new(shop.tasks(), late))
        // The queue without a limit is never empty for long.
        .queues([LIMITED, QUEUE])
        .concurrency(AT_A_TIME)
        .lease(lease)
        .grace(2 * lease)
        .poll(Duration::from_millis(100))
        .owner(orders.name.as_str())
        .build()?
        .handle(move |context, errand: JobPayload| handle(Arc::clone(&handling), context, errand))
        .handle(|_: Context, _: Tick| async { Ok::<_, Stop>(()) })
        .periodic(Periodic::new(
            "tick",
            Schedule::every(Duration::from_secs(1))?,
            tick,
        ));
    let stop = async {
        // An error means that the holder of the other end is gone, too.
        drop(let_go.wait_for(|gone| *gone).await);
        desk.notes.note(None, What::Stopping);
    };
    worker.run(stop).await?;
    enqueuing.await?;
    Ok(())
}

/// Enqueues errands until then, half of them with an order in one transaction. Failures here are the point of the run.
async fn enqueue<S: QueueDatabase>(
    desk: Arc<Desk<S>>,
    (lease, until): (u64, u64),
    mut random: fastrand::Rng,
    let_go: watch::Receiver<bool>,
) {
    while desk.notes.now() < until && !*let_go.borrow() {
        let mut errand = JobPayload::drawn(lease, &mut random);
        if random.bool() {
            let order = Uuid::new_v4();
            errand.order = Some(order);
            if let Some(task) = task(&errand, &mut random)
                && desk.shop.place(order, task).await.is_ok()
            {
                desk.notes.note(None, What::Placed { order });
            }
        } else if let Some(task) = task(&errand, &mut random) {
            drop(desk.shop.tasks().enqueue(&[task]).await);
        }
        sleep(Duration::from_millis(random.u64(..160))).await;
    }
}

/// An errand as a task: one in four is for the queue with a limit, and one in four has a lane.
pub(super) fn task(errand: &JobPayload, random: &mut fastrand::Rng) -> Option<NewTask> {
    let task = NewTask::of(errand).ok()?;
    let queue = if random.u32(..4) == 0 { LIMITED } else { QUEUE };
    let lane = (random.u32(..4) == 0).then(|| LANES[random.usize(..LANES.len())]);
    Some(
        task.queue(queue)
            .lane_opt(lane.map(str::to_owned))
            .priority(random.u8(3..7))
            .max_attempts(errand.how.attempts())
            .build(),
    )
}
