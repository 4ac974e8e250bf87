//! Queues: which are paused, and which have a limit.

use dlock_tasks::{LimitedQueue, PausedQueue};
use serde::{Deserialize, Serialize};

use crate::Time;

/// `PUT queues`: pauses a queue or resumes it, limits how many of its tasks run at a time, or both. An absent field
/// changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SetQueue {
    /// The queue, without the namespace. It need not have tasks.
    pub queue: String,
    /// Whether to hold back its tasks from all workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// The most of its tasks that run at a time: 1 or more; null for any number.
    #[serde(
        default,
        deserialize_with = "super::present",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<u32>, minimum = 1))]
    pub limit: Option<Option<u32>>,
}

/// Answer to `GET queues`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Queues {
    /// The queues that are paused, by name.
    pub paused: Vec<Queue>,
    /// The queues that have a limit, by name.
    #[serde(default)]
    pub limits: Vec<Limited>,
}

/// A queue whose tasks no worker gets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = PausedQueue))]
pub struct Queue {
    /// The queue, without the namespace.
    pub queue: String,
    /// Since when, by the store's clock.
    pub since: Time,
}

/// A queue with a limit on its running tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = LimitedQueue))]
pub struct Limited {
    /// The queue, without the namespace.
    pub queue: String,
    /// The limit.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub limit: u32,
}

impl From<Queue> for PausedQueue {
    fn from(Queue { queue, since }: Queue) -> Self {
        Self::new(queue, since.0)
    }
}

impl From<Limited> for LimitedQueue {
    fn from(Limited { queue, limit }: Limited) -> Self {
        Self::new(queue, limit)
    }
}
