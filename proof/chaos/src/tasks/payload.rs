//! The payloads of the tasks.

use dlock_tasks::Payload;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A task of the run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct JobPayload {
    pub(crate) how: How,
    /// How long its handler works before it writes anything, in milliseconds.
    pub(crate) takes: u64,
    /// Whether the transaction that completes it also keeps its effect and enqueues one more errand.
    pub(crate) within: bool,
    /// The order whose row was written in the transaction that enqueued it.
    pub(crate) order: Option<Uuid>,
    /// The task that was completed in the transaction that enqueued it.
    pub(crate) parent: Option<i64>,
}

impl Payload for JobPayload {
    const KIND: &'static str = "errand";
}

/// How the handler treats it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum How {
    Succeeds,
    /// The first two attempts fail.
    FailsTwice,
    /// All attempts fail.
    Fails,
    /// The first attempt panics.
    Panics,
    /// Four steps, after each of which it leaves a checkpoint.
    Steps,
    /// Snoozes, once.
    Snoozes,
    /// Gives the task up at once.
    Discards,
}

/// A task of the schedule.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Tick {}

impl Payload for Tick {
    const KIND: &'static str = "tick";
}

impl How {
    /// How many attempts its task has.
    pub(crate) const fn attempts(self) -> u32 {
        match self {
            Self::Fails => 3,
            // More than faults can use up.
            _ => 200,
        }
    }

    const fn can_succeed(self) -> bool {
        !matches!(self, Self::Fails | Self::Discards)
    }
}

impl JobPayload {
    /// A random errand; a long one takes longer than this lease, in milliseconds.
    pub(crate) fn drawn(lease: u64, random: &mut fastrand::Rng) -> Self {
        let how = match random.u32(0..20) {
            0..2 => How::FailsTwice,
            2 => How::Fails,
            3 => How::Panics,
            4..6 => How::Steps,
            6 => How::Snoozes,
            7 => How::Discards,
            _ => How::Succeeds,
        };
        let takes = match random.u32(0..12) {
            0 => lease + random.u64(..lease),
            _ => random.u64(..60),
        };
        Self {
            how,
            takes,
            within: how.can_succeed() && random.bool(),
            order: None,
            parent: None,
        }
    }

    /// The errand that is enqueued when this task has been completed.
    pub(crate) const fn after(parent: i64) -> Self {
        Self {
            how: How::Succeeds,
            takes: 0,
            within: false,
            order: None,
            parent: Some(parent),
        }
    }
}
