//! Tasks that do nothing: how many workers run in a second, how long each task waits in an idle queue and in one with a
//! steady load, and the cost of a claim when other tasks wait for their lane.

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, Result, bail, ensure};
use tokio::{
    task::JoinSet,
    time::{MissedTickBehavior, interval, sleep},
};

use super::{Line, Load, Page};
use crate::{
    bench::{At, Bench, Whose},
    check::{
        Bound::{LeastOfCase, LeastOfRaw},
        Goal, goal,
    },
    clock::Moment,
    queues::{self, Database, QUEUES, Queue, Tally, Work},
    results::{Figures, figures},
    statistics::{millis, percentile},
    systems::{Kind, Store, postgres_pool},
    worker::{Answer, Order, Worker},
};

const ONE: &str = "1 process";
const FOUR: &str = "4 processes";
const IN_LANES: &str = "1 process, 1,000 lanes";
const RATE: &str = "tasks_per_second";

pub(super) const PAGE: Page = Page {
    title: "The queue: tasks that do nothing, and from the enqueueing of a task to its start",
    columns: &[
        ("tasks/s", RATE),
        ("to start p50, ms", "to_start_p50_ms"),
        ("p99", "to_start_p99_ms"),
        ("a claim p50, ms", "claim_p50_ms"),
    ],
    lines: &[
        Line {
            what: "queue, one worker: tasks/s",
            case: ONE,
            figure: RATE,
            more: true,
        },
        Line {
            what: "queue, one worker, 1,000 lanes: tasks/s",
            case: IN_LANES,
            figure: RATE,
            more: true,
        },
        Line {
            what: "queue, a claim beside 100,000 tasks that wait for their lane, ms",
            case: BLOCKED[2].0,
            figure: "claim_p50_ms",
            more: false,
        },
        Line {
            what: "queue, 200 tasks/s: from enqueueing to start, p99, ms",
            case: "200/s",
            figure: "to_start_p99_ms",
            more: false,
        },
    ],
    goals: &[
        goal(Store::Postgres, ONE, RATE, LeastOfRaw(0.5)),
        goal(Store::Postgres, FOUR, RATE, LeastOfRaw(0.5)),
        limited(Store::Postgres, LIMITED[0].0, 0.6),
        limited(Store::Postgres, LIMITED[1].0, 0.7),
        limited(Store::Postgres, LIMITED[2].0, 0.8),
        limited(Store::SQLite, LIMITED[0].0, 0.6),
        limited(Store::SQLite, LIMITED[1].0, 0.7),
        limited(Store::SQLite, LIMITED[2].0, 0.8),
    ],
};

/// Of the rate without a limit.
const fn limited(store: Store, case: &'static str, share: f64) -> Goal {
    goal(store, case, RATE, LeastOfCase(share, ONE)).open()
}

/// Tasks that a worker runs at a time, and its connections.
const CONCURRENCY: usize = 100;
const CONNECTIONS: usize = 10;

/// Tasks that are enqueued in one call.
const BATCH: usize = 1_000;

/// Time for the workers to connect and to warm up before anything is counted.
const WARM: Duration = Duration::from_millis(300);

/// The name of a case, and tasks a second.
const OFFERS: [(&str, u32); 2] = [("idle, 8/s", 8), ("200/s", 200)];

/// The name of a case, and how many tasks of the queue may run at a time.
const LIMITED: [(&str, u32); 3] = [("limit 8", 8), ("limit 32", 32), ("limit 1,000", 1_000)];

/// The name of a case, and the tasks of a lane that wait for the one that runs.
const BLOCKED: [(&str, usize); 3] = [
    ("beside 10 blocked", 10),
    ("beside 1,000 blocked", 1_000),
    ("beside 100,000 blocked", 100_000),
];

