//! The answers of a provider. Contention and loss are outcomes, not errors.

use crate::{Name, Record, provider::Tokens};

/// Answer to [`Acquire`](crate::provider::Acquire).
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the protocol has these three answers; wrappers match them all"
)]
pub enum AcquireOutcome {
    /// A1, A2, A4, A5, A6: the term is ours, with these tokens. A provider that always mints one
    /// answers `token.into()`.
    Acquired(Tokens),
    /// A7: another term holds it; nothing was written but a mark (N1).
    Held(Record),
    /// A3: a late duplicate of a term that has ended; nothing was written. Not contention: the next
    /// try needs a fresh uuid and may follow at once.
    Spent,
}

/// Answer to [`Renew`](crate::provider::Renew).
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the protocol has these two answers; wrappers match them all"
)]
pub enum RenewOutcome {
    /// R1, R2: applied, now or earlier.
    Renewed {
        /// Another client has asked for the lock (B3).
        asked: bool,
    },
    /// R3: the term has ended; with the record that shows it, if it exists.
    Lost(Option<Record>),
}

/// Answer to [`Release`](crate::provider::Release).
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the protocol has these two answers; wrappers match them all"
)]
pub enum ReleaseOutcome {
    /// L1, L2, B4: released or closed, now or earlier.
    Released {
        /// A waiter had marked the term (N1). False after a closing, which frees nothing.
        wanted: bool,
    },
    /// L3: the record is not of this term; nothing changed.
    NotHeld(Option<Record>),
}

impl ReleaseOutcome {
    /// Whether the release was applied, now or earlier.
    #[must_use]
    pub const fn is_released(&self) -> bool {
        matches!(self, Self::Released { .. })
    }
}

/// Answer to [`Revoke`](crate::provider::Revoke).
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the protocol has these two answers; wrappers match them all"
)]
pub enum RevokeOutcome {
    /// B1: taken away, now or earlier. Others enter at expiry or after an observation.
    Revoked,
    /// The record is no longer as it was read; nothing changed.
    Changed(Option<Record>),
}

/// Answer to [`Ask`](crate::provider::Ask).
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the protocol has these two answers; wrappers match them all"
)]
pub enum AskOutcome {
    /// B3: the holder sees it in the answer to its next renewal.
    Asked,
    /// The record is not held by this term; nothing changed.
    Changed(Option<Record>),
}

/// Answer to [`List`](crate::provider::List): one page of records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page {
    /// The records in byte order of their names, without the provider's prefix.
    pub records: Vec<(Name, Record)>,
    /// Names in the range of this page whose records can't be read, and why: foreign or damaged records. They count
    /// towards the limit, except for a row whose name is not a valid one: no page can begin after that.
    pub unreadable: Vec<(Name, String)>,
    /// More records exist: list again `after` this name.
    pub next: Option<Name>,
}

impl Page {
    /// A page and where the next one begins.
    #[must_use]
    pub const fn new(records: Vec<(Name, Record)>, next: Option<Name>) -> Self {
        Self {
            records,
            unreadable: Vec::new(),
            next,
        }
    }

    /// Adds the names whose records can't be read, and why.
    #[must_use]
    pub fn with_unreadable(mut self, unreadable: Vec<(Name, String)>) -> Self {
        self.unreadable = unreadable;
        self
    }
}
