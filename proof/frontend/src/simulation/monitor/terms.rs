//! Grants: by the store, and known to a client in time (V1, I1 to I3).

use std::{collections::BTreeMap, time::Duration};

use dlock_core::{
    Record,
    provider::{Acquire, AcquireOutcome, Tokens},
};
use uuid::Uuid;

use super::{
    State,
    model::{CallerId, LeaseId, Stamp, Term},
};

impl State {
    pub(super) fn holder(&self, lease: LeaseId) -> Duration {
        self.terms.get(&lease).map_or(Duration::ZERO, |term| {
            self.clients[term.client].machine.holder()
        })
    }

    /// The same for the newest lease of a term.
    pub(super) fn holder_of(&self, uuid: Uuid) -> Duration {
        let newest = self.newest.get(&uuid);
        newest.map_or(Duration::ZERO, |lease| self.holder(*lease))
    }

    /// The store grants: I2, I3.
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
        let before = self
            .records
            .get(name)
            .and_then(|states| states.last())
            .cloned()
            .flatten();
        let ours = before
            .as_ref()
            .is_some_and(|record| record.uuid == request.new);
        if ours && before.as_ref().is_some_and(|record| record.token == token) {
            return;
        }
        self.figures.grants += 1;
        let inherits = before.as_ref().is_some_and(|record| {
            !record.released && request.prev.is_some_and(|prev| prev.uuid == record.uuid)
        });
        if inherits {
            self.inherited.insert(request.new);
        }
        self.check_open(name, request, outcome);
        if let Some(caller) = self.drawn.get(&request.new).copied() {
            self.shared_out(name, caller);
        }
        // What its holder had given away is handed over, and not taken over (H7).
        let given = |record: &Record| {
            let term = self.newest(record.uuid);
            term.is_some_and(|term| term.release_began.is_some())
        };
        let taken_over = before.is_some_and(|record| !record.released && !given(&record));
        self.figures.takeovers += u64::from(taken_over);
        let last = self.last_tokens.insert(name.to_owned(), token.get());
        if last.is_some_and(|last| last >= token.get()) && !self.broken.tokens {
            self.complain("I3", || format!("{name}: {token} follows {last:?}"));
        }
        let holder = self
            .terms
            .iter()
            .find(|(lease, term)| {
                lease.uuid != request.new
                    && term.name == name
                    && term.valid(self.clients[term.client].machine.holder())
            })
            .map(|(lease, _)| *lease);
        if let Some(holder) = holder
            && !self.broken.exclusion
        {
            let new = request.new;
            self.complain("I2", || {
                format!("{name} goes to {new} while {holder} is valid")
            });
        }
    }

    /// A grant is known to its client, in time: I1.
    pub(super) fn granted(&mut self, id: CallerId, request: &Acquire, tokens: Tokens, sent: Stamp) {
        let caller = &self.callers[id];
        let (client, name, settings) =
            (caller.client, caller.name.clone(), caller.settings.clone());
        let rival = self
            .terms
            .iter()
            .find(|(_, term)| {
                term.name == name && term.valid(self.clients[term.client].machine.holder())
            })
            .map(|(lease, _)| *lease);
        if let Some(rival) = rival
            && !self.broken.exclusion
        {
            let new = request.new;
            self.complain("I1", || format!("{name}: both {rival} and {new} are valid"));
        }
        let term = Term {
            client,
            caller: id,
            name,
            token: tokens.first(),
            tokens,
            granted: self.stamp(client),
            sent: sent.holder,
            since: sent.holder,
            closes_until: Term::closing_time(settings.at_least, sent.holder),
            closing: None,
            deadline: sent.holder + settings.validity(),
            settings,
            refused: None,
            credited: sent.holder,
            fatal: false,
            asked: false,
            attempts: BTreeMap::new(),
            by_hand: 0,
            delivered: None,
            guarded: None,
            heard: Duration::ZERO,
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
            passes: self
                .passed_on
                .get(&request.new)
                .copied()
                .unwrap_or_default(),
            protected: false,
            release_calls: 0,
            release_answer: None,
            release_fatal: false,
            work_alive: false,
            work_gone: None,
        };
        let lease = LeaseId {
            uuid: request.new,
            token: tokens.first(),
        };
        self.terms.insert(lease, term);
        self.newest.insert(request.new, lease);
        // Its caller may have gone while the try ran.
        self.grants_come_back(id);
    }
}