pub(super) async fn measure(bench: &Bench, run: u32) -> Result<()> {
    for queue in QUEUES {
        if !bench.stores.contains(&queue.store) {
            continue;
        }
        for (case, processes) in [(ONE, 1), (FOUR, 4)] {
            let measured = with_database(bench, queue, async |place| {
                full(bench, place, processes, FULL).await
            });
            let at = at(bench, run, case, queue);
            bench.settle(at, queue, measured.await);
        }
        if queue.kind == Kind::Raw {
            // The raw statements poll, so their latency is that of the pause. And they have no lanes.
            continue;
        }
        let measured = with_database(bench, queue, async |place| {
            full(bench, place, 1, SHORT.lanes(1_000)).await
        });
        bench.settle(at(bench, run, IN_LANES, queue), queue, measured.await);
        for (case, limit) in LIMITED {
            let measured = with_database(bench, queue, async |place| {
                place.queue.limit(limit).await?;
                full(bench, place, 1, SHORT).await
            });
            bench.settle(at(bench, run, case, queue), queue, measured.await);
        }
        for (case, blocked) in BLOCKED {
            let measured = with_database(bench, queue, async |place| {
                beside(bench, place, blocked).await
            });
            bench.settle(at(bench, run, case, queue), queue, measured.await);
        }
        for (case, rate) in OFFERS {
            let measured = with_database(bench, queue, async |place| {
                offered(bench, place, rate).await
            });
            let at = at(bench, run, case, queue);
            bench.settle(at, queue, measured.await);
        }
    }
    Ok(())
}

fn at<'a>(bench: &Bench, run: u32, case: &'a str, queue: Whose) -> At<'a> {
    bench.says(format!(
        "queue, {case}: {} on {}",
        queue.system, queue.store
    ));
    At {
        run,
        load: Load::Queue,
        case,
    }
}

/// A queue with its own tables.
struct Place {
    kind: Kind,
    database: Database,
    queue: Arc<dyn Queue>,
}

/// Does something with a queue in a separate database.
async fn with_database<F>(bench: &Bench, whose: Whose, work: F) -> Result<Figures>
where
    F: AsyncFnOnce(&Place) -> Result<Figures>,
{
    let name = bench.name("queue").replace('-', "_");
    let database = match whose.store {
        Store::SQLite => {
            let folder = bench.places().sqlite.as_ref();
            Database::File(folder.context("no SQLite")?.join(format!("{name}.db")))
        }
        _ => {
            let port = bench.places().postgres.context("no Postgres")?;
            let client = postgres_pool(bench.places())?.get().await?;
            client
                .batch_execute(&format!("CREATE DATABASE {name}"))
                .await?;
            Database::Postgres(format!(
                "postgres://postgres@127.0.0.1:{port}/{name}?sslmode=disable"
            ))
        }
    };
    let queue = queues::open(whose.kind, &database, CONNECTIONS)?;
    queue.setup().await?;
    let place = Place {
        kind: whose.kind,
        database,
        queue,
    };
    let measured = work(&place).await;
    if let Database::Postgres(_) = place.database {
        let client = postgres_pool(bench.places())?.get().await?;
        client
            .batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)"))
            .await?;
    }
    measured
}

/// The tasks of a queue that does not run empty: in a usual run, in a quick one, and in how many lanes.
#[derive(Clone, Copy)]
struct Supply(usize, usize, usize);

const FULL: Supply = Supply(400_000, 100_000, 0);
const SHORT: Supply = Supply(100_000, 20_000, 0);

impl Supply {
    const fn lanes(self, lanes: usize) -> Self {
        Self(self.0, self.1, lanes)
    }
}

