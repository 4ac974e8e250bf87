//! Leases that are handed over (H1): by a client to its own next waiter, and by ticket.

use std::collections::BTreeSet;

use dlock_core::{Acquire, Error};
use uuid::Uuid;

use super::{
    Monitor, SLACK, State,
    model::{CallerId, Status, Turn},
};

impl Monitor {
    /// The handle was handed over, or was not because the lease had ended: then it is dropped.
    pub(in super::super) fn handed_over(&self, uuid: Uuid, refused: Option<&Error>) {
        let mut state = self.state();
        state.note(|| format!("{uuid} handed over: {refused:?}"));
        let holder = state.holder(uuid);
        let Some(term) = state.terms.get(&uuid) else {
            return;
        };
        let (client, valid) = (term.client, term.valid(holder));
        let right = match refused {
            None => valid,
            Some(Error::Lost(_)) => !valid,
            Some(_) => false,
        };
        if !right {
            state.complain("H1", || {
                format!("{uuid} is handed over with {refused:?}, and is valid: {valid}")
            });
        }
        if refused.is_some() {
            return state.release_begins(uuid);
        }
        state.figures.tickets += 1;
        let now = state.stamp(client);
        if let Some(term) = state.terms.get_mut(&uuid) {
            term.release_began = Some(now);
            term.watch = None;
            term.by_ticket = true;
        }
    }
}

impl State {
    /// Whether somebody of this client stands in line for the name.
    pub(super) fn is_awaited(&mut self, client: usize, name: &str) -> bool {
        let queue = self.known(client, name).queue.clone();
        queue
            .iter()
            .any(|id| self.callers[*id].status == Status::Waiting)
    }

    /// Whose names somebody stands in line for.
    pub(super) fn awaited_names(&self) -> BTreeSet<(usize, String)> {
        let waits = |id: &CallerId| self.callers[*id].status == Status::Waiting;
        let clients = self.clients.iter().enumerate();
        clients
            .flat_map(|(client, state)| {
                let awaited = state
                    .names
                    .iter()
                    .filter(|(_, known)| known.queue.iter().any(waits));
                awaited.map(move |(name, _)| (client, name.clone()))
            })
            .collect()
    }

    /// A fresh try claims a term of its own client.
    pub(super) fn heir_asks(&mut self, id: CallerId, request: &Acquire) {
        let Some(uuid) = request.prev.map(|prev| prev.uuid) else {
            return;
        };
        let (client, once) = (self.callers[id].client, self.callers[id].once);
        let Some(term) = self.terms.get(&uuid) else {
            return;
        };
        if term.client != client || term.by_ticket {
            return;
        }
        // W6, V9: a grant that nobody took is given back without anybody's word.
        if term.delivered.is_none() && term.release_began.is_none() {
            let caller = term.caller;
            let machine = &self.clients[client].machine;
            let waited = machine.contender().saturating_sub(term.granted.contender);
            let passed = waited + SLACK >= term.settings.duration / 6;
            let gone = self.callers[caller].status != Status::Waiting;
            if passed || gone || !term.valid(machine.holder()) {
                self.release_begins(uuid);
                self.callers[caller].requeued = true;
            }
        }
        if let Some(term) = self.terms.get_mut(&uuid)
            && term.release_began.is_some()
            && !once
        {
            term.heir = Some(request.new);
        }
    }

    /// The try was answered: the term it claimed is over, or its giver must send the release.
    pub(super) fn heir_answered(&mut self, id: CallerId, request: &Acquire, granted: bool) {
        let Some(uuid) = request.prev.map(|prev| prev.uuid) else {
            return;
        };
        let now = self.stamp(self.callers[id].client);
        if granted && self.callers[id].ticket == Some(uuid) {
            self.figures.redeemed += 1;
        }
        let Some(term) = self.terms.get_mut(&uuid) else {
            return;
        };
        if term.heir != Some(request.new) {
            return;
        }
        if !granted {
            term.heir_failed = Some(now);
        } else if !term.release_called {
            term.release_called = true;
            term.release_answer = Some(true);
            self.figures.handed_over += 1;
        }
    }

    /// Its ticket is worth nothing: it waits like everybody else from here on.
    pub(super) fn queues_after_all(&mut self, id: CallerId) {
        let caller = &mut self.callers[id];
        caller.ticket = None;
        caller.seen = true;
        caller.pause = None;
        caller.heard = None;
        caller.chain = 0;
        caller.turn = Turn::NotYet;
        let (client, name) = (caller.client, caller.name.clone());
        self.known(client, &name).queue.push(id);
    }
}
