//! The requirements of a queue on its database.

mod shared;

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use dlock_core::{Provider, ProviderError, provider::Wakeups};
use serde_json::Value;

use crate::{
    Claim, ClaimKey, Claimed, Ended, Ending, Enqueued, Kept, NewTask, Served, State, Task, TaskId,
};

/// A queue in a database.
///
/// Every call may be repeated after an error that is not [`Fatal`](dlock_core::ErrorKind::Fatal), with the same
/// arguments; if that could do harm, the call's documentation says how it is safe. A call whose future is dropped may
/// still be applied.
#[async_trait]
pub trait TaskStore: Send + Sync + 'static {
    /// Adds tasks, all or none.
    ///
    /// A repeat adds tasks without a key once more: give a task a key if that matters.
    async fn enqueue(&self, tasks: &[NewTask]) -> Result<Vec<Enqueued>, ProviderError>;

    /// Adds the task of one instant of a schedule, and records in the same transaction that this instant was served:
    /// each instant is served once, and none after a later one. An instant that the store's clock has not reached is
    /// not served. A recorded instant that is more than a day ahead of the store's clock does not count, since the
    /// clock was wrong when it was recorded. Instants are in whole microseconds.
    ///
    /// A repeat after an error adds nothing twice.
    async fn enqueue_periodic(
        &self,
        schedule: &str,
        instant: SystemTime,
        task: &NewTask,
    ) -> Result<Served, ProviderError>;

    /// Gives out tasks under leases: those that are due and free, or whose lease has run out. A task whose last attempt
    /// has run out dies here, and a task that was to be cancelled ends: tasks of any kind, even if the claim is limited
    /// to [some kinds](Claim::kinds).
    ///
    /// Of the tasks of a queue with the same [lane](crate::NewTask::lane), one runs at a time, over all workers, and a
    /// claim gets at most one of them. They start in the order of the queue: a task is passed over while an earlier one
    /// of its lane is due, whatever its kind. A task whose lease has run out has begun: it comes before the others, and
    /// they wait for it. A task that waits for a later attempt is not due, and does not keep the others waiting: that
    /// attempt may be hours away.
    ///
    /// To repeat a claim that had no answer, send it [`repeated`](Claim::repeated): it gets the tasks that it already
    /// holds.
    async fn claim(&self, claim: &Claim) -> Result<Claimed, ProviderError>;

    /// Ends claims, each independently; the answers are in the order of the endings. A repeat gets the same answer as
    /// the first call.
    async fn finish(&self, endings: &[Ending]) -> Result<Vec<Ended>, ProviderError>;

    /// Leaves data for the next attempt. `number` orders the checkpoints of a claim: one that is not larger than the
    /// largest that the store has seen of this claim changes nothing.
    async fn checkpoint(
        &self,
        key: &ClaimKey,
        number: u64,
        checkpoint: &Value,
    ) -> Result<Kept, ProviderError>;

    /// The claims as leases, whose names are [`ClaimKey::name`]: a renewal is a heartbeat, a release gives the task
    /// back. An acquire is not possible here.
    fn claims(&self) -> Arc<dyn Provider>;

    /// Opens a stream of hints that claims of these queues and kinds may find something, or that [`Claimed::next`] has
    /// come nearer; nothing else of `claim` matters. `None`, the default: this store has none, and workers poll.
    ///
    /// For each task that is enqueued, retried, given back or left for a later attempt after this call has returned, a
    /// hint is sent once claims see the task, or the stream ends. The same holds for the end of a task that others of
    /// its lane, or of a queue with a limit, wait for. A task for later needs no hint if another one falls due before
    /// it. The kind of a hint does not matter. An unread hint stands for all that follow, so a stream needs room for
    /// one.
    ///
    /// A hint is never truth. It may be false, and a worker that missed one finds the task with its next poll, so a
    /// store may leave out some hints under load. That poll comes within a second of the latest hint, and within 5 s at
    /// any other time: an event without a hint should be close to one with a hint. Neither heartbeats nor claims of
    /// other workers may cause many hints.
    ///
    /// # Cancel safety
    /// Dropping the future or the stream ends the store's work for it.
    async fn watch(&self, claim: &Claim) -> Result<Option<Wakeups>, ProviderError> {
        let _ = claim;
        Ok(None)
    }

    /// Cancels a task, and answers its state before: a task without a worker ends at once. The worker of a running task
    /// is asked to stop, and learns of that from its next heartbeat; with `force`, the task ends at once, and its
    /// worker has lost it. `None` if the task does not exist.
    ///
    /// That worker learns of the loss from its next heartbeat. Until then it may work while the next task of the same
    /// lane already runs: its token no longer ends any claim, and fences its writes.
    async fn cancel(&self, id: TaskId, force: bool) -> Result<Option<State>, ProviderError>;

    /// Enqueues an ended task once more, with no attempt used: a dead or cancelled one under its number, one that
    /// succeeded as a copy. `None` if the task does not exist, or has not ended.
    ///
    /// A repeat may add a second copy.
    async fn retry(&self, id: TaskId) -> Result<Option<Enqueued>, ProviderError>;

    /// One task.
    async fn task(&self, id: TaskId) -> Result<Option<Task>, ProviderError>;

    /// Tasks by number, after `filter.after`.
    async fn list(&self, filter: &Filter) -> Result<Vec<Task>, ProviderError>;

    /// Pauses a queue, or resumes it. A claim that begins once a queue is paused gets none of its tasks, and ends none:
    /// a task without attempts left, or one that was to be cancelled and has no worker any more, stays as it is.
    /// Everything else continues: tasks are enqueued and fall due, running ones are renewed and end, and a
    /// [repeated](Claim::repeated) claim gets the tasks that it holds. When the queue is resumed, the workers that
    /// [watch](Self::watch) it are notified.
    ///
    /// A queue need not have tasks to be paused, and stays paused until it is resumed. A repeat changes nothing.
    async fn set_paused(&self, queue: &str, paused: bool) -> Result<(), ProviderError>;

    /// The queues that are paused, by name.
    async fn paused(&self) -> Result<Vec<PausedQueue>, ProviderError>;

    /// Limits how many tasks of a queue run at a time, over all workers; `None` removes the limit. A claim that begins
    /// once a queue has a limit gets none of its tasks while that many run, including those that ran before. None of
    /// them is stopped: with a lower limit, no worker gets another task until enough have ended. Places need no
    /// release: a place is free when its claim has ended, by its ending or because the lease has run out. When a place
    /// becomes free or the limit changes, the workers that [watch](Self::watch) the queue are notified.
    ///
    /// A queue need not have tasks to have a limit, and keeps it. A repeat changes nothing.
    ///
    /// # Errors
    /// [`Fatal`](dlock_core::ErrorKind::Fatal) if the limit is 0, which is a [pause](Self::set_paused), or for the name.
    async fn set_limit(&self, queue: &str, limit: Option<u32>) -> Result<(), ProviderError>;

    /// The queues that have a limit, by name.
    async fn limits(&self) -> Result<Vec<LimitedQueue>, ProviderError>;

    /// How many tasks of each queue are in each state; those with none are left out.
    async fn counts(&self) -> Result<Vec<Count>, ProviderError>;

    /// Forgets tasks that ended longer ago than this, at most `most` of them; returns how many.
    async fn prune(&self, ages: Ages, most: usize) -> Result<usize, ProviderError>;
}

