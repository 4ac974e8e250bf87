//! How a claim ends by its worker's word.

use std::time::Duration;

use serde_json::Value;

use crate::{ClaimKey, State};

/// Ends a claim.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Ending {
    /// The claim.
    pub key: ClaimKey,
    /// What becomes of the task.
    pub how: How,
}

impl Ending {
    /// An ending.
    #[must_use]
    pub const fn new(key: ClaimKey, how: How) -> Self {
        Self { key, how }
    }
}

/// What becomes of a task whose worker is done with it. A task that was to be cancelled is cancelled, unless it
/// was completed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum How {
    /// It succeeded, with this output, at most [`NewTask::MAX_PAYLOAD`](crate::NewTask::MAX_PAYLOAD) bytes.
    Complete(Value),
    /// The attempt failed. The next one comes after this time; after the last one the task is dead.
    Fail {
        /// Why, for people.
        error: String,
        /// How long until the next attempt.
        retry_in: Duration,
    },
    /// It is dead, whatever attempts are left.
    Discard {
        /// Why, for people.
        error: String,
    },
    /// It is ready again, and the attempt does not count.
    GiveBack,
    /// It is due again after this time, and the attempt does not count.
    Snooze(Duration),
}

/// What became of an [`Ending`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// The claim is over by its own ending, now or by an earlier one: this is what became of the task then.
    Own(State),
    /// The claim was over before, and nothing was changed: another worker has had the task, somebody cancelled it,
    /// or it is not there any more. With what it is doing now.
    Lost(Option<State>),
}

/// What became of a [checkpoint](crate::TaskStore::checkpoint).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kept {
    /// The next attempt will find it, or a newer one of this claim.
    Kept,
    /// The claim is over: nothing was changed.
    Lost(Option<State>),
}