/// How many tasks a second workers run.
async fn full(bench: &Bench, place: &Place, processes: usize, supply: Supply) -> Result<Figures> {
    let Supply(usual, quick, lanes) = supply;
    let tasks = bench.size(usual, quick);
    let span = bench.size(Duration::from_millis(1_000), Duration::from_millis(200));
    for _ in 0..tasks / BATCH {
        place.queue.enqueue(BATCH, lanes, Moment::now()).await?;
    }
    let mut crew = Vec::new();
    for _ in 0..processes {
        crew.push(Worker::with_threads()?);
    }
    let begin = Moment::now().after(WARM);
    let end = begin.after(span);
    for worker in &mut crew {
        start(worker, place, begin, end, false).await?;
    }
    end.reached().await;
    let mut ran = Tally::default();
    for worker in &mut crew {
        let Tally { inside, all, .. } = stop(worker).await?;
        ran.inside += inside;
        ran.all += all;
    }
    ensure!(ran.all < tasks as u64, "the queue ran empty");
    Ok(figures([(RATE, ran.inside as f64 / span.as_secs_f64())]))
}

/// The cost of a claim of one task while other tasks wait for the running one of their lane.
async fn beside(bench: &Bench, place: &Place, blocked: usize) -> Result<Figures> {
    // The first claims after an enqueue look at each lane that it has changed.
    const FIRST: usize = 20;
    let claims: usize = bench.size(500, 100);
    place.queue.enqueue(1, 1, Moment::now()).await?;
    place.queue.claim().await?;
    for begin in (0..blocked).step_by(BATCH) {
        let tasks = BATCH.min(blocked - begin);
        place.queue.enqueue(tasks, 1, Moment::now()).await?;
    }
    place
        .queue
        .enqueue(FIRST + claims, 0, Moment::now())
        .await?;
    let mut times = Vec::new();
    for _ in 0..FIRST + claims {
        let asked = Moment::now();
        place.queue.claim().await?;
        times.push(millis(Moment::now().since(asked)));
    }
    let p50 = percentile(&mut times[FIRST..], 0.5);
    Ok(figures([("claim_p50_ms", p50)]))
}

/// An idle worker, at this rate of new tasks a second.
async fn offered(bench: &Bench, place: &Place, rate: u32) -> Result<Figures> {
    // Enough for a 99th percentile.
    let span = Duration::from_secs(bench.size(if rate < 100 { 24 } else { 6 }, 2));
    let mut worker = Worker::with_threads()?;
    let begin = Moment::now().after(2 * WARM);
    start(&mut worker, place, begin, begin.after(span), true).await?;
    sleep(WARM).await;
    let mut ticks = interval(Duration::from_secs(1) / rate);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut calls = JoinSet::new();
    let mut counted = 0;
    while Moment::now() < begin.after(span) {
        ticks.tick().await;
        let (queue, now) = (Arc::clone(&place.queue), Moment::now());
        counted += usize::from(now >= begin);
        calls.spawn(async move { queue.enqueue(1, 0, now).await });
    }
    while let Some(done) = calls.join_next().await {
        done??;
    }
    sleep(WARM).await;
    let Tally { mut waits, .. } = stop(&mut worker).await?;
    ensure!(
        waits.len() == counted,
        "of {counted} tasks {} began within {WARM:?}",
        waits.len()
    );
    Ok(figures([
        ("to_start_p50_ms", percentile(&mut waits, 0.5)),
        ("to_start_p99_ms", percentile(&mut waits, 0.99)),
    ]))
}

async fn start(
    worker: &mut Worker,
    place: &Place,
    begin: Moment,
    end: Moment,
    keeps_waits: bool,
) -> Result<()> {
    let work = Work {
        kind: place.kind,
        database: place.database.clone(),
        concurrency: CONCURRENCY,
        connections: CONNECTIONS,
        begin,
        end,
        keeps_waits,
    };
    match worker.ask(&Order::Work(work)).await? {
        Answer::Ready => Ok(()),
        other => bail!("a worker answered {other:?}"),
    }
}

async fn stop(worker: &mut Worker) -> Result<Tally> {
    match worker.ask(&Order::StopWork).await? {
        Answer::Worked(tally) => Ok(tally),
        other => bail!("a worker answered {other:?}"),
    }
}
