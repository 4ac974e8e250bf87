//! What a database has to do for a queue.

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
/// Every call may be repeated after an error that is not [`Fatal`](dlock_core::ErrorKind::Fatal), with the
/// same arguments; where that could do harm, the call says what makes it safe. A future that is dropped leaves
/// a call that may be applied.
#[async_trait]
pub trait TaskStore: Send + Sync + 'static {
    /// Adds tasks, all or none.
    ///
    /// A repeat adds those without a key once more: give a task a key where that matters.
    async fn enqueue(&self, tasks: &[NewTask]) -> Result<Vec<Enqueued>, ProviderError>;

    /// Adds the task of one instant of a schedule, and keeps in the same transaction that this instant was served
    /// (K10): each is served once, and none before a later one. An instant that the store's clock has not reached is
    /// not served, and one that a store keeps from more than a day ahead of its clock, which was wrong then, does not
    /// count. In whole microseconds.
    ///
    /// A repeat after an error adds nothing twice.
    async fn enqueue_periodic(
        &self,
        schedule: &str,
        instant: SystemTime,
        task: &NewTask,
    ) -> Result<Served, ProviderError>;

    /// Gives out tasks under leases (K3): those that are due and that nobody has, or whose lease has run
    /// out. A task whose last attempt has run out dies here, one that was to be cancelled ends: of any kind, also if the
    /// claim is limited to [some](Claim::kinds).
    ///
    /// Of the tasks of a queue with the same [lane](crate::NewTask::lane) one runs at a time, over all workers (K8), and a
    /// claim gets one of them at most. They start in the order of the queue: a task is passed over while an earlier one of
    /// its lane is due, of whatever kind that is. One whose lease has run out has begun: it comes before the others, and they
    /// wait for it. One that waits for a later attempt is not due, and keeps nobody waiting: it may be hours until then.
    ///
    /// To repeat a claim that had no answer, send it [`repeated`](Claim::repeated): it gets what it holds
    /// already.
    async fn claim(&self, claim: &Claim) -> Result<Claimed, ProviderError>;

    /// Ends claims (K5), each by itself; the answers are in the order of the endings. A repeat answers as the
    /// first one did.
    async fn finish(&self, endings: &[Ending]) -> Result<Vec<Ended>, ProviderError>;

    /// Leaves something for the next attempt. `number` orders the checkpoints of a claim: one that is not
    /// larger than what the store has seen of this claim changes nothing.
    async fn checkpoint(
        &self,
        key: &ClaimKey,
        number: u64,
        checkpoint: &Value,
    ) -> Result<Kept, ProviderError>;

    /// The claims as leases, whose names are [`ClaimKey::name`]: a renewal is a heartbeat, a release gives the
    /// task back. Nothing can be acquired here.
    fn claims(&self) -> Arc<dyn Provider>;

    /// Opens a stream of hints that claims of these queues and kinds may find something, or that [`Claimed::next`] has
    /// come nearer (K6); nothing else of `claim` matters. `None`, the default: this store has none, and workers poll.
    ///
    /// What is enqueued, retried, given back or left for a later attempt from the return of this call on is hinted
    /// once claims see it, or the stream ends; so is the end of a task that others of its lane, or of a queue with a
    /// limit, wait for. A task of later need not be, if another one falls due before it. Of which kind a hint is does not
    /// matter. One that nobody has read yet stands for all that follow, so a stream needs room for one.
    ///
    /// A hint is never truth. It may be false, and a worker that missed one finds the task with its next poll: so a
    /// store may leave some out under load. That poll comes within a second of the latest hint, and within 5 s at any
    /// other time: what is left out should lie close to a hint. Neither heartbeats nor claims of others may bring about
    /// many of them.
    ///
    /// # Cancel safety
    /// Dropping the future or the stream ends what the store does for it.
    async fn watch(&self, claim: &Claim) -> Result<Option<Wakeups>, ProviderError> {
        let _ = claim;
        Ok(None)
    }

    /// Cancels a task, and answers what it was doing: one that nobody has ends at once. The worker of one
    /// that runs is asked to stop, and learns that from its next heartbeat; with `force` the task ends at
    /// once, and its worker has lost it. `None` if there is no such task.
    ///
    /// That worker learns of it from its next heartbeat, and may work until then, while a next task of the same lane runs
    /// already: its token no longer ends anything, and fences what it writes.
    async fn cancel(&self, id: TaskId, force: bool) -> Result<Option<State>, ProviderError>;

    /// Enqueues a task that has ended once more, with no attempt used: one that is dead or cancelled under its
    /// number, one that succeeded as a copy. `None` if there is no such task, or it has not ended.
    ///
    /// A repeat may add a second copy.
    async fn retry(&self, id: TaskId) -> Result<Option<Enqueued>, ProviderError>;

    /// One task.
    async fn task(&self, id: TaskId) -> Result<Option<Task>, ProviderError>;

    /// Tasks by number, from `filter.after` on.
    async fn list(&self, filter: &Filter) -> Result<Vec<Task>, ProviderError>;

    /// Pauses a queue, or resumes it (K11). A claim that begins once a queue is paused gets none of its tasks, and ends
    /// none: what is out of attempts, or was to be cancelled and has nobody any more, stays as it is. Everything else goes
    /// on: tasks are enqueued and fall due, those that run are renewed and end, and a [repeated](Claim::repeated) claim gets
    /// what it holds. When the queue is resumed, the workers that [watch](Self::watch) it are told.
    ///
    /// A queue need not have tasks to be paused, and stays paused until somebody resumes it. A repeat changes nothing.
    async fn set_paused(&self, queue: &str, paused: bool) -> Result<(), ProviderError>;

    /// The queues that are paused, by name.
    async fn paused(&self) -> Result<Vec<PausedQueue>, ProviderError>;

    /// Limits how many tasks of a queue run at a time, over all workers (K8); `None` takes the limit away. A claim that begins
    /// once a queue has a limit gets none of its tasks while so many run, those that ran before included. None of them is
    /// stopped: with a lower limit nobody gets another one until enough have ended. Nothing has to give a place back: one
    /// is free when the claim is over, by its ending or because the lease has run out. When a place comes free or the limit
    /// changes, the workers that [watch](Self::watch) the queue are told.
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

    /// Forgets tasks that ended so long ago, at most `most` of them; how many it were.
    async fn prune(&self, ages: Ages, most: usize) -> Result<usize, ProviderError>;
}

