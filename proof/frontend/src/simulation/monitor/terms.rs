//! Leases: granted by the store, known to a client in time, and those that follow each other on one term (V1, S1).

use std::{collections::BTreeMap, time::Duration};

use dlock_core::{
    FencingToken,
    provider::{Acquire, AcquireOutcome, Tokens},
};
use uuid::Uuid;

use super::{
    Monitor, State,
    model::{Attempt, CallerId, LeaseId, Release, Stamp, Term},
};
use crate::simulation::spans;

impl Monitor {
    /// A client believes in a lease from now on. Where a term continues (S1), no call to the store shows that.
    pub(in super::super) fn believes(&self, client: usize, uuid: Uuid, token: FencingToken) {
        self.state().follows(client, LeaseId { uuid, token });
    }
}

impl State {
    pub(super) fn holder(&self, lease: LeaseId) -> Duration {
        self.terms.get(&lease).map_or(Duration::ZERO, |term| {
            self.clients[term.client].machine.holder()
        })
    }

    /// The store grants. The history checker judges whether it may.
    pub(super) fn acquire_applied(
        &mut self,
        name: &str,
        request: &Acquire,
        outcome: &AcquireOutcome,
    ) {
        let AcquireOutcome::Acquired(tokens) = outcome else {
            return;
        };
        let token = tokens.last();
        let states = self.records.get(name);
        let before = states.and_then(|states| states.last()).cloned().flatten();
        let is_repeat =
            |record: &dlock_core::Record| record.uuid == request.new && record.token == token;
        if before.as_ref().is_some_and(is_repeat) {
            return;
        }
        self.figures.grants += 1;
        if let Some(held) = before.filter(|record| !record.released) {
            self.claimed.insert(held.uuid);
            // A name that its holder had given away is handed over, not taken over (H7).
            let given = self.newest(held.uuid);
            let given = given.is_some_and(|term| term.release.began.is_some());
            self.figures.takeovers += u64::from(!given);
        }
    }

    /// A grant becomes known to its client, in time.
    pub(super) fn granted(&mut self, id: CallerId, request: &Acquire, tokens: Tokens, sent: Stamp) {
        let caller = &self.callers[id];
        let (client, name, settings) =
            (caller.client, caller.name.clone(), caller.settings.clone());
        let uuid = request.new;
        self.check_order(id);
        self.check_turn(id);
        let term = Term {
            client,
            caller: id,
            name,
            token: tokens.first(),
            tokens,
            granted: self.stamp(client),
            sent: sent.holder,
            deadline: sent.holder + settings.validity(),
            settings,
            refused: None,
            attempts: BTreeMap::new(),
            delivered: false,
            watch: None,
            release: Release::default(),
            work_alive: false,
        };
        self.begin(uuid, term);
        // Its caller may have gone during the try.
        if self.callers[id].status == super::model::Status::Gone {
            self.grants_come_back(id);
        }
    }

    fn begin(&mut self, uuid: Uuid, term: Term) {
        let token = term.token;
        let lease = LeaseId { uuid, token };
        self.terms.insert(lease, term);
        self.newest.insert(uuid, lease);
    }

    /// S1: a client's lease has ended, and the first waiter in its line gets the next one on the same term.
    fn follows(&mut self, client: usize, lease: LeaseId) {
        // A lease granted by the store is known from its answer.
        let Some(before) = self.newest.get(&lease.uuid).copied() else {
            return;
        };
        if before == lease {
            return;
        }
        self.note(|| format!("c{client} continues {before} as {lease}"));
        if !self.terms[&before].delivered {
            self.release_begins(before);
        }
        let holder = self.holder(before);
        let term = &self.terms[&before];
        let name = term.name.clone();
        let wrong = [
            (term.release.began.is_none(), "the lease has not ended"),
            (term.release.called, "its release was sent"),
            (term.release.by_ticket, "a ticket was drawn on it"),
            (term.refused.is_some(), "the store has ended it"),
            (holder >= term.deadline, "its deadline has passed"),
            (
                lease.token.get() != before.token.get() + 1 || lease.token > term.tokens.last(),
                "its token is not the next one",
            ),
        ];
        for (_, why) in wrong.iter().filter(|(so, _)| *so) {
            self.complain("S1", || format!("{before} continues as {lease}: {why}"));
        }
        let seen = self.known(client, &name).elsewhere;
        if lease.token.get() <= seen {
            self.complain("T6", || {
                format!("{lease} lies below {seen}, which c{client} has seen")
            });
        }
        let Some(caller) = spans::current() else {
            return self.complain("S1", || {
                format!("{before} continues as {lease}, and no caller asks")
            });
        };
        self.check_order(caller);
        self.figures.went_on += 1;
        let now = self.stamp(client);
        let settings = self.callers[caller].settings.clone();
        let Some(term) = self.terms.get_mut(&before) else {
            return;
        };
        term.release.followed = true;
        let earlier = |attempt: &Attempt| Attempt {
            earlier: true,
            ..*attempt
        };
        let attempts = term.attempts.iter();
        let follower = Term {
            caller,
            token: lease.token,
            settings,
            granted: now,
            attempts: attempts
                .map(|(n, attempt)| (*n, earlier(attempt)))
                .collect(),
            delivered: false,
            watch: None,
            release: Release::default(),
            work_alive: false,
            ..term.clone()
        };
        self.begin(lease.uuid, follower);
    }

    /// W6, G1: a grant that its caller has not taken is released, when the caller goes or tries again.
    pub(super) fn grants_come_back(&mut self, id: CallerId) {
        let untaken = |term: &Term| term.caller == id && !term.delivered;
        let back = self.terms.iter().filter(|(_, term)| untaken(term));
        let back: Vec<LeaseId> = back.map(|(lease, _)| *lease).collect();
        for lease in back {
            self.release_begins(lease);
        }
    }
}
