//! What happens in one run, as plain data. All instants count from the beginning of the run.

use std::time::Duration;

/// One run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// What it was drawn from, and what chance within the run is drawn from.
    pub seed: u64,
    /// The processes.
    pub workers: Vec<WorkerPlan>,
    /// What is enqueued.
    pub tasks: Vec<TaskPlan>,
    /// What goes wrong on the way to the store.
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
    /// The time that its handlers have when it is told to stop.
    pub grace: Duration,
    /// The time that its handlers have anyway.
    pub timeout: Option<Duration>,
    /// One after the other. The last one goes on until every task has ended.
    pub lives: Vec<Life>,
}

/// One life of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Life {
    /// When it begins.
    pub from: Duration,
    /// When it ends; the last one when every task has ended.
    pub to: Duration,
    /// How.
    pub end: End,
}

/// How a life ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a plan is made of them")]
pub enum End {
    /// The worker is told to stop.
    Stop,
    /// The process is killed: nothing of it is sent any more.
    Crash,
    /// The future of the worker is dropped, and its process goes on.
    Drop,
}

/// A task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskPlan {
    /// When it is enqueued.
    pub at: Duration,
    /// What its handler makes of it.
    pub how: How,
    /// How long its handler takes.
    pub takes: Duration,
    /// Smaller ones first.
    pub priority: u8,
    /// Of the tasks with the same one, one runs at a time.
    pub lane: Option<u8>,
    /// How many attempts there are.
    pub max_attempts: u32,
    /// When somebody wants it cancelled, counted from `at`, and whether by force.
    pub cancel: Option<(Duration, bool)>,
}

/// What a handler makes of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a plan is made of them")]
pub enum How {
    /// It succeeds.
    Succeeds,
    /// So many attempts fail; the next one comes after this time, or after the usual one.
    Fails(u32, Option<Duration>),
    /// The first attempt panics.
    Panics,
    /// So many steps, with a checkpoint after each.
    Steps(u64),
    /// It comes again after this time, once.
    Snoozes(Duration),
    /// It is given up.
    Discards,
    /// The first attempt takes a minute.
    Hangs,
}

/// What goes wrong with calls for a while.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Fault {
    /// Of this worker, or of all.
    pub worker: Option<usize>,
    /// From when on.
    pub from: Duration,
    /// For how long.
    pub lasting: Duration,
    /// To which calls.
    pub calls: Calls,
    /// What happens to one.
    pub effect: Effect,
    /// To which part of the calls.
    pub chance: f64,
}

/// Which calls.
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

/// What happens to a call.
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
    /// The store is down: certainly nothing happens.
    Refuse,
    /// It is applied, and the answer is that nobody knows.
    Doubt,
}
