//! What a contender may claim without an observation: a lease that its own client hands over, or a ticket's
//! (H1, H8).

#[cfg(test)]
mod tests;

use std::time::Duration;

use uuid::Uuid;

use super::{Contender, Wait};
use crate::{names::Offer, provider::Version, waiting::Settings};

impl Contender {
    /// The lease that a holder of this client offers to the first waiter in line, if there is time left to claim
    /// it. A redeemer stands in no line.
    pub(super) fn take_offer(&self) -> Option<Offer> {
        let in_time = self.time_left().is_none_or(|left| !left.is_zero());
        if in_time && self.may_take_offers() {
            self.lock.state.take_offer()
        } else {
            None
        }
    }

    /// H6: how long to sleep before the first try, if this client hands the lock on and will probably offer it to
    /// this waiter: a try meanwhile would be refused for certain. No longer than a poll, which is what a wrong
    /// guess costs.
    pub(super) fn hand_over_pause(&self) -> Option<Duration> {
        let Settings { state, plan, .. } = &*self.lock;
        if !self.may_take_offers() || !state.is_passed_on() {
            return None;
        }
        let pause = plan.successor_patience().min(plan.poll_every);
        // A limit that passes says who held the lock: there must be time left to learn it.
        self.time_left()
            .is_none_or(|left| left >= 2 * pause)
            .then_some(pause)
    }

    /// What the first try claims: an offer, ground (b) of `prev`, or a ticket's version, ground (c).
    pub(super) fn first_claim(&self, offer: Option<&Offer>) -> Option<Version> {
        offer.map(|offer| offer.version).or(self.ticket)
    }

    /// Whether the record that refused a try may be claimed: it shows a retired identity of this client (G4), or
    /// the term that the ticket is for (H2), whose number a renewal in flight has raised. A redeemer that waits
    /// stands in no line, and leaves retired terms to the first waiter in it.
    pub(super) fn may_claim(&self, uuid: Uuid) -> bool {
        let Settings { store, state, .. } = &*self.lock;
        let in_no_line = self.ticket.is_some() && matches!(self.wait, Wait::Limit(_));
        let retired = !in_no_line && state.is_retired(&store.clock, uuid);
        retired || self.ticket.is_some_and(|ticket| ticket.uuid == uuid)
    }

    /// The offer that goes with a claim of this term: the given one if it is of that term, or one that has come
    /// during the try.
    pub(super) fn offer_for(&self, offer: Option<Offer>, uuid: Uuid) -> Option<Offer> {
        let offer = offer.filter(|offer| offer.version.uuid == uuid);
        if offer.is_some() || !self.may_take_offers() {
            return offer;
        }
        self.lock.state.take_offer_of(uuid)
    }

    /// W1, H1: `try_acquire` and redeemers stand in no line.
    fn may_take_offers(&self) -> bool {
        matches!(self.wait, Wait::Limit(_)) && self.ticket.is_none()
    }
}
