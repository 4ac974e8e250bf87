//! Tasks as people see them, and what they can do about them.

use std::time::{Duration, SystemTime};

use dlock_core::FencingToken;
use dlock_tasks::{self as tasks, Ages, State, TaskId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Millis, Time};

/// A task as its store shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Task {
    /// Its number.
    #[cfg_attr(feature = "openapi", schema(value_type = i64, minimum = 1))]
    pub id: TaskId,
    /// Its queue, without the namespace.
    pub queue: String,
    /// The kind, which selects the handler.
    pub kind: String,
    /// 0 to 9, smaller numbers first.
    pub priority: u8,
    /// Its state: `scheduled`, `ready`, `running`, `stalled` (its worker's lease has run out), `succeeded`, `dead` or
    /// `cancelled`.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub state: State,
    /// The instant from which on it may run.
    pub run_at: Time,
    /// When it was enqueued.
    pub enqueued_at: Time,
    /// When it ended, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Time>,
    /// How many attempts there have been, the current one included.
    pub attempt: u32,
    /// The highest number of attempts.
    pub max_attempts: u32,
    /// Its key, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Its lane, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The input of its handler.
    pub payload: Value,
    /// The checkpoint that an attempt has left for the next one.
    #[serde(
        default,
        deserialize_with = "super::present",
        skip_serializing_if = "Option::is_none"
    )]
    pub checkpoint: Option<Value>,
    /// The output of its handler.
    #[serde(
        default,
        deserialize_with = "super::present",
        skip_serializing_if = "Option::is_none"
    )]
    pub output: Option<Value>,
    /// The newest attempts that failed, the oldest of them first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FailedAttempt>,
    /// The worker that has it, or had it when its lease ran out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<Holder>,
}

/// An attempt that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FailedAttempt {
    /// Its number, from 1 on.
    pub attempt: u32,
    /// When the failure was found.
    pub at: Time,
    /// The reason.
    pub error: String,
}

/// The worker that has a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Holder {
    /// Its label.
    pub owner: String,
    /// The fencing token of its claim.
    #[cfg_attr(feature = "openapi", schema(value_type = u64, minimum = 1, maximum = 9007199254740991_u64))]
    pub token: FencingToken,
    /// The remaining time of its lease, rounded up; 0 once it has run out.
    pub remaining_ms: Millis,
    /// It has been asked to stop.
    pub asked: bool,
}

/// Answer to `GET ?queue=&state=&kind=&newest_first=&after=&limit=`: a page of tasks, by number.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = TaskPage))]
pub struct Page {
    /// The tasks. There may be none although there are more.
    pub tasks: Vec<Task>,
    /// There may be more: request those `after` this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, minimum = 1))]
    pub next: Option<TaskId>,
}

/// Answer to `GET counts`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Counts {
    /// One for each queue and state that has tasks.
    pub counts: Vec<Count>,
}

/// The number of tasks of a queue in a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Count {
    /// The queue.
    pub queue: String,
    /// The state.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub state: State,
    /// The number.
    pub tasks: u64,
}

/// `POST {id}/cancel`: ends a task, or asks its worker to stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Cancel {
    /// It ends at once, also if a worker has it.
    #[serde(default)]
    pub force: bool,
}

/// Answer to [`Cancel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Cancelled {
    /// The state of the task: if it was `running`, and without force, it still is.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub was: State,
}

/// `POST {id}/retry`: enqueues an ended task once more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Retry {}

/// `POST /v1/prune`: forgets tasks that ended this long ago, of all namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Prune {
    /// The age of those that succeeded: a day if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub succeeded_ms: Option<Millis>,
    /// The age of those that are dead or were cancelled: a week if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_ms: Option<Millis>,
    /// The highest number to delete.
    pub limit: usize,
}

/// Answer to [`Prune`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Pruned {
    /// The number of deleted tasks.
    pub deleted: usize,
}

/// Data of an event `tasks` of `GET events`: a claim may find something. A hint, never truth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = TaskHint))]
pub struct Hint {}

