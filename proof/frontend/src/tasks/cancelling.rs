//! Proves that nothing remains for longer than a lease when a future of the queue is dropped before it is ready.
//!
//! [`worker`] drops [`Worker::run`](dlock_tasks::Worker::run) after each of its polls, in paused time, while handlers
//! work, leave checkpoints, fail and panic: over a network that works, and over ones that lose requests or answers.
//! [`calls`](fn@calls) does the same to each call of a [`TaskStore`]. After each drop:
//!
//! - the worker's client closes, and holds nothing;
//! - after a lease at the latest, nothing is held;
//! - another worker ends every task, each as its handler says, with every attempt counted as documented;
//! - a call that is repeated answers as if it were the first.

mod calls;

use std::{
    future::poll_fn,
    task::Poll,
    time::{Duration, SystemTime},
};

use dlock_tasks::{NewTask, TaskStore};
use dlock_testkit::tasks::memory::MemoryTasks;
use tokio::time::{Instant, sleep, timeout};

pub use self::calls::calls;
use super::simulation::{
    Calls, Effect, Fault, How, Life, Plan, TaskPlan, WorkerPlan,
    inside::{End, Monitor, Parts, Planned, Process, Surroundings},
};
use crate::cancelling::turn;

/// The figures of the scenes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally {
    /// How often a future was started.
    pub scenes: usize,
    /// How often it was dropped before it was ready.
    pub dropped: usize,
}

const LEASE: Duration = Duration::from_secs(1);
/// When the worker is asked to stop.
const STOPS: Duration = Duration::from_millis(1600);
/// The other worker needs no longer than this.
const PATIENCE: Duration = Duration::from_secs(120);

/// Drops the future of a worker after each of its polls.
///
/// # Panics
/// If anything remains, or it is called on a runtime.
#[must_use]
pub fn worker() -> Tally {
    let mut tally = Tally::default();
    for weather in [None, Some(Effect::LoseReply), Some(Effect::LoseRequest)] {
        for polls in 0.. {
            let (dropped, wrong) = paused(scene(weather, polls));
            tally.scenes += 1;
            tally.dropped += usize::from(dropped);
            assert!(
                wrong.is_empty(),
                "a worker that was dropped after poll {polls}, {weather:?}: {wrong:#?}"
            );
            if !dropped {
                break;
            }
        }
    }
    tally
}

/// Runs a future in paused time.
fn paused<T>(scene: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    let runtime = runtime.unwrap_or_else(|error| panic!("no runtime: {error}"));
    fastrand::seed(1);
    runtime.block_on(scene)
}

/// Whether the future was dropped, and the violations after that.
async fn scene(weather: Option<Effect>, polls: usize) -> (bool, Vec<String>) {
    let around = surroundings(weather);
    let mut ends = std::collections::BTreeMap::new();
    for (place, task) in around.plan.tasks.iter().enumerate() {
        let new = NewTask::of(&Planned { place }).map(|task| task.max_attempts(100).build());
        let new = new.unwrap_or_else(|error| panic!("{error}"));
        let enqueued = around.store.enqueue(&[new]).await;
        let enqueued = enqueued.unwrap_or_else(|error| panic!("{error}"));
        ends.insert(enqueued[0].id(), task.how);
    }
    let Parts {
        id, client, worker, ..
    } = Parts::new(&around, 0, 0);
    let monitor = &around.monitor;
    let stopping = monitor.clone();
    let run = worker.run(async move {
        sleep(STOPS).await;
        stopping.stops(id);
    });
    let ended = cut(run, polls).await;
    let dropped_at = Instant::now();
    match &ended {
        Some(Ok(())) => monitor.returned(id),
        Some(Err(error)) => monitor.complain("J2", error.to_string()),
        None => monitor.drops(id),
    }
    // Handlers end a moment later.
    sleep(Duration::from_millis(1)).await;
    match timeout(2 * LEASE, client.close()).await {
        Ok(0) => {}
        other => monitor.complain("G3", format!("the client does not close: {other:?}")),
    }
    sleep((LEASE + Duration::from_millis(50)).saturating_sub(dropped_at.elapsed())).await;
    monitor.nothing_left(id, "a lease");
    let mut other = Process::start(&around, 1, 0);
    let all_done = async {
        while !around
            .store
            .call(|table, _| table.rows.values().all(|row| row.done.is_some()))
        {
            sleep(Duration::from_millis(20)).await;
        }
    };
    if timeout(PATIENCE, other.until(all_done)).await.is_err() {
        monitor.complain("K3", "not every task has ended");
    }
    other.end(End::Stop).await;
    let (violations, _) = monitor.finish(&ends);
    let wrong = violations
        .iter()
        .map(|it| format!("{}: {}", it.rule, it.what));
    (ended.is_none(), wrong.collect())
}

/// Two workers, the first of which has this weather, and a task of each kind.
fn surroundings(weather: Option<Effect>) -> Surroundings {
    let worker = WorkerPlan {
        rate: 1.0,
        latency: (3, 3),
        patience: LEASE / 6,
        lease: LEASE,
        concurrency: 4,
        grace: Duration::from_millis(300),
        timeout: None,
        lives: vec![Life {
            from: Duration::ZERO,
            to: Duration::MAX,
            end: End::Stop,
        }],
    };
    let task = |how, takes| TaskPlan {
        at: Duration::ZERO,
        how,
        takes: Duration::from_millis(takes),
        priority: 5,
        lane: None,
        max_attempts: 100,
        cancel: None,
    };
    let storm = |effect| Fault {
        worker: Some(0),
        from: Duration::ZERO,
        lasting: Duration::from_millis(700),
        calls: Calls::All,
        effect,
        chance: 1.0,
    };
    let plan = Plan {
        seed: 1,
        workers: vec![worker.clone(), worker],
        tasks: vec![
            task(How::Succeeds, 5),
            task(How::Succeeds, 1300),
            task(How::Steps(3), 40),
            task(How::Fails(1, Some(Duration::from_millis(60))), 10),
            task(How::Panics, 20),
            task(How::Snoozes(Duration::from_millis(100)), 10),
        ],
        faults: weather.map(storm).into_iter().collect(),
        period: None,
        limit: None,
    };
    let store = MemoryTasks::starting_at(SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 30));
    Surroundings {
        monitor: Monitor::new(store.clone()),
        store,
        start: Instant::now(),
        plan: plan.into(),
    }
}

/// Polls a future this often, and then drops it. Returns its value, if it was ready before.
async fn cut<F: Future>(future: F, polls: usize) -> Option<F::Output> {
    let mut future = Box::pin(future);
    for poll in 0..polls {
        let polled = poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await;
        if let Poll::Ready(value) = polled {
            return Some(value);
        }
        // Two turns of every task, then some time, more and more of it.
        if poll % 3 == 2 {
            sleep(Duration::from_millis(2) * (1 + u32::try_from(poll / 12).unwrap_or(1))).await;
        } else {
            turn().await;
        }
    }
    None
}