/// The selection of tasks to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Filter {
    /// Of this queue only.
    pub queue: Option<String>,
    /// In this state only.
    pub state: Option<State>,
    /// Of this kind only.
    pub kind: Option<String>,
    /// Lists the largest number first; otherwise the smallest.
    pub newest_first: bool,
    /// Only tasks that come after this one in that order.
    pub after: Option<TaskId>,
    /// At most this many; 0 stands for 100.
    pub limit: usize,
}

impl Filter {
    /// Only tasks of this queue, if one is given.
    #[must_use]
    pub fn queue(mut self, queue: Option<String>) -> Self {
        self.queue = queue;
        self
    }

    /// Only tasks in this state, if one is given.
    #[must_use]
    pub fn state(mut self, state: Option<State>) -> Self {
        self.state = state;
        self
    }

    /// Only tasks of this kind, if one is given.
    #[must_use]
    pub fn kind(mut self, kind: Option<String>) -> Self {
        self.kind = kind;
        self
    }

    /// The largest numbers first.
    #[must_use]
    pub const fn newest_first(mut self, newest_first: bool) -> Self {
        self.newest_first = newest_first;
        self
    }

    /// Only tasks that come after this one, if one is given: the last of the page before.
    #[must_use]
    pub fn after(mut self, after: Option<TaskId>) -> Self {
        self.after = after;
        self
    }

    /// Lists at most this many tasks.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }
}

/// How many tasks of a queue are in a state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Count {
    /// The queue.
    pub queue: String,
    /// The state.
    pub state: State,
    /// How many.
    pub tasks: u64,
}

impl Count {
    /// A count.
    #[must_use]
    pub const fn new(queue: String, state: State, tasks: u64) -> Self {
        Self {
            queue,
            state,
            tasks,
        }
    }
}

/// A paused queue: no worker gets its tasks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct PausedQueue {
    /// The queue.
    pub queue: String,
    /// The instant at which it was paused, by the store's clock.
    pub since: SystemTime,
}

impl PausedQueue {
    /// A queue that has been paused since then.
    #[must_use]
    pub const fn new(queue: String, since: SystemTime) -> Self {
        Self { queue, since }
    }
}

/// A queue that limits how many of its tasks run at a time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct LimitedQueue {
    /// The queue.
    pub queue: String,
    /// The most of its tasks that run at a time.
    pub limit: u32,
}

impl LimitedQueue {
    /// A queue with this limit.
    #[must_use]
    pub const fn new(queue: String, limit: u32) -> Self {
        Self { queue, limit }
    }
}

/// How long ended tasks are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ages {
    /// Tasks that succeeded.
    pub succeeded: Duration,
    /// Tasks that are dead or were cancelled.
    pub others: Duration,
}

impl Default for Ages {
    /// A day, and a week.
    fn default() -> Self {
        const DAY: Duration = Duration::from_secs(86_400);
        Self {
            succeeded: DAY,
            others: 7 * DAY,
        }
    }
}

impl Ages {
    /// Other times than a day and a week.
    #[must_use]
    pub const fn new(succeeded: Duration, others: Duration) -> Self {
        Self { succeeded, others }
    }
}
