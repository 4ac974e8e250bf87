//! Whose claim a waiter has without an observation: a lease that its own client hands on, or a ticket
//! (H1, H8).

use std::time::Duration;

use uuid::Uuid;

use super::{Contender, Wait};
use crate::{Version, names::Offer, waiting::Settings};

impl Contender {
    /// What a holder of this client has left to whoever is first in line, if that is us and there is
    /// time to do something with it. Who has a ticket stands in no line.
    pub(super) fn take_offer(&self) -> Option<Offer> {
        let in_time = self.left().is_none_or(|left| !left.is_zero());
        if in_time && self.may_take_offers() {
            self.lock.state.take_offer()
        } else {
            None
        }
    }

    /// H6: how long to sleep before the first question, if the lock will probably come by itself: it goes
    /// from hand to hand in this client, and whoever asks meanwhile is refused for certain. Short
    /// enough that it costs nobody who was wrong more than a poll does.
    pub(super) fn hand_over_expected(&self) -> Option<Duration> {
        let Settings { state, plan, .. } = &*self.lock;
        if !self.may_take_offers() || !state.is_passed_on() {
            return None;
        }
        let pause = plan.successor_patience().min(plan.poll_every);
        // A limit that passes says who held the lock: there must be time left to learn it.
        self.left()
            .is_none_or(|left| left >= 2 * pause)
            .then_some(pause)
    }

    /// What a try claims before anything else: ground (b) of `prev`, or (c).
    pub(super) fn first_claim(&self, offer: Option<&Offer>) -> Option<Version> {
        offer.map(|offer| offer.version).or(self.ticket)
    }

    /// Whether the record of this term that refused us may be claimed: one of our own that is over
    /// (G4), or the one that our ticket is for (H2). A renewal was in flight when it was handed over, and
    /// raised its number. Who waits and has a ticket stands in no line, and leaves what is over to
    /// whoever is first in it.
    pub(super) fn may_claim(&self, uuid: Uuid) -> bool {
        let Settings { store, state, .. } = &*self.lock;
        let in_no_line = self.ticket.is_some() && matches!(self.wait, Wait::Limit(_));
        let over = !in_no_line && state.is_retired(&store.clock, uuid);
        over || self.ticket.is_some_and(|ticket| ticket.uuid == uuid)
    }

    /// The offer that goes with a claim of this term: ours if it is that one, or one that has come
    /// while we asked.
    pub(super) fn offer_for(&self, offer: Option<Offer>, uuid: Uuid) -> Option<Offer> {
        let offer = offer.filter(|offer| offer.version.uuid == uuid);
        if offer.is_some() || !self.may_take_offers() {
            return offer;
        }
        self.lock.state.take_offer_of(uuid)
    }

    /// W1: tries stand in no line.
    fn may_take_offers(&self) -> bool {
        matches!(self.wait, Wait::Limit(_)) && self.ticket.is_none()
    }
}
