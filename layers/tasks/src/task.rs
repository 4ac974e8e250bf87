//! A task: as it is enqueued, and as a store shows it.

use std::{
    fmt,
    num::NonZeroI64,
    str::FromStr,
    time::{Duration, SystemTime},
};

use dlock_core::FencingToken;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::Value;
use typed_builder::TypedBuilder;

/// The number of a task in its store. Numbers grow, and none is used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct TaskId(NonZeroI64);

impl TaskId {
    /// `None` unless the number is positive.
    #[must_use]
    pub fn new(number: i64) -> Option<Self> {
        NonZeroI64::new(number)
            .filter(|number| number.is_positive())
            .map(Self)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0.get()
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de> Deserialize<'de> for TaskId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = i64::deserialize(deserializer)?;
        Self::new(number).ok_or_else(|| D::Error::custom("the number of a task is positive"))
    }
}

/// When a task may run for the first time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum When {
    /// At once, even if the store's clock was ahead at that time and is set back.
    #[default]
    Now,
    /// This long after it was enqueued, by the store's clock.
    In(Duration),
    /// At this instant, by the store's clock. An instant in the past means now.
    At(SystemTime),
}

/// How long the key of a task keeps out others with the same key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum KeyUntil {
    /// Until the task has ended.
    #[default]
    Ended,
    /// Until a worker gets the task for the first time; it has no key from then on. So a change while it runs gets its
    /// own task. If an enqueue in a transaction finds such a task, that task does not start until the transaction has
    /// ended, so its handler sees the writes of the transaction.
    Started,
}

/// A task to be enqueued.
///
/// ```
/// use dlock_tasks::NewTask;
///
/// let task = NewTask::builder()
///     .kind("resize")
///     .payload(serde_json::json!({"image": 7}))
///     .queue("images")
///     .key("image 7")
///     .build();
/// ```
#[derive(Clone, Debug, PartialEq, TypedBuilder)]
#[non_exhaustive]
pub struct NewTask {
    /// The kind, which selects the handler: 1 to 128 bytes.
    #[builder(setter(into))]
    pub kind: String,
    /// The input of the handler, at most [`NewTask::MAX_PAYLOAD`] bytes as JSON text, at most 100 levels deep.
    #[builder(default)]
    pub payload: Value,
    /// The queue: 1 to 128 bytes, `default` if not given.
    #[builder(default = Self::QUEUE.to_owned(), setter(into))]
    pub queue: String,
    /// The priority: 0 to 9, 5 if not given. A task with a smaller number runs before all with larger ones.
    #[builder(default = 5)]
    pub priority: u8,
    /// The time from which it may run, at once if not given.
    #[builder(default)]
    pub when: When,
    /// At most one task of a queue has this key, from when it is enqueued until it has [ended or
    /// started](Self::key_until); enqueueing a second one returns the number of the first. 1 to 256 bytes.
    #[builder(default, setter(strip_option(fallback = key_opt), into))]
    pub key: Option<String>,
    /// When the key is free again: when the task has ended, if not given. Give all tasks of a key the same value: that
    /// of the task that has the key decides.
    #[builder(default)]
    pub key_until: KeyUntil,
    /// Of the tasks of a queue with this lane, one runs at a time, see [`TaskStore::claim`](crate::TaskStore::claim). 1
    /// to 256 bytes.
    #[builder(default, setter(strip_option(fallback = lane_opt), into))]
    pub lane: Option<String>,
    /// The most attempts: 1 to 1000, 20 if not given. A worker that dies has used an attempt of each task that it ran.
    #[builder(default = 20)]
    pub max_attempts: u32,
}

impl NewTask {
    /// The queue of a task that names no queue.
    pub const QUEUE: &'static str = "default";
    /// The largest payload and the largest output, in bytes of JSON text.
    pub const MAX_PAYLOAD: usize = 256 * 1024;
    /// The largest checkpoint, in bytes of JSON text.
    pub const MAX_CHECKPOINT: usize = 4096;
    /// The largest priority.
    pub const LAST_PRIORITY: u8 = 9;
}

/// The outcome of an enqueue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Enqueued {
    /// The task is in the queue.
    New(TaskId),
    /// This task of the same queue has the key; no task was added.
    Duplicate(TaskId),
}

impl Enqueued {
    /// The number of the task that is in the queue.
    #[must_use]
    pub const fn id(self) -> TaskId {
        let (Self::New(id) | Self::Duplicate(id)) = self;
        id
    }
}

/// The state of a task. It follows from its row and the store's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum State {
    /// Its time has not come.
    Scheduled,
    /// It waits for a worker.
    Ready,
    /// A worker has it under a lease.
    Running,
    /// The lease of its worker has run out, and no worker has claimed it since.
    Stalled,
    /// It succeeded.
    Succeeded,
    /// All its attempts failed, or its handler discarded it.
    Dead,
    /// It was cancelled.
    Cancelled,
}

