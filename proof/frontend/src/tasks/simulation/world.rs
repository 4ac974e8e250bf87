//! One run.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use dlock_tasks::{NewTask, TaskId, TaskStore};
use dlock_testkit::tasks::memory::MemoryTasks;
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep, sleep_until, timeout},
};

use super::{
    handler::{Planned, Tick},
    monitor::{Monitor, Violation},
    plan::{How, Plan, TaskPlan},
    process::{Process, Surroundings},
    report::Figures,
};
use dlock_tasks::Payload;

/// How often all beliefs are checked.
const SWEEP: Duration = Duration::from_millis(50);
/// When every task must have ended: after the longest series of retries.
const LONGEST: Duration = Duration::from_secs(1200);

/// The outcome of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Run {
    /// The violations; empty if all is well.
    pub violations: Vec<Violation>,
    /// The events in numbers.
    pub figures: Figures,
}

impl Plan {
    /// Plays the plan in virtual time, on its own runtime. Ends early at a violation.
    ///
    /// # Panics
    /// If there is no memory or no thread for a runtime, or it is called on one.
    #[must_use]
    pub fn run(&self) -> Run {
        // Seeds the pauses that a worker draws.
        fastrand::seed(self.seed);
        #[expect(
            clippy::expect_used,
            reason = "documented; a test can do nothing about it"
        )]
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        runtime.block_on(play(self))
    }
}

async fn play(plan: &Plan) -> Run {
    // Any time would do: tokens are microseconds of it.
    let store = MemoryTasks::starting_at(SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 30));
    let around = Surroundings {
        plan: Arc::new(plan.clone()),
        monitor: Monitor::new(store.clone()),
        store,
        start: Instant::now(),
    };
    let ends: Arc<Mutex<BTreeMap<TaskId, How>>> = Arc::default();
    let failed = async {
        while !around.monitor.failed() {
            sleep(SWEEP).await;
            around.monitor.sweep();
        }
    };
    tokio::select! {
        biased;
        () = failed => {}
        () = live(&around, &ends) => {}
    }
    let ends = ends.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let (violations, mut figures) = around.monitor.finish(&ends);
    figures.runs = 1;
    Run {
        violations,
        figures,
    }
}

/// All workers and customers follow their plans.
async fn live(around: &Surroundings, ends: &Arc<Mutex<BTreeMap<TaskId, How>>>) {
    let limited = around.store.set_limit(NewTask::QUEUE, around.plan.limit);
    if let Err(error) = limited.await {
        around.monitor.complain("K8", error.to_string());
    }
    let (over, finish) = watch::channel(false);
    let mut workers = JoinSet::new();
    for number in 0..around.plan.workers.len() {
        workers.spawn(lives(around.clone(), number, finish.clone()));
    }
    let mut customers = JoinSet::new();
    for place in 0..around.plan.tasks.len() {
        customers.spawn(customer(around.clone(), place, Arc::clone(ends)));
    }
    while customers.join_next().await.is_some() {}
    let lives = around.plan.workers.iter().flat_map(|worker| &worker.lives);
    let last = lives.map(|life| life.from).max().unwrap_or_default();
    sleep_until(around.start + last).await;
    let ended = async {
        while !all_ended(&around.store) {
            sleep(SWEEP).await;
        }
    };
    if timeout(LONGEST, ended).await.is_err() {
        around.monitor.complain("K3", "not every task has ended");
    }
    over.send_replace(true);
    while let Some(joined) = workers.join_next().await {
        if let Err(error) = joined {
            around.monitor.complain("panic", error.to_string());
        }
    }
    // Removes the tasks that the schedule has enqueued since.
    around.store.call(|table, _| {
        let kind = Tick::KIND;
        let done = |row: &dlock_testkit::tasks::memory::table::Row| row.done.is_some();
        table
            .rows
            .retain(|_, row| row.new.kind != kind || done(row));
    });
}

/// All lives of one worker.
async fn lives(around: Surroundings, worker: usize, mut finish: watch::Receiver<bool>) {
    let lives = around.plan.workers[worker].lives.clone();
    for (number, life) in lives.iter().enumerate() {
        sleep_until(around.start + life.from).await;
        let mut process = Process::start(&around, worker, number);
        if number + 1 == lives.len() {
            let finished = async {
                // The sender exists until all of them have ended.
                drop(finish.wait_for(|over| *over).await);
            };
            process.until(finished).await;
            return process.end(life.end).await;
        }
        process.until(sleep_until(around.start + life.to)).await;
        // Concurrently with the next life.
        crate::spawn(process.end(life.end));
    }
}

/// Enqueues one task, and cancels it, if that is planned.
async fn customer(around: Surroundings, place: usize, ends: Arc<Mutex<BTreeMap<TaskId, How>>>) {
    let TaskPlan {
        at,
        how,
        priority,
        lane,
        max_attempts,
        cancel,
        ..
    } = around.plan.tasks[place];
    sleep_until(around.start + at).await;
    let Ok(task) = NewTask::of(&Planned { place }) else {
        return;
    };
    let lane = lane.map(|lane| lane.to_string());
    let task = task.priority(priority).lane_opt(lane);
    let task = task.max_attempts(max_attempts).build();
    let Ok([enqueued]) = around
        .store
        .enqueue(&[task])
        .await
        .as_deref()
        .map(|all| [all[0]])
    else {
        return;
    };
    let id = enqueued.id();
    ends.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(id, how);
    if let Some((after, force)) = cancel {
        sleep(after).await;
        around.monitor.cancels(id);
        drop(around.store.cancel(id, force).await);
    }
}

/// Whether every task of the plan has ended.
fn all_ended(store: &MemoryTasks) -> bool {
    store.call(|table, _| {
        let mut planned = table
            .rows
            .values()
            .filter(|row| row.new.kind == Planned::KIND);
        planned.all(|row| row.done.is_some())
    })
}
