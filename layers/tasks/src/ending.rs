//! The endings of a claim that its worker reports.

use std::time::Duration;

use serde_json::Value;

use crate::{ClaimKey, State};

/// Ends a claim.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Ending {
    /// The claim.
    pub key: ClaimKey,
    /// The next state of the task.
    pub how: How,
}

impl Ending {
    /// An ending.
    #[must_use]
    pub const fn new(key: ClaimKey, how: How) -> Self {
        Self { key, how }
    }
}

/// The next state of a task whose worker has finished with it. A task that was to be cancelled is cancelled, unless it
/// was completed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum How {
    /// It succeeded, with this output, at most [`NewTask::MAX_PAYLOAD`](crate::NewTask::MAX_PAYLOAD) bytes.
    Complete(Value),
    /// The attempt failed. The next one comes after `retry_in`; after the last attempt the task is dead.
    Fail {
        /// Why, for people.
        error: String,
        /// How long until the next attempt.
        retry_in: Duration,
    },
    /// It is dead, however many attempts remain.
    Discard {
        /// Why, for people.
        error: String,
    },
    /// It is ready again, and the attempt does not count.
    GiveBack,
    /// It is due again after this time, and the attempt does not count.
    Snooze(Duration),
}

/// The outcome of an [`Ending`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// The claim has ended by its own ending, this one or an earlier one: the state of the task after that.
    Own(State),
    /// The claim had ended before, and nothing was changed: another worker has had the task, the task was cancelled, or
    /// it no longer exists. With its state now.
    Lost(Option<State>),
}

/// The outcome of a [checkpoint](crate::TaskStore::checkpoint).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kept {
    /// It is kept: the next attempt will find it, or a newer one of this claim.
    Kept,
    /// The claim has ended: nothing was changed.
    Lost(Option<State>),
}
