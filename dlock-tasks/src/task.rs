//! A task: what is enqueued, and what a store shows of it.

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
    /// At once, also if the store's clock was ahead then and is set back.
    #[default]
    Now,
    /// So long after it was enqueued, by the store's clock.
    In(Duration),
    /// At this instant, by the store's clock. One in the past is now.
    At(SystemTime),
}

/// How long the key of a task keeps others of the same key out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum KeyUntil {
    /// Until the task has ended.
    #[default]
    Ended,
    /// Until a worker gets the task for the first time; it has no key from then on. So what changes while it runs has a task
    /// of its own. One that is enqueued in a transaction and finds such a task keeps it from starting until that transaction
    /// has ended, so its handler sees what the transaction has written.
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
    /// Which handler it is for: 1 to 128 bytes.
    #[builder(setter(into))]
    pub kind: String,
    /// What the handler gets, at most [`NewTask::MAX_PAYLOAD`] bytes as JSON text, at most 100 levels deep.
    #[builder(default)]
    pub payload: Value,
    /// The queue: 1 to 128 bytes, `default` if not given.
    #[builder(default = Self::QUEUE.to_owned(), setter(into))]
    pub queue: String,
    /// 0 to 9, 5 if not given. A task of a smaller number runs before all of larger ones.
    #[builder(default = 5)]
    pub priority: u8,
    /// When it may run, at once if not given.
    #[builder(default)]
    pub when: When,
    /// At most one task of a queue has this key, from when it is enqueued until it has [ended or started](Self::key_until);
    /// enqueueing another one answers the number of the first. 1 to 256 bytes.
    #[builder(default, setter(strip_option(fallback = key_opt), into))]
    pub key: Option<String>,
    /// When the key is free again: when the task has ended, if not given. Give all tasks of a key the same: that of the task
    /// that has the key decides.
    #[builder(default)]
    pub key_until: KeyUntil,
    /// Of the tasks of a queue with this lane one runs at a time (K8), see [`TaskStore::claim`](crate::TaskStore::claim).
    /// 1 to 256 bytes.
    #[builder(default, setter(strip_option(fallback = lane_opt), into))]
    pub lane: Option<String>,
    /// How often it is tried: 1 to 1000, 20 if not given. A worker that dies has used an attempt of each task it ran.
    #[builder(default = 20)]
    pub max_attempts: u32,
}

impl NewTask {
    /// The queue of a task that names none.
    pub const QUEUE: &'static str = "default";
    /// The largest payload and the largest output, in bytes of JSON text.
    pub const MAX_PAYLOAD: usize = 256 * 1024;
    /// The largest checkpoint, in bytes of JSON text.
    pub const MAX_CHECKPOINT: usize = 4096;
    /// The largest number of a priority.
    pub const LAST_PRIORITY: u8 = 9;
}

/// What became of a task that was to be enqueued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Enqueued {
    /// It is in the queue.
    New(TaskId),
    /// This task of the same queue has the key; nothing was added.
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

/// What a task is doing. Follows from its row and the store's clock.
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
    /// The lease of its worker has run out, and nobody has claimed it since.
    Stalled,
    /// It ended well.
    Succeeded,
    /// All its attempts failed, or its handler gave it up.
    Dead,
    /// It was cancelled.
    Cancelled,
}

impl State {
    /// All of them, in the order of a task's life.
    pub const ALL: [Self; 7] = [
        Self::Scheduled,
        Self::Ready,
        Self::Running,
        Self::Stalled,
        Self::Succeeded,
        Self::Dead,
        Self::Cancelled,
    ];

    /// The word for it, in small letters.
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

    /// Whether no worker gets the task any more, unless somebody retries it.
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

/// A word that names no state.
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

/// Why an attempt was none too many.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FailedAttempt {
    /// Its number, from 1 on.
    pub attempt: u32,
    /// When that was found, in microseconds of Unix time by the store's clock.
    pub at: u64,
    /// What the handler said, cut to [`FailedAttempt::MAX_ERROR`] bytes; or what the store saw.
    pub error: String,
    /// How many attempts in a row were lost, with this one, since the lease of their worker ran out; 0 if this one ended
    /// otherwise.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: u32,
}

const fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl FailedAttempt {
    /// How many bytes of an error are kept.
    pub const MAX_ERROR: usize = 2048;
    /// How many failed attempts of a task are kept, the newest.
    pub const KEPT: usize = 10;

    /// A failed attempt, with so much of its error as is kept.
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

    /// An attempt of a worker that was not heard of again, after these that failed.
    #[must_use]
    pub fn silence(before: &[Self], attempt: u32, at: u64, owner: &str) -> Self {
        let error = format!("the lease of worker {owner:?} ran out, and nothing was heard of it");
        Self {
            lost: Self::lost_before(before, attempt).saturating_add(1),
            ..Self::new(attempt, at, &error)
        }
    }

    /// How many attempts in a row, up to the one before `attempt`, were lost, by the attempts of a task that failed.
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
    /// What is left of its lease; zero if it has run out.
    pub remaining: Duration,
    /// It has been asked to stop.
    pub asked: bool,
}

impl Holder {
    /// A holder, as its store sees it.
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
    /// 0 to 9, smaller numbers first.
    pub priority: u8,
    /// What it is doing.
    pub state: State,
    /// From when on it may run.
    pub run_at: SystemTime,
    /// When it was enqueued.
    pub enqueued_at: SystemTime,
    /// When it ended, if it has.
    pub ended_at: Option<SystemTime>,
    /// How many attempts there have been, the one under way included.
    pub attempt: u32,
    /// How many there may be.
    pub max_attempts: u32,
    /// Its key, if it has one: none once it has started, if the key [ends then](KeyUntil::Started).
    pub key: Option<String>,
    /// Its lane, if it has one.
    #[builder(default)]
    pub lane: Option<String>,
    /// What its handler gets; null if it cannot be read, which `errors` says then, as of the checkpoint and the output.
    pub payload: Value,
    /// What an attempt has left for the next one.
    pub checkpoint: Option<Value>,
    /// What its handler answered.
    pub output: Option<Value>,
    /// The newest attempts that failed, the oldest of them first.
    pub errors: Vec<FailedAttempt>,
    /// Who has it, or had it when its lease ran out.
    pub holder: Option<Holder>,
}