impl Prune {
    /// In the form of the store.
    #[must_use]
    pub fn ages(&self) -> Ages {
        let Ages {
            succeeded, others, ..
        } = Ages::default();
        Ages::new(
            self.succeeded_ms.map_or(succeeded, Duration::from),
            self.others_ms.map_or(others, Duration::from),
        )
    }
}

impl From<tasks::Task> for Task {
    fn from(task: tasks::Task) -> Self {
        Self {
            id: task.id,
            queue: task.queue,
            kind: task.kind,
            priority: task.priority,
            state: task.state,
            run_at: Time(task.run_at),
            enqueued_at: Time(task.enqueued_at),
            ended_at: task.ended_at.map(Time),
            attempt: task.attempt,
            max_attempts: task.max_attempts,
            key: task.key,
            lane: task.lane,
            payload: task.payload,
            checkpoint: task.checkpoint,
            output: task.output,
            errors: task.errors.into_iter().map(Into::into).collect(),
            holder: task.holder.map(Into::into),
        }
    }
}

impl From<Task> for tasks::Task {
    fn from(task: Task) -> Self {
        Self::builder()
            .id(task.id)
            .queue(task.queue)
            .kind(task.kind)
            .priority(task.priority)
            .state(task.state)
            .run_at(task.run_at.0)
            .enqueued_at(task.enqueued_at.0)
            .ended_at(task.ended_at.map(|Time(instant)| instant))
            .attempt(task.attempt)
            .max_attempts(task.max_attempts)
            .key(task.key)
            .lane(task.lane)
            .payload(task.payload)
            .checkpoint(task.checkpoint)
            .output(task.output)
            .errors(task.errors.into_iter().map(Into::into).collect())
            .holder(task.holder.map(Into::into))
            .build()
    }
}

impl From<tasks::FailedAttempt> for FailedAttempt {
    fn from(failed: tasks::FailedAttempt) -> Self {
        let since = Duration::from_micros(failed.at);
        let at = SystemTime::UNIX_EPOCH.checked_add(since);
        Self {
            attempt: failed.attempt,
            at: Time(at.unwrap_or(SystemTime::UNIX_EPOCH)),
            error: failed.error,
        }
    }
}

impl From<FailedAttempt> for tasks::FailedAttempt {
    fn from(failed: FailedAttempt) -> Self {
        let since = failed.at.0.duration_since(SystemTime::UNIX_EPOCH);
        let micros = since.unwrap_or_default().as_micros();
        let at = u64::try_from(micros).unwrap_or(u64::MAX);
        Self::new(failed.attempt, at, &failed.error)
    }
}

impl From<tasks::Holder> for Holder {
    fn from(holder: tasks::Holder) -> Self {
        Self {
            owner: holder.owner,
            token: holder.token,
            remaining_ms: Millis::rounded_up(holder.remaining),
            asked: holder.asked,
        }
    }
}

impl From<Holder> for tasks::Holder {
    fn from(holder: Holder) -> Self {
        Self::new(
            holder.owner,
            holder.token,
            holder.remaining_ms.into(),
            holder.asked,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_that_is_null_is_not_none() {
        let start = SystemTime::UNIX_EPOCH;
        let task = tasks::Task::builder()
            .id(TaskId::new(1).unwrap())
            .queue("q".to_owned())
            .kind("a".to_owned())
            .priority(5)
            .state(State::Succeeded)
            .run_at(start)
            .enqueued_at(start)
            .ended_at(Some(start))
            .attempt(2)
            .max_attempts(20)
            .key(None)
            .payload(Value::Null)
            .checkpoint(None)
            .output(Some(Value::Null))
            .errors(vec![tasks::FailedAttempt::new(
                1,
                1_764_044_043_250_001,
                "x",
            )])
            .holder(None)
            .build();
        let text = serde_json::to_string(&Task::from(task.clone())).unwrap();
        assert!(
            text.contains("\"at\":\"2025-11-25T04:14:03.250001Z\""),
            "{text}"
        );
        let read: Task = serde_json::from_str(&text).unwrap();
        assert_eq!(tasks::Task::from(read), task);
    }
}
