//! Who leads, as any instance can know it.

use std::time::{Duration, SystemTime};

use dlock_core::{FencingToken, Record};

/// Who leads, as the store had it when it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leader {
    /// The leader's [`id`](crate::ElectionBuilder::id).
    pub id: String,
    /// When the leadership began, by the clock of the store or of whoever wrote it: for people.
    pub since: SystemTime,
    /// The token of the leadership.
    pub token: FencingToken,
    /// What the store says is left of the lease if it is not renewed; `None` where no clock of the
    /// store decides. There a leader that died is shown until somebody has taken over.
    pub remaining: Option<Duration>,
}

impl Leader {
    /// The leader that a record shows, if there is one.
    pub(crate) fn of(record: Record) -> Option<Self> {
        (!record.released && record.remaining != Some(Duration::ZERO)).then_some(Self {
            id: record.owner,
            since: record.since,
            token: record.token,
            remaining: record.remaining,
        })
    }
}
