//! The knowledge about a term beyond its deadline: its renewals, and how it ended. Behind one lock; the deadline
//! itself is not.

use std::{sync::Arc, time::Duration};

use super::Term;
use crate::{EndCause, ProviderError, testing::Believed, time::HolderInstant};

/// The reports of renewals and releases.
pub(super) struct Belief {
    pub(super) granted: HolderInstant,
    /// Number of the newest renewal attempt.
    pub(super) n: u64,
    /// The highest number that is known to have been applied: 0 at the grant.
    pub(super) confirmed: u64,
    /// When the newest was sent.
    pub(super) last_sent: HolderInstant,
    /// `sent` of the newest attempt that is known to have succeeded.
    pub(super) credited: HolderInstant,
    /// A renewal was answered `Fatal`, and none has succeeded since.
    pub(super) fatal: bool,
    pub(super) asked: bool,
    /// Renewals have stopped: it was held for the longest time allowed.
    pub(super) held_too_long: bool,
    /// A caller has the lease. Until then no work can have begun under it.
    pub(super) in_hand: bool,
    /// Until when its release closes the name (B4). [`HolderInstant::NEVER`] if it frees it.
    pub(super) closes_until: HolderInstant,
    pub(super) last_error: Option<ProviderError>,
    pub(super) ended: Option<EndCause>,
    /// The store itself has answered that the term has ended, also if the lease had ended by then.
    pub(super) refused: bool,
    /// The lease that has followed this one on its term. Kept: it learns what late answers to this one say of the term,
    /// and passes it on to the leases that have followed it.
    pub(super) successor: Option<Arc<Term>>,
}

/// The number and the time of one renewal attempt, drawn in one step.
#[derive(Clone, Copy)]
pub(crate) struct RenewalAttempt {
    pub(crate) n: u64,
    pub(crate) sent: HolderInstant,
}

/// The report of a success to a recorder.
pub(super) fn believed(
    sent: HolderInstant,
    valid_until: HolderInstant,
    unsure_from: HolderInstant,
) -> Believed {
    Believed {
        sent: sent.reading(),
        valid_until: valid_until.reading(),
        unsure_from: unsure_from.reading(),
    }
}

impl Belief {
    /// The belief of a term granted to a try sent then.
    pub(super) fn new(sent: HolderInstant, at_least: Option<Duration>) -> Self {
        Self {
            granted: sent,
            n: 0,
            confirmed: 0,
            last_sent: sent,
            credited: sent,
            fatal: false,
            asked: false,
            held_too_long: false,
            in_hand: false,
            closes_until: at_least.map_or(HolderInstant::NEVER, |at_least| sent + at_least),
            last_error: None,
            ended: None,
            refused: false,
            successor: None,
        }
    }

    /// The belief of a lease that follows this one on its term. Its renewals continue with the next number (R1), and
    /// their answers count from their own `sent` on; the longest hold and `at_least` count anew.
    pub(super) fn following(&self, now: HolderInstant, at_least: Option<Duration>) -> Self {
        Self {
            n: self.n,
            confirmed: self.confirmed,
            last_sent: self.last_sent,
            credited: self.credited,
            fatal: self.fatal,
            asked: self.asked,
            last_error: self.last_error.clone(),
            ..Self::new(now, at_least)
        }
    }

    /// The cause of the end: the first one given.
    pub(super) fn end_with(&mut self, cause: impl FnOnce(&Self) -> EndCause) -> EndCause {
        if self.ended.is_none() {
            self.ended = Some(cause(self));
        }
        self.ended.clone().unwrap_or(EndCause::Released)
    }

    /// The deadline passed.
    pub(super) fn expired(&self) -> EndCause {
        if self.held_too_long {
            EndCause::HeldTooLong
        } else {
            EndCause::Expired {
                last_error: self.last_error.clone(),
            }
        }
    }
}
