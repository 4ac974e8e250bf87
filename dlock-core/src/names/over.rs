//! Identities of ours that are over (G4), and which tries of ours claimed their terms.

use std::{iter::successors, time::Duration};

use uuid::Uuid;

use super::{Known, NameState};
use crate::{Clock, Version, time::Look};

/// How many identities that are over a client remembers per name (G4).
const OVER_KEPT: usize = 8;

/// The uuid of a try or of a lease of this client that is over: the client acts on it no more (G4).
pub(super) struct Over {
    uuid: Uuid,
    since: Look,
    /// It closed the name for so long (B4): until then it is not ours to claim either.
    closed: Duration,
    keep: Duration,
    /// The newest try of ours that claimed it (G4, H4), whatever became of that.
    heir: Option<Uuid>,
    /// How many tries of ours that claimed it may have ended its term in the store.
    claimants: usize,
    /// All that was sent for it was answered, its release too: no copy is on its way, unless a driver or
    /// a network has made one.
    settled: bool,
}

impl Over {
    /// No copy of what was sent for it can come any more, as far as we know.
    pub(super) fn is_forgettable(&self, clock: &Clock) -> bool {
        self.settled || clock.elapsed(self.since) >= self.keep
    }
}

impl Known {
    fn with_over(&mut self, uuid: Uuid, change: impl FnOnce(&mut Over)) {
        let mut over = self.over.iter_mut();
        if let Some(over) = over.find(|over| over.uuid == uuid) {
            change(over);
        }
    }

    pub(super) fn is_ours(&self, uuid: Uuid) -> bool {
        let mut over = self.over.iter();
        self.newest == Some(uuid) || self.live.contains(&uuid) || over.any(|over| over.uuid == uuid)
    }
}

impl NameState {
    /// Our own identity is over: a try delivered to nobody, or a lease whose release has begun.
    /// Remembered for 2 D, so that a late copy of it cannot block its own client (G4).
    pub(crate) fn over(&self, clock: &Clock, uuid: Uuid, duration: Duration) {
        self.mark_over(&mut self.known(), clock, uuid, duration, Duration::ZERO);
    }

    /// The same of a lease whose release closes the name (B4): to this client as well, which claims
    /// what is left of the term only when the name would be open again.
    pub(crate) fn closes(&self, clock: &Clock, uuid: Uuid, duration: Duration, lasts: Duration) {
        self.mark_over(&mut self.known(), clock, uuid, duration, lasts);
        self.row_ends();
    }

    pub(super) fn mark_over(
        &self,
        known: &mut Known,
        clock: &Clock,
        uuid: Uuid,
        duration: Duration,
        closed: Duration,
    ) {
        let since = clock.look();
        if known.live.contains(&uuid) && closed.is_zero() {
            self.fairness().gives_back(clock);
        }
        known.live.retain(|live| *live != uuid);
        if known.over.iter().any(|over| over.uuid == uuid) {
            return;
        }
        if known.over.len() == OVER_KEPT {
            known.over.pop_front();
        }
        known.over.push_back(Over {
            uuid,
            since,
            closed,
            keep: closed + 2 * duration,
            heir: None,
            claimants: 0,
            settled: false,
        });
    }

    /// The store has confirmed the end of this identity, and nothing that was sent for it is left
    /// without an answer. It is remembered as long as its name is, and its name no longer for its sake.
    pub(crate) fn settled(&self, uuid: Uuid) {
        let mut known = self.known();
        if let Some(over) = known.over.iter_mut().find(|over| over.uuid == uuid) {
            over.settled = true;
        }
    }

    /// The record that refused us is a ghost of our own: claim (b) of `prev` (G4).
    pub(crate) fn is_over(&self, clock: &Clock, uuid: Uuid) -> bool {
        let known = self.known();
        let mut over = known.over.iter();
        over.any(|over| {
            over.uuid == uuid && (over.closed..over.keep).contains(&clock.elapsed(over.since))
        })
    }

    /// A try of ours claims this term.
    pub(crate) fn claims(&self, claimed: Version, heir: Uuid) {
        self.known().with_over(claimed.uuid, |over| {
            over.heir = Some(heir);
            over.claimants += 1;
        });
    }

    /// That try was refused, and was sent once: it has not ended the term.
    pub(crate) fn claim_failed(&self, claimed: Version) {
        self.known().with_over(claimed.uuid, |over| {
            over.claimants = over.claimants.saturating_sub(1);
        });
    }

    /// Whether a try of ours that claimed this term may have ended it in the store.
    pub(crate) fn may_be_claimed(&self, uuid: Uuid) -> bool {
        let known = self.known();
        let mut over = known.over.iter();
        over.any(|over| over.uuid == uuid && over.claimants > 0)
    }

    /// Whether it was a try of ours that ended this term with its own, or one that claimed that in its
    /// turn.
    pub(crate) fn went_to_our_own(&self, uuid: Uuid, shown: Uuid) -> bool {
        let known = self.known();
        let heir = |uuid: &Uuid| {
            let over = known.over.iter().find(|over| over.uuid == *uuid)?;
            over.heir
        };
        let mut heirs = successors(heir(&uuid), heir).take(OVER_KEPT);
        heirs.any(|heir| heir == shown)
    }

    /// This term is or was one of ours, as far as we remember.
    pub(crate) fn is_ours(&self, uuid: Uuid) -> bool {
        self.known().is_ours(uuid)
    }
}
