//! The events of one run, as plain data. All instants count from the beginning of the run.

use std::time::Duration;

/// One run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// The seed it was drawn from; chance within the run is drawn from it too.
    pub seed: u64,
    /// The processes.
    pub workers: Vec<WorkerPlan>,
    /// The tasks that are enqueued.
    pub tasks: Vec<TaskPlan>,
    /// The faults between the workers and the store.
    pub faults: Vec<Fault>,
    /// The period of a schedule that all processes serve.
    pub period: Option<Duration>,
    /// How many tasks of the queue may run at a time.
    pub limit: Option<u32>,
}

/// A worker through all its lives.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WorkerPlan {
    /// How fast its clock runs, 0.9 to 1.1.
    pub rate: f64,
    /// How long a call takes each way, in milliseconds: from, to.
    pub latency: (u64, u64),
    /// How long its driver waits for an answer.
    pub patience: Duration,
    /// The lease of its claims.
    pub lease: Duration,
    /// How many tasks it runs at a time.
    pub concurrency: usize,
    /// The time that its handlers have when it is asked to stop.
    pub grace: Duration,
    /// The time that its handlers have in any case.
    pub timeout: Option<Duration>,
    /// One after the other. The last one continues until every task has ended.
    pub lives: Vec<Life>,
}

/// One life of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Life {
    /// When it begins.
    pub from: Duration,
    /// When it ends; the last one ends when every task has ended.
    pub to: Duration,
    /// How it ends.
    pub end: End,
}

/// How a life ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a plan is made of them")]
pub enum End {
    /// The worker is asked to stop.
    Stop,
    /// The process is killed: it sends nothing any more.
    Crash,
    /// The future of the worker is dropped, and its process continues.
    Drop,
}

/// A task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskPlan {
    /// When it is enqueued.
    pub at: Duration,
    /// The behaviour of its handler.
    pub how: How,
    /// How long its handler takes.
    pub takes: Duration,
    /// Tasks with a smaller value run first.
    pub priority: u8,
    /// Of the tasks with the same lane, one runs at a time.
    pub lane: Option<u8>,
    /// The limit of its attempts.
    pub max_attempts: u32,
    /// When it is cancelled, if it is, counted from `at`, and whether by force.
    pub cancel: Option<(Duration, bool)>,
}

/// The behaviour of a task's handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a plan is made of them")]
pub enum How {
    /// It succeeds.
    Succeeds,
    /// This many attempts fail; the next one comes after this time, or after the usual one.
    Fails(u32, Option<Duration>),
    /// The first attempt panics.
    Panics,
    /// This many steps, with a checkpoint after each.
    Steps(u64),
    /// It comes again after this time, once.
    Snoozes(Duration),
    /// It is discarded.
    Discards,
    /// The first attempt takes a minute.
    Hangs,
}

/// A fault that strikes calls for a while.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Fault {
    /// The worker whose calls it strikes; `None` for all.
    pub worker: Option<usize>,
    /// When it begins.
    pub from: Duration,
    /// How long it lasts.
    pub lasting: Duration,
    /// The kind of calls that it strikes.
    pub calls: Calls,
    /// The effect on a call.
    pub effect: Effect,
    /// The fraction of the calls that it strikes.
    pub chance: f64,
}

/// A kind of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a plan is made of them")]
pub enum Calls {
    /// Any.
    All,
    /// Claims.
    Claims,
    /// Heartbeats.
    Heartbeats,
}

/// The fate of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a plan is made of them")]
pub enum Effect {
    /// It does not arrive.
    LoseRequest,
    /// Its answer does not arrive.
    LoseReply,
    /// It arrives later.
    DelayRequest(Duration),
    /// Its answer arrives later.
    DelayReply(Duration),
    /// It arrives once more, later.
    Duplicate(Duration),
    /// The store is down: certainly nothing is applied.
    Refuse,
    /// It is applied, and the answer is that its outcome is unknown.
    Doubt,
}
