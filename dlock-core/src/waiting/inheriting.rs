//! Whose claim a waiter has without an observation: a lease that its own client hands on, or a ticket
//! (H1, H8).

use std::time::Duration;

use uuid::Uuid;

use super::{Contender, Wait};
use crate::{Version, names::Legacy, waiting::Settings};

impl Contender {
    /// What a holder of this client has left to whoever is first in line, if that is us and there is
    /// time to do something with it. Who has a ticket stands in no line.
    pub(super) fn inherit(&self) -> Option<Legacy> {
        let in_time = self.left().is_none_or(|left| !left.is_zero());
        if in_time && self.may_inherit() {
            self.lock.state.inherit()
        } else {
            None
        }
    }

    /// H6: how long to sleep before the first question, if the lock will probably come by itself: it goes
    /// from hand to hand in this client, and whoever asks meanwhile is refused for certain. Short
    /// enough that it costs nobody who was wrong more than a poll does.
    pub(super) fn hand_over_expected(&self) -> Option<Duration> {
        let Settings { state, plan, .. } = &*self.lock;
        if !self.may_inherit() || !state.in_a_row() {
            return None;
        }
        let pause = plan.heirs_patience().min(plan.poll_every);
        // A limit that passes says who held the lock: there must be time left to learn it.
        self.left()
            .is_none_or(|left| left >= 2 * pause)
            .then_some(pause)
    }

    /// What a try claims before anything else: ground (b) of `prev`, or (c).
    pub(super) fn inherited_claim(&self, legacy: Option<&Legacy>) -> Option<Version> {
        legacy.map(|legacy| legacy.version).or(self.ticket)
    }

    /// Whether the record of this term that refused us may be claimed: one of our own that is over
    /// (G4), or the one that our ticket is for (H2). A renewal was in flight when it was handed over, and
    /// raised its number. Who waits and has a ticket stands in no line, and leaves what is over to
    /// whoever is first in it.
    pub(super) fn may_claim(&self, uuid: Uuid) -> bool {
        let Settings { store, state, .. } = &*self.lock;
        let in_no_line = self.ticket.is_some() && matches!(self.wait, Wait::Limit(_));
        let over = !in_no_line && state.is_over(&store.clock, uuid);
        over || self.ticket.is_some_and(|ticket| ticket.uuid == uuid)
    }

    /// The legacy that goes with a claim of this term: ours if it is that one, or one that has come
    /// while we asked.
    pub(super) fn inherited(&self, legacy: Option<Legacy>, uuid: Uuid) -> Option<Legacy> {
        let legacy = legacy.filter(|legacy| legacy.version.uuid == uuid);
        if legacy.is_some() || !self.may_inherit() {
            return legacy;
        }
        self.lock.state.inherit_term(uuid)
    }

    /// W1: tries stand in no line.
    fn may_inherit(&self) -> bool {
        matches!(self.wait, Wait::Limit(_)) && self.ticket.is_none()
    }
}
