//! Terms that go on (S1 to S4): a client's lease has ended, and the first waiter in its line has the next one on the
//! same term. No call to the store says so; the client's own recorder does, in that very instant.

use std::time::Duration;

use dlock_core::FencingToken;
use uuid::Uuid;

use super::{
    Monitor, State,
    model::{Attempt, CallerId, LeaseId, Term, Turn},
};
use crate::simulation::spans;

impl Monitor {
    /// A client believes in a lease from now on.
    pub(in super::super) fn believes(&self, client: usize, uuid: Uuid, token: FencingToken) {
        self.state().follows(client, LeaseId { uuid, token });
    }
}

impl State {
    fn follows(&mut self, client: usize, lease: LeaseId) {
        // What was granted by the store is known from its answer; reservations are nobody's here.
        let Some(before) = self.newest.get(&lease.uuid).copied() else {
            return;
        };
        if before == lease {
            return;
        }
        self.note(|| format!("c{client} goes on with {before} as {lease}"));
        let term = &self.terms[&before];
        if self.may_be_back(term) {
            let caller = term.caller;
            self.release_begins(before);
            self.queues_again(caller);
        }
        if let Some(why) = self.must_end(before) {
            self.complain("S1", || format!("{before} goes on as {lease}: {why}"));
        }
        let term = &self.terms[&before];
        let name = term.name.clone();
        if lease.token.get() != before.token.get() + 1 || lease.token > term.tokens.last() {
            self.complain("S1", || format!("{lease} follows {before}"));
        }
        if !self.is_above_all_seen(client, &name, lease) {
            self.complain("T6", || {
                format!("{lease} lies below what c{client} has seen")
            });
        }
        let Some(caller) = spans::current() else {
            return self.complain("S1", || {
                format!("{before} goes on as {lease}, and nobody asks")
            });
        };
        if !self.is_alike(before, caller) {
            self.complain("S1", || {
                format!("{before} goes on as {lease}, with another lock's settings")
            });
        }
        self.figures.went_on += 1;
        let follower = self.follower(before, caller);
        self.terms.insert(lease, follower);
        self.newest.insert(lease.uuid, lease);
        if let Some(term) = self.terms.get_mut(&before) {
            term.followed = true;
            term.release_answer = Some(super::model::Given::Back);
        }
        let caller = &mut self.callers[caller];
        (caller.pause, caller.turn) = (None, Turn::Had);
    }

    /// Why a term goes back to the store with this lease (S1, S3), as far as shows.
    pub(super) fn must_end(&self, lease: LeaseId) -> Option<&'static str> {
        let holder = self.holder(lease);
        let term = &self.terms[&lease];
        let longest = (term.settings.duration / 10).min(Duration::from_secs(1));
        let closing = self.clients[term.client].closing;
        [
            (term.release_began.is_none(), "the lease has not ended"),
            (term.release_called, "its release was sent"),
            (term.followed, "another one has followed it"),
            (term.by_ticket, "a ticket was drawn on it"),
            (
                term.gone || term.refused.is_some(),
                "the store has ended it",
            ),
            (
                term.release_began.is_some() && !term.protected,
                "it had run out",
            ),
            (holder >= term.deadline, "its deadline has passed"),
            (holder >= term.sent + longest, "it has had its time"),
            (term.asked, "somebody has asked for it"),
            (
                term.closes_until.is_some_and(|until| holder < until),
                "it closes the name",
            ),
            (
                closing.is_some_and(|at| at < self.now()),
                "its client closes",
            ),
            (term.token >= term.tokens.last(), "its tokens are used up"),
        ]
        .into_iter()
        .find_map(|(so, why)| so.then_some(why))
    }

    /// Whether the term of a lease that has ended could have gone on with each waiter that may be the first in line.
    pub(super) fn may_follow(&mut self, lease: LeaseId) -> bool {
        let term = &self.terms[&lease];
        let (client, name) = (term.client, term.name.clone());
        let next = FencingToken::new(lease.token.get() + 1);
        let next = next.map(|token| LeaseId { token, ..lease });
        let first = self.may_be_first(client, &name);
        self.must_end(lease).is_none()
            && next.is_some_and(|next| self.is_above_all_seen(client, &name, next))
            && !first.is_empty()
            && first.iter().all(|caller| self.is_alike(lease, *caller))
    }

    /// Whose turn it may be: the first who stands in line for certain, and all whose grants were given back: they line up
    /// again when they poll, which does not show, and may stand before it by now. Nobody if nobody is there for certain.
    fn may_be_first(&mut self, client: usize, name: &str) -> Vec<CallerId> {
        let mut queue = self.known(client, name).queue.clone();
        queue.retain(|id| self.may_be_in_line(*id));
        let certain = queue.iter().copied().find(|id| !self.callers[*id].requeued);
        queue.retain(|id| Some(*id) == certain || certain.is_some() && self.callers[*id].requeued);
        queue
    }

    /// It waits in line, or lines up again as soon as it polls.
    pub(super) fn may_be_in_line(&self, id: CallerId) -> bool {
        let caller = &self.callers[id];
        self.is_ungranted(id) && !caller.fatal && !self.time_is_up(caller)
    }

    /// The client has seen no token of another term that is as large (T6).
    pub(super) fn is_above_all_seen(&mut self, client: usize, name: &str, lease: LeaseId) -> bool {
        lease.token.get() > self.known(client, name).elsewhere
    }

    pub(super) fn is_alike(&self, lease: LeaseId, caller: CallerId) -> bool {
        let term = &self.terms[&lease];
        let (one, other) = (&term.settings, &self.callers[caller].settings);
        let label = |id: CallerId| &self.callers[id].label;
        (one.duration, one.renew_every, &one.data)
            == (other.duration, other.renew_every, &other.data)
            && one.validity() == other.validity()
            && label(term.caller) == label(caller)
    }

    /// The lease that a caller has on the term after this one (S2).
    fn follower(&self, before: LeaseId, caller: CallerId) -> Term {
        let term = &self.terms[&before];
        let now = self.stamp(term.client);
        let settings = self.callers[caller].settings.clone();
        let attempts = term.attempts.iter().map(|(n, attempt)| {
            let earlier = Attempt {
                earlier: true,
                open: false,
                ..*attempt
            };
            (*n, earlier)
        });
        Term {
            client: term.client,
            caller,
            name: term.name.clone(),
            token: FencingToken::new(before.token.get() + 1).unwrap_or(before.token),
            tokens: term.tokens,
            granted: now,
            sent: term.sent,
            since: now.holder,
            deadline: term.deadline,
            closes_until: Term::closing_time(settings.at_least, now.holder),
            settings,
            closing: None,
            refused: None,
            credited: term.credited,
            fatal: term.fatal,
            asked: term.asked,
            attempts: attempts.collect(),
            by_hand: 0,
            delivered: None,
            guarded: None,
            heard: term.heard,
            failing: None,
            watch: None,
            listened: false,
            told: false,
            release_began: None,
            release_called: false,
            awaited: false,
            successors: Vec::new(),
            successor_failed: None,
            by_ticket: false,
            gone: false,
            followed: false,
            lingers: None,
            passes: Default::default(),
            protected: false,
            release_calls: 0,
            release_answer: None,
            release_fatal: false,
            work_alive: false,
            work_gone: None,
        }
    }
}