impl State {
    /// All states, in the order of a task's life.
    pub const ALL: [Self; 7] = [
        Self::Scheduled,
        Self::Ready,
        Self::Running,
        Self::Stalled,
        Self::Succeeded,
        Self::Dead,
        Self::Cancelled,
    ];

    /// The name of the state, in lower case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Stalled => "stalled",
            Self::Succeeded => "succeeded",
            Self::Dead => "dead",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether no worker gets the task any more, unless it is retried.
    #[must_use]
    pub const fn has_ended(self) -> bool {
        matches!(self, Self::Succeeded | Self::Dead | Self::Cancelled)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A word that does not name a state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no state of a task: scheduled, ready, running, stalled, succeeded, dead, cancelled are"
)]
pub struct NoState(String);

impl FromStr for State {
    type Err = NoState;

    fn from_str(word: &str) -> Result<Self, NoState> {
        let mut all = Self::ALL.into_iter();
        all.find(|state| state.as_str() == word)
            .ok_or_else(|| NoState(word.to_owned()))
    }
}

/// A failed attempt, and why it failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FailedAttempt {
    /// Its number, from 1 on.
    pub attempt: u32,
    /// The instant at which the failure was recorded, in microseconds of Unix time by the store's clock.
    pub at: u64,
    /// The error of the handler, cut to [`FailedAttempt::MAX_ERROR`] bytes, or that of the store.
    pub error: String,
    /// How many attempts in a row, this one included, were lost because the lease of their worker ran out; 0 if this
    /// one ended otherwise.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: u32,
}

const fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl FailedAttempt {
    /// The most bytes of an error that are kept.
    pub const MAX_ERROR: usize = 2048;
    /// How many failed attempts of a task are kept: the newest ones.
    pub const KEPT: usize = 10;

    /// A failed attempt, with its error cut to the kept length.
    #[must_use]
    pub fn new(attempt: u32, at: u64, error: &str) -> Self {
        let end = error.floor_char_boundary(Self::MAX_ERROR);
        Self {
            attempt,
            at,
            error: error[..end].to_owned(),
            lost: 0,
        }
    }

    /// An attempt of a worker that fell silent, after these failed ones.
    #[must_use]
    pub fn silence(before: &[Self], attempt: u32, at: u64, owner: &str) -> Self {
        let error = format!("the lease of worker {owner:?} ran out, and nothing was heard of it");
        Self {
            lost: Self::lost_before(before, attempt).saturating_add(1),
            ..Self::new(attempt, at, &error)
        }
    }

    /// How many attempts in a row, up to the one before `attempt`, were lost, according to the failed attempts of a
    /// task.
    #[must_use]
    pub fn lost_before(failed: &[Self], attempt: u32) -> u32 {
        let last = failed.last();
        last.filter(|last| last.attempt.checked_add(1) == Some(attempt))
            .map_or(0, |last| last.lost)
    }
}

/// The worker that has a task.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// Its label, for people.
    pub owner: String,
    /// The fencing token of its claim.
    pub token: FencingToken,
    /// The remainder of its lease; zero if it has run out.
    pub remaining: Duration,
    /// It has been asked to stop.
    pub asked: bool,
}

impl Holder {
    /// A holder, as the store sees it.
    #[must_use]
    pub const fn new(owner: String, token: FencingToken, remaining: Duration, asked: bool) -> Self {
        Self {
            owner,
            token,
            remaining,
            asked,
        }
    }
}

/// A task as its store shows it.
#[derive(Clone, Debug, PartialEq, TypedBuilder)]
#[non_exhaustive]
pub struct Task {
    /// Its number.
    pub id: TaskId,
    /// Its queue.
    pub queue: String,
    /// Which handler it is for.
    pub kind: String,
    /// The priority, 0 to 9, smaller numbers first.
    pub priority: u8,
    /// Its state.
    pub state: State,
    /// The time from which it may run.
    pub run_at: SystemTime,
    /// When it was enqueued.
    pub enqueued_at: SystemTime,
    /// When it ended, if it has.
    pub ended_at: Option<SystemTime>,
    /// The attempts so far, including the one in progress.
    pub attempt: u32,
    /// How many there may be.
    pub max_attempts: u32,
    /// Its key, if it has one. It has none once it has started, if the key [ends then](KeyUntil::Started).
    pub key: Option<String>,
    /// Its lane, if it has one.
    #[builder(default)]
    pub lane: Option<String>,
    /// The input of its handler; null if it cannot be read. `errors` says so then, as it does for the checkpoint and
    /// the output.
    pub payload: Value,
    /// The data that an attempt has left for the next one.
    pub checkpoint: Option<Value>,
    /// The output of its handler.
    pub output: Option<Value>,
    /// The newest failed attempts, the oldest of them first.
    pub errors: Vec<FailedAttempt>,
    /// The worker that has it, or had it when its lease ran out.
    pub holder: Option<Holder>,
}
