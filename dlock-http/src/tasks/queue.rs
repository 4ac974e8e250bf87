//! Queues: which are paused.

use dlock_tasks::PausedQueue;
use serde::{Deserialize, Serialize};

use crate::Time;

/// `PUT queues`: pauses a queue, or resumes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SetQueue {
    /// The queue, without the namespace. It need not have tasks.
    pub queue: String,
    /// Whether nobody is to get its tasks.
    pub paused: bool,
}

/// Answer to `GET queues`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Paused {
    /// The queues that are paused, by name.
    pub paused: Vec<Queue>,
}

/// A queue whose tasks nobody gets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = PausedQueue))]
pub struct Queue {
    /// The queue, without the namespace.
    pub queue: String,
    /// Since when, by the store's clock.
    pub since: Time,
}

impl From<Queue> for PausedQueue {
    fn from(Queue { queue, since }: Queue) -> Self {
        Self::new(queue, since.0)
    }
}
