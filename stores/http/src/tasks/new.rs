//! Tasks to be enqueued.

use std::time::SystemTime;

use dlock_core::ProviderError;
use dlock_tasks::{self as tasks, KeyUntil, TaskId, When};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Millis, Time};

/// A task to be enqueued.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewTask {
    /// The kind, which selects the handler: 1 to 128 bytes.
    pub kind: String,
    /// The input of the handler, at most 256 KiB as JSON text.
    #[serde(default)]
    pub payload: Value,
    /// The queue: with the namespace and a slash 2 to 128 bytes.
    #[serde(default = "default_queue")]
    pub queue: String,
    /// 0 to 9. A task of a smaller number runs before all of larger ones.
    #[serde(default = "default_priority")]
    #[cfg_attr(feature = "openapi", schema(maximum = 9))]
    pub priority: u8,
    /// It may run from this instant on, by the store's clock; at once, if it is past or absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_at: Option<Time>,
    /// Or this long after it was enqueued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_in_ms: Option<Millis>,
    /// At most one task of a queue that has not ended has this key: 1 to 256 bytes. Every task that may be sent twice
    /// should have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// `started` if the key is to be free when a worker gets the task for the first time: then a change that comes
    /// while it runs gets a separate task. `ended` if absent.
    #[serde(default, skip_serializing_if = "is_default")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, default = "ended"))]
    pub key_until: KeyUntil,
    /// The tasks of a queue with this lane run one at a time, in their order: 1 to 256 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// How often it is tried: 1 to 1000.
    #[serde(default = "default_attempts")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1000))]
    pub max_attempts: u32,
}

/// `POST`: adds up to 10,000 tasks, all or none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Enqueue {
    /// The tasks.
    pub tasks: Vec<NewTask>,
}

/// Answer to [`Enqueue`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EnqueuedMany {
    /// One for each task, in their order.
    pub tasks: Vec<Enqueued>,
}

/// A task that is in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Enqueued {
    /// Its number.
    #[cfg_attr(feature = "openapi", schema(value_type = i64, minimum = 1))]
    pub id: TaskId,
    /// Nothing was added: an older task has the key.
    pub duplicate: bool,
}

/// `POST periodic`: adds the task of one instant of a schedule, unless this instant or a later one was served before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct EnqueuePeriodic {
    /// The name of the schedule in the store: with the namespace and a slash 2 to 128 bytes.
    pub schedule: String,
    /// The instant, in whole microseconds.
    pub instant: Time,
    /// Its task.
    pub task: NewTask,
}

/// Answer to [`EnqueuePeriodic`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "served", rename_all = "kebab-case")]
pub enum Served {
    /// Its task is in the queue.
    Enqueued(Enqueued),
    /// It, or a later one, was served before.
    Before,
    /// The store did not know the schedule; the next instant is the first to have a task.
    Begun,
    /// By the store's clock it is yet to come. Nothing was kept.
    NotYet {
        /// How long until then.
        wait_ms: Millis,
    },
}

fn is_default(until: &KeyUntil) -> bool {
    *until == KeyUntil::default()
}

fn default_queue() -> String {
    tasks::NewTask::QUEUE.to_owned()
}

const fn default_priority() -> u8 {
    5
}

const fn default_attempts() -> u32 {
    20
}

impl NewTask {
    /// The task in the form of the store, in the queue by its name there.
    ///
    /// # Errors
    /// [`Fatal`](dlock_core::ErrorKind::Fatal) if the task has two times to run at.
    pub fn into_task(self, queue: String) -> Result<tasks::NewTask, ProviderError> {
        let when = match (self.run_at, self.run_in_ms) {
            (None, None) => When::Now,
            (Some(Time(instant)), None) => When::At(instant),
            (None, Some(delay)) => When::In(delay.into()),
            (Some(_), Some(_)) => {
                return Err(ProviderError::fatal("give run_at or run_in_ms, not both"));
            }
        };
        Ok(tasks::NewTask::builder()
            .kind(self.kind)
            .payload(self.payload)
            .queue(queue)
            .priority(self.priority)
            .when(when)
            .key_opt(self.key)
            .key_until(self.key_until)
            .lane_opt(self.lane)
            .max_attempts(self.max_attempts)
            .build())
    }
}

impl From<&tasks::NewTask> for NewTask {
    fn from(task: &tasks::NewTask) -> Self {
        let (run_at, run_in_ms): (Option<SystemTime>, _) = match task.when {
            When::At(instant) => (Some(instant), None),
            When::In(delay) => (None, Some(Millis::rounded_up(delay))),
            _ => (None, None),
        };
        Self {
            kind: task.kind.clone(),
            payload: task.payload.clone(),
            queue: task.queue.clone(),
            priority: task.priority,
            run_at: run_at.map(Time),
            run_in_ms,
            key: task.key.clone(),
            key_until: task.key_until,
            lane: task.lane.clone(),
            max_attempts: task.max_attempts,
        }
    }
}

impl From<tasks::Enqueued> for Enqueued {
    fn from(enqueued: tasks::Enqueued) -> Self {
        Self {
            id: enqueued.id(),
            duplicate: matches!(enqueued, tasks::Enqueued::Duplicate(_)),
        }
    }
}

impl From<Enqueued> for tasks::Enqueued {
    fn from(Enqueued { id, duplicate }: Enqueued) -> Self {
        if duplicate {
            Self::Duplicate(id)
        } else {
            Self::New(id)
        }
    }
}

impl Served {
    /// The answer of the store; `None` if this version has no word for it.
    #[must_use]
    pub fn of(served: tasks::Served) -> Option<Self> {
        Some(match served {
            tasks::Served::Enqueued(enqueued) => Self::Enqueued(enqueued.into()),
            tasks::Served::Before => Self::Before,
            tasks::Served::Begun => Self::Begun,
            tasks::Served::NotYet(wait) => Self::NotYet {
                wait_ms: Millis::rounded_up(wait),
            },
            _ => return None,
        })
    }
}

impl From<Served> for tasks::Served {
    fn from(served: Served) -> Self {
        match served {
            Served::Enqueued(enqueued) => Self::Enqueued(enqueued.into()),
            Served::Before => Self::Before,
            Served::Begun => Self::Begun,
            Served::NotYet { wait_ms } => Self::NotYet(wait_ms.into()),
        }
    }
}
