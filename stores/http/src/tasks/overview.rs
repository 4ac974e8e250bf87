//! The view of tasks for people: how many there are, and one line of each.

use dlock_tasks::{State, TaskId};
use serde::{Deserialize, Serialize};

use super::{Count, FailedAttempt, Holder, Limited, Queue, Task};
use crate::Time;

/// Data of an event `page` of `GET tasks/live`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = TaskOverview))]
pub struct Overview {
    /// How many tasks of each queue are in each state; those with none are left out.
    pub counts: Vec<Count>,
    /// The queues that are paused, by name.
    pub paused: Vec<Queue>,
    /// The queues that have a limit, by name.
    pub limits: Vec<Limited>,
    /// A page of tasks, by number.
    pub tasks: Vec<Line>,
    /// There are more: watch those `after` this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, minimum = 1))]
    pub next: Option<TaskId>,
}

/// The parts of a [`Task`] that fit into one line. The rest is in `GET tasks/{id}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = TaskLine))]
pub struct Line {
    /// Its number.
    #[cfg_attr(feature = "openapi", schema(value_type = i64, minimum = 1))]
    pub id: TaskId,
    /// Its queue, without the namespace.
    pub queue: String,
    /// The kind, which selects the handler.
    pub kind: String,
    /// Its state, as in a [`Task`].
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub state: State,
    /// The instant from which on it may run.
    pub run_at: Time,
    /// When it ended, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Time>,
    /// How many attempts there have been, the current one included.
    pub attempt: u32,
    /// The highest number of attempts.
    pub max_attempts: u32,
    /// An attempt has left a checkpoint for the next one.
    pub has_checkpoint: bool,
    /// The newest attempt that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<FailedAttempt>,
    /// The worker that has it, or had it when its lease ran out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<Holder>,
}

impl From<Task> for Line {
    fn from(mut task: Task) -> Self {
        Self {
            id: task.id,
            queue: task.queue,
            kind: task.kind,
            state: task.state,
            run_at: task.run_at,
            ended_at: task.ended_at,
            attempt: task.attempt,
            max_attempts: task.max_attempts,
            has_checkpoint: task.checkpoint.is_some(),
            error: task.errors.pop(),
            holder: task.holder,
        }
    }
}
