//! The monitor of a run: the calls of workers and their answers, the acts of their handlers, and the effects in the
//! store.

mod beliefs;
mod calls;
mod endings;
mod handlers;
mod lanes;
mod rows;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use dlock_core::ProviderError;
use dlock_tasks::{ClaimKey, Context, TaskId};
use dlock_testkit::tasks::memory::MemoryTasks;
use tokio::time::Instant;
use uuid::Uuid;

pub(super) use self::{endings::is_done, rows::Before};
use super::{
    plan::{How, WorkerPlan},
    report::Figures,
};
use crate::tasks::{Answer, Call};

/// A deviation from the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The rule, by its number.
    pub rule: &'static str,
    /// A description of it, with its time.
    pub what: String,
}

/// A life of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::tasks) struct ProcessId(usize);

/// Monitors one run. Clones share the state.
#[derive(Clone)]
pub(in crate::tasks) struct Monitor(Arc<Mutex<State>>);

struct State {
    store: MemoryTasks,
    start: Instant,
    violations: Vec<Violation>,
    figures: Figures,
    processes: Vec<Process>,
    attempts: HashMap<ClaimKey, Held>,
    /// The claims whose handlers run.
    running: BTreeMap<(TaskId, u64), (ClaimKey, Context)>,
    /// Identities that claims have had, and claims that were granted.
    uuids: HashSet<Uuid>,
    granted: HashMap<ClaimKey, ProcessId>,
    /// The claims of tasks that were lost more than once in a row before.
    suspects: HashSet<ClaimKey>,
    /// How many attempts of each task count.
    counted: BTreeMap<TaskId, i64>,
    /// The newest stored step of each task, by the token of the claim.
    kept: HashMap<TaskId, Vec<(u64, u64)>>,
    /// The newest instant of the schedule that was served.
    served: Option<SystemTime>,
    /// The tasks that were cancelled.
    cancelled: HashSet<TaskId>,
}

/// The monitor's knowledge of a life.
struct Process {
    plan: WorkerPlan,
    /// Its handlers that have not ended.
    running: usize,
    life: Life,
    /// The claim that has no answer yet, and when it was sent first.
    open: Option<(Uuid, Instant)>,
    /// When a fault last struck one of its calls.
    struck: Option<Instant>,
    /// Endings that were sent and have no answer.
    unanswered: HashSet<ClaimKey>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Life {
    On,
    Stopping(Instant),
    /// Its worker has returned, or was dropped.
    Over,
    Dead,
}

/// An attempt: a claim with its handler.
struct Held {
    process: ProcessId,
    began: Instant,
    /// How it ended, if its handler has answered.
    answer: Option<How>,
    /// Whether the store has answered to its ending.
    is_over: bool,
    attempt: u32,
}

impl Monitor {
    pub(in crate::tasks) fn new(store: MemoryTasks) -> Self {
        Self(Arc::new(Mutex::new(State {
            store,
            start: Instant::now(),
            violations: Vec::new(),
            figures: Figures::default(),
            processes: Vec::new(),
            attempts: HashMap::new(),
            running: BTreeMap::new(),
            uuids: HashSet::new(),
            granted: HashMap::new(),
            suspects: HashSet::new(),
            counted: BTreeMap::new(),
            kept: HashMap::new(),
            served: None,
            cancelled: HashSet::new(),
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new life.
    pub(in crate::tasks) fn process(&self, plan: &WorkerPlan) -> ProcessId {
        let mut state = self.state();
        state.processes.push(Process {
            plan: plan.clone(),
            running: 0,
            life: Life::On,
            open: None,
            struck: None,
            unanswered: HashSet::new(),
        });
        ProcessId(state.processes.len() - 1)
    }

    pub(in crate::tasks) fn called(&self, process: ProcessId, call: &Call, struck: bool) {
        self.state().called(process, call, struck);
    }

    pub(in crate::tasks) fn answered(
        &self,
        process: ProcessId,
        call: &Call,
        answer: &Result<Answer, ProviderError>,
    ) {
        self.state().answered(process, call, answer);
    }

    /// The store is about to apply a call.
    pub(super) fn before(&self, call: &Call) -> Before {
        self.state().before(call)
    }

    /// The store has applied it, in the same instant.
    pub(super) fn applied(
        &self,
        process: ProcessId,
        call: &Call,
        before: &Before,
        answer: &Answer,
    ) {
        let mut state = self.state();
        state.applied(process, call, before, answer);
        state.look();
    }

    /// Compares all beliefs with the store.
    pub(in crate::tasks) fn sweep(&self) {
        self.state().look();
    }

    /// The worker of this process is asked to stop.
    pub(in crate::tasks) fn stops(&self, process: ProcessId) {
        let mut state = self.state();
        state.processes[process.0].life = Life::Stopping(Instant::now());
        state.figures.stops += 1;
    }

    /// The process is killed.
    pub(in crate::tasks) fn dies(&self, process: ProcessId) {
        let mut state = self.state();
        state.processes[process.0].life = Life::Dead;
        state.figures.crashes += 1;
    }

    /// The future of the worker is dropped.
    pub(in crate::tasks) fn drops(&self, process: ProcessId) {
        let mut state = self.state();
        state.processes[process.0].life = Life::Over;
        state.figures.drops += 1;
    }

    /// The worker that was asked to stop has returned.
    pub(in crate::tasks) fn returned(&self, process: ProcessId) {
        self.state().returned(process);
    }

    /// Checks, after its end, that nothing of a process is held any more.
    pub(in crate::tasks) fn nothing_left(&self, process: ProcessId, after: &str) {
        self.state().nothing_left(process, after);
    }

    pub(in crate::tasks) fn cancels(&self, task: TaskId) {
        self.state().cancelled.insert(task);
    }

    pub(in crate::tasks) fn complain(&self, rule: &'static str, what: impl Into<String>) {
        self.state().complain(rule, what);
    }

    pub(in crate::tasks) fn failed(&self) -> bool {
        !self.state().violations.is_empty()
    }

    /// Ends the run: the violations, and the figures.
    pub(in crate::tasks) fn finish(
        &self,
        ends: &BTreeMap<TaskId, How>,
    ) -> (Vec<Violation>, Figures) {
        let mut state = self.state();
        if state.violations.is_empty() {
            state.judge(ends);
        }
        state.figures.virtual_time = state.start.elapsed();
        (state.violations.clone(), state.figures.clone())
    }
}

impl State {
    fn complain(&mut self, rule: &'static str, what: impl Into<String>) {
        let what = format!("{:?}: {}", self.start.elapsed(), what.into());
        // Violations that follow from others are useless.
        if self.violations.len() < 5 {
            self.violations.push(Violation { rule, what });
        }
    }

    /// Whether no fault has struck the process for a lease and the time that its calls take.
    fn is_calm(&self, process: ProcessId) -> bool {
        let Process { plan, struck, .. } = &self.processes[process.0];
        let calm = plan.lease.mul_f64(1.5) + Duration::from_secs(6);
        struck.is_none_or(|struck| struck.elapsed() > calm)
    }
}

impl fmt::Debug for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Monitor")
    }
}