/// Which tasks to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Filter {
    /// Of this queue only.
    pub queue: Option<String>,
    /// In this state only.
    pub state: Option<State>,
    /// Of this kind only.
    pub kind: Option<String>,
    /// The largest number first; otherwise the smallest.
    pub newest_first: bool,
    /// Only those that come after this one in that order.
    pub after: Option<TaskId>,
    /// At most so many; 0 stands for 100.
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

    /// At most so many.
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
    /// So many tasks.
    #[must_use]
    pub const fn new(queue: String, state: State, tasks: u64) -> Self {
        Self {
            queue,
            state,
            tasks,
        }
    }
}

/// A queue whose tasks nobody gets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct PausedQueue {
    /// The queue.
    pub queue: String,
    /// Since when, by the store's clock.
    pub since: SystemTime,
}

impl PausedQueue {
    /// A queue that is paused since then.
    #[must_use]
    pub const fn new(queue: String, since: SystemTime) -> Self {
        Self { queue, since }
    }
}

/// A queue of whose tasks only some run at a time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct LimitedQueue {
    /// The queue.
    pub queue: String,
    /// At most so many.
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
    /// Those that succeeded.
    pub succeeded: Duration,
    /// Those that are dead or were cancelled.
    pub others: Duration,
}

impl Default for Ages {
    /// A day, and a week (K9).
    fn default() -> Self {
        const DAY: Duration = Duration::from_secs(86_400);
        Self {
            succeeded: DAY,
            others: 7 * DAY,
        }
    }
}

impl Ages {
    /// Others than a day and a week.
    #[must_use]
    pub const fn new(succeeded: Duration, others: Duration) -> Self {
        Self { succeeded, others }
    }
}
