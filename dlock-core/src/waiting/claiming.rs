//! The terms that a contender may have without an observation: a term of its own client, to continue (the book,
//! "Waiting": Terms that continue inside a client), or that of a ticket, to claim.

#[cfg(test)]
mod tests;

use std::{num::NonZeroU8, sync::Arc, time::Duration};

use uuid::Uuid;

use super::{Contender, Wait};
use crate::{
    Record,
    lease::{Holding, Settings, Term},
    names::Following,
    turns::HAND_OFF,
};

/// The outcome for a term that was on offer to the waiter.
pub(super) enum Taken {
    /// The waiter has a lease on it.
    Lease(Holding),
    /// The term does not continue: its release is in flight.
    Over(Uuid),
}

impl From<Following<Arc<Term>>> for Taken {
    fn from(following: Following<Arc<Term>>) -> Self {
        match following {
            Following::Lease(term) => Self::Lease(Holding::new(term)),
            Following::Over(uuid) => Self::Over(uuid),
        }
    }
}

impl Contender {
    /// The lease that continues the term which a holder of this client offers to the first waiter in line, if there is
    /// time left for it.
    pub(super) fn take_term(&self) -> Option<Taken> {
        if !self.takes_terms() {
            return None;
        }
        let Settings { store, state, .. } = &*self.lock;
        let following = state.succeed(
            self.queue.runtime,
            &store.clock,
            |giver, highest_elsewhere| Term::follow(giver, &self.lock, highest_elsewhere),
        );
        following.map(Taken::from)
    }

    /// How many tokens a try asks for: a block if others of this client wait behind it, for leases that follow one
    /// another on its term. A ticket is for one lease.
    pub(super) fn tokens(&self) -> NonZeroU8 {
        let (state, runtime) = (&self.lock.state, self.queue.runtime);
        let itself = usize::from(self.stands_in_line());
        if state.waiters(runtime) > itself && self.ticket.is_none() {
            state.block_size(runtime)
        } else {
            NonZeroU8::MIN
        }
    }

    /// How long to sleep before the first try, if a lease of this client has the lock and its term will probably
    /// continue with this waiter: a try meanwhile would certainly be refused. This is as long as terms continue, but
    /// no longer than a poll, which is the cost of a wrong guess.
    pub(super) fn pause_for_term(&self) -> Option<Duration> {
        let Settings {
            store, state, plan, ..
        } = &*self.lock;
        if !self.stands_in_line() || !state.will_go_on(self.queue.runtime, &store.clock, plan) {
            return None;
        }
        let pause = plan.succession_time().min(plan.poll_every);
        // A limit that passes reports the holder of the lock: there must be time left to learn it.
        self.time_left()
            .is_none_or(|left| left >= 2 * pause)
            .then_some(pause)
    }

    /// Whether the record that refused a try may be claimed: it shows a retired identity of this client, or the term
    /// that the ticket is for, whose number a renewal in flight has raised. A redeemer that waits stands in no line,
    /// and leaves retired terms to the first waiter in it.
    pub(super) fn may_claim(&mut self, record: &Record) -> bool {
        let Settings { store, state, .. } = &*self.lock;
        let uuid = record.uuid;
        let in_no_line = self.ticket.is_some() && matches!(self.wait, Wait::Limit(_));
        let retired = !in_no_line && state.is_retired(&store.clock, uuid);
        (retired && !self.gives_way(record))
            || self.ticket.is_some_and(|ticket| ticket.uuid == uuid)
    }

    /// Whether other clients want this retired term. A claim would overtake its release, whose answer rings, and after
    /// which they go first. A release without an answer is waited for once.
    fn gives_way(&mut self, record: &Record) -> bool {
        let by_others = ![0, self.own_mark()].contains(&record.wanted);
        let waits = self.gave_way != Some(record.uuid) && self.lock.state.is_releasing(record.uuid);
        let gives_way = self.stands_in_line() && by_others && (waits || self.is_left());
        if gives_way {
            self.gave_way = Some(record.uuid);
        }
        gives_way
    }

    /// How long the answer to a release of this client is waited for.
    pub(super) fn release_patience(&self) -> Duration {
        let plan = &self.lock.plan;
        let patience = plan.attempt().min(plan.poll_every);
        self.time_left()
            .map_or(patience, |left| patience.min(left / 2))
    }

    fn takes_terms(&self) -> bool {
        !self.is_late() && self.stands_in_line()
    }

    /// The mark that a refused try leaves, or 0.
    pub(super) fn marks(&self) -> u32 {
        let Settings {
            store, state, plan, ..
        } = &*self.lock;
        // A mark on a term that this client releases would hide that of another (N1).
        let ours = || state.is_held() || state.is_being_released(&store.clock, plan.attempt());
        let seen = self.seen.as_ref();
        let ours = seen.map_or_else(ours, |holder| self.is_of_this_client(holder));
        if self.may_mark(ours) {
            self.own_mark()
        } else {
            0
        }
    }

    /// Whether it may mark a term. A term of its own client (`ours`) needs no mark, since its release wakes the waiter.
    /// Only waiters in line leave marks, and only with time left for the try that follows.
    pub(super) fn may_mark(&self, ours: bool) -> bool {
        let soon = if self.listens() {
            HAND_OFF
        } else {
            self.lock.plan.poll_every / 4
        };
        let in_time = self.time_left().is_none_or(|left| left >= soon);
        in_time && self.stands_in_line() && !ours
    }

    /// Whether it stands in line: `try_acquire` and redeemers do not.
    fn stands_in_line(&self) -> bool {
        matches!(self.wait, Wait::Limit(_)) && self.ticket.is_none()
    }
}
