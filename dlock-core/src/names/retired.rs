//! The client's own retired identities, whose late copies become orphans in the store, and which of its tries claimed
//! their terms (the book, "Losing and failing": Orphans and cancellation).

use std::{iter::successors, time::Duration};

use uuid::Uuid;

use super::{Known, NameState};
use crate::{Clock, provider::Version, time::ContenderInstant};

/// How many retired identities a client remembers per name, in addition to leases whose release is in flight.
const RETIRED_KEPT: usize = 8;

/// The uuid of a try or a lease on which this client no longer acts.
pub(super) struct Retired {
    uuid: Uuid,
    since: ContenderInstant,
    /// How long its release closed the name (B4): until then this client does not claim it either.
    closed: Duration,
    keep: Duration,
    /// The newest try of this client that claimed it, granted or not.
    successor: Option<Uuid>,
    /// How many of this client's tries that claimed it may have ended its term in the store.
    claimants: usize,
    /// A lease whose release is in flight. It is not forgotten in favour of newer identities: the answer to the release
    /// means nothing without the tries that claimed the term meanwhile.
    releasing: bool,
    /// Every request for it was answered, its release too: no copy is in flight, unless a driver or a network has
    /// made one.
    all_answered: bool,
}

impl Retired {
    /// Whether no copy of its requests can reach the store any more, as far as is known.
    pub(super) fn is_forgettable(&self, clock: &Clock) -> bool {
        self.all_answered || clock.elapsed(self.since) >= self.keep
    }
}

impl Known {
    fn with_retired(&mut self, uuid: Uuid, change: impl FnOnce(&mut Retired)) {
        let mut retired = self.retired.iter_mut();
        if let Some(retired) = retired.find(|retired| retired.uuid == uuid) {
            change(retired);
        }
    }

    pub(super) fn is_ours(&self, uuid: Uuid) -> bool {
        let mut retired = self.retired.iter();
        self.newest == Some(uuid)
            || self.live.contains(&uuid)
            || retired.any(|retired| retired.uuid == uuid)
    }
}

impl NameState {
    /// Retires an identity: a try whose grant no caller got, or a lease whose release has begun. It is remembered for
    /// twice the lease's duration, so that a late copy of its request cannot block its own client.
    pub(crate) fn retire(&self, clock: &Clock, uuid: Uuid, duration: Duration) {
        self.mark_retired(&mut self.known(), clock, uuid, duration, Duration::ZERO);
    }

    /// Retires a lease whose release closes the name (B4), for this client as well: it claims what remains of the
    /// term only when the name would be open again.
    pub(crate) fn closes(&self, clock: &Clock, uuid: Uuid, duration: Duration, lasts: Duration) {
        self.mark_retired(&mut self.known(), clock, uuid, duration, lasts);
    }

    pub(super) fn mark_retired(
        &self,
        known: &mut Known,
        clock: &Clock,
        uuid: Uuid,
        duration: Duration,
        closed: Duration,
    ) {
        let since = clock.contender_now();
        let releasing = known.live.contains(&uuid);
        known.live.retain(|live| *live != uuid);
        if known.retired.iter().any(|retired| retired.uuid == uuid) {
            return;
        }
        let mut surplus = (known.retired.len() + 1).saturating_sub(RETIRED_KEPT);
        known.retired.retain(|retired| {
            let kept = surplus == 0 || retired.releasing;
            surplus = surplus.saturating_sub(1);
            kept
        });
        known.retired.push_back(Retired {
            uuid,
            since,
            closed,
            keep: closed + 2 * duration,
            successor: None,
            claimants: 0,
            releasing,
            all_answered: false,
        });
    }

    /// The release of a lease has ended, or will not be sent: its identity is remembered like any other. Returns
    /// whether the release was in flight until now.
    pub(crate) fn release_ended(&self, uuid: Uuid) -> bool {
        let mut was_releasing = false;
        self.known().with_retired(uuid, |retired| {
            was_releasing = std::mem::take(&mut retired.releasing);
        });
        was_releasing
    }

    /// Whether the release of this lease is in flight.
    pub(crate) fn is_releasing(&self, uuid: Uuid) -> bool {
        let known = self.known();
        let mut retired = known.retired.iter();
        retired.any(|retired| retired.uuid == uuid && retired.releasing)
    }

    /// Whether the release of a lease of this client is in flight that began within this time.
    pub(crate) fn is_being_released(&self, clock: &Clock, within: Duration) -> bool {
        let known = self.known();
        let mut retired = known.retired.iter();
        retired.any(|retired| retired.releasing && clock.elapsed(retired.since) < within)
    }

    /// Whether this identity is one of this client: live, or retired.
    pub(crate) fn is_ours(&self, uuid: Uuid) -> bool {
        self.known().is_ours(uuid)
    }

    /// The store has confirmed the end of this identity, and every request for it was answered. It is remembered as
    /// long as its name is, but no longer keeps its name from being forgotten.
    pub(crate) fn all_answered(&self, uuid: Uuid) {
        let mut known = self.known();
        if let Some(retired) = known
            .retired
            .iter_mut()
            .find(|retired| retired.uuid == uuid)
        {
            retired.all_answered = true;
        }
    }

    /// Whether the record that refused a try is an orphan of this client: ground (b) of `prev`.
    pub(crate) fn is_retired(&self, clock: &Clock, uuid: Uuid) -> bool {
        let known = self.known();
        let mut retired = known.retired.iter();
        retired.any(|retired| {
            retired.uuid == uuid
                && (retired.closed..retired.keep).contains(&clock.elapsed(retired.since))
        })
    }

    /// A try of this client claims this term.
    pub(crate) fn claims(&self, claimed: Version, successor: Uuid) {
        self.known().with_retired(claimed.uuid, |retired| {
            retired.successor = Some(successor);
            retired.claimants += 1;
        });
    }

    /// The try that claimed this term was refused and was sent once: it has not ended the term.
    pub(crate) fn claim_failed(&self, claimed: Version) {
        self.known().with_retired(claimed.uuid, |retired| {
            retired.claimants = retired.claimants.saturating_sub(1);
        });
    }

    /// Whether a try of this client that claimed this term may have ended it in the store.
    pub(crate) fn may_be_claimed(&self, uuid: Uuid) -> bool {
        let known = self.known();
        let mut retired = known.retired.iter();
        retired.any(|retired| retired.uuid == uuid && retired.claimants > 0)
    }

    /// Whether the term that the store shows is a successor of this one by claims of this client.
    pub(crate) fn went_to_our_own(&self, uuid: Uuid, shown: Uuid) -> bool {
        let known = self.known();
        let successor = |uuid: &Uuid| {
            let retired = known.retired.iter().find(|retired| retired.uuid == *uuid)?;
            retired.successor
        };
        let mut chain = successors(successor(&uuid), successor).take(RETIRED_KEPT);
        chain.any(|successor| successor == shown)
    }
}
