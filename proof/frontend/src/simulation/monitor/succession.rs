//! Leases that are handed over (H1 to H11): by a client to its own next waiter, and by ticket.

use std::{collections::BTreeSet, iter::successors, time::Duration};

use dlock_core::{
    Error,
    provider::{Acquire, Release},
};
use uuid::Uuid;

use super::{
    Monitor, SLACK, State,
    model::{CallerId, Given, LeaseId, Status, Term, Turn},
};

/// H5: the most hand-overs in a row.
const MOST_PASSES: usize = 16;

impl Monitor {
    /// Something that is not the frontend's doing, for the log.
    pub(in super::super) fn remark(&self, what: impl FnOnce() -> String) {
        self.state().note(what);
    }

    /// The handle was handed over, or was not because the lease had ended: then it is dropped.
    pub(in super::super) fn handed_over(&self, lease: LeaseId, refused: Option<&Error>) {
        let mut state = self.state();
        state.note(|| format!("{lease} handed over: {refused:?}"));
        let holder = state.holder(lease);
        let Some(term) = state.terms.get(&lease) else {
            return;
        };
        let (client, valid) = (term.client, term.valid(holder));
        let right = match refused {
            None => valid,
            Some(Error::Lost(_)) => !valid,
            Some(_) => false,
        };
        if !right {
            state.complain("H7", || {
                format!("{lease} is handed over with {refused:?}, and is valid: {valid}")
            });
        }
        if refused.is_some() {
            return state.release_begins(lease);
        }
        state.figures.tickets += 1;
        let now = state.stamp(client);
        if let Some(term) = state.terms.get_mut(&lease) {
            term.release_began = Some(now);
            term.watch = None;
            term.by_ticket = true;
        }
    }
}

impl State {
    /// Whether a waiter of this client is in line for the name, beside the caller of the lease that ends: where that one
    /// has not taken it, it lines up again only later.
    pub(super) fn is_awaited(&mut self, client: usize, name: &str, but: CallerId) -> bool {
        let queue = self.known(client, name).queue.clone();
        queue
            .iter()
            .any(|id| *id != but && self.callers[*id].status == Status::Waiting)
    }

    /// The names for which waiters are in line, by client.
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
    pub(super) fn successor_asks(&mut self, id: CallerId, request: &Acquire) {
        let Some(uuid) = request.prev.map(|prev| prev.uuid) else {
            return;
        };
        let (client, once) = (self.callers[id].client, self.callers[id].once);
        let Some(lease) = self.newest.get(&uuid).copied() else {
            return;
        };
        let term = &self.terms[&lease];
        if term.client != client || term.by_ticket {
            return;
        }
        if self.may_be_back(term) {
            let caller = term.caller;
            self.release_begins(lease);
            self.queues_again(caller);
        }
        if let Some(term) = self.terms.get_mut(&lease)
            && term.release_began.is_some()
            && term.refused.is_none()
            && !once
        {
            term.successors.push(request.new);
        }
    }

    /// W6, V9: a grant that nobody took is given back without anybody's word.
    pub(super) fn may_be_back(&self, term: &Term) -> bool {
        let gone = self.callers[term.caller].status != Status::Waiting;
        let invalid = !term.valid(self.clients[term.client].machine.holder());
        let over = gone || invalid || self.has_waited_for_pickup(term);
        over && term.delivered.is_none() && term.release_began.is_none()
    }

    /// A grant that its caller has not taken goes back in the instant in which that caller goes (G1), or asks anew (W6, V9).
    /// No call need say so: its term may linger, and its release is sent a moment later.
    pub(super) fn grants_come_back(&mut self, id: CallerId) {
        let of_caller = self.terms.iter().filter(|(_, term)| term.caller == id);
        let back = of_caller.filter(|(_, term)| self.may_be_back(term));
        let back: Vec<LeaseId> = back.map(|(lease, _)| *lease).collect();
        for lease in back {
            self.release_begins(lease);
            if self.callers[id].status == Status::Waiting {
                self.queues_again(id);
            }
        }
    }

    fn has_waited_for_pickup(&self, term: &Term) -> bool {
        let now = self.clients[term.client].machine.contender();
        let waited = now.saturating_sub(term.granted.contender);
        waited + SLACK >= term.settings.duration / 6
    }

    /// The caller goes in this instant, in which its grant has come back (W6), and its next try may have begun. No
    /// release says so while the grant is on offer to a waiter (H1).
    pub(super) fn goes_as_its_grant_comes_back(&self, id: CallerId) -> bool {
        let caller = &self.callers[id];
        let granted = caller.open_try.as_ref();
        let term = granted.and_then(|granted| self.newest(granted.uuid));
        let came_back =
            term.is_some_and(|term| term.delivered.is_none() && self.has_waited_for_pickup(term));
        came_back && caller.left == Some(self.now())
    }

    /// A fresh try claims a retired identity of its own client.
    pub(super) fn claims_retired(&mut self, client: usize, request: &Acquire) {
        let Some(claimed) = request.prev else {
            return;
        };
        // A term that does not go on is over before its release is sent; whether it is, [`State::settle_claims`] sees.
        let given_back = self.newest(claimed.uuid).is_some_and(|term| {
            term.client == client && term.release_began.is_some() && !term.by_ticket
        });
        let known = self.known(client, request.name.as_str());
        if given_back || known.is_retired(claimed.uuid) {
            known.successors.insert(claimed.uuid, request.new);
            *known.claimants.entry(claimed.uuid).or_default() += 1;
        }
    }

    /// That try was refused, and sent once: it has ended nothing.
    pub(super) fn claim_failed(&mut self, client: usize, request: &Acquire) {
        let known = self.known(client, request.name.as_str());
        let claimed = request.prev.map(|prev| prev.uuid);
        if let Some(count) = claimed.and_then(|uuid| known.claimants.get_mut(&uuid)) {
            *count = count.saturating_sub(1);
        }
    }

    /// Whether a try of its own client that claimed the term may have ended it.
    pub(super) fn may_be_claimed(&mut self, client: usize, request: &Release) -> bool {
        let known = self.known(client, request.name.as_str());
        let claimants = known.claimants.get(&request.uuid);
        claimants.is_some_and(|count| *count > 0)
    }

    /// Whether the term was ended by a try of its own client that claimed it, or by one that claimed that
    /// try's term: then its giver released it, whatever its own release found. If so, the tries in between.
    pub(super) fn went_to_our_own(
        &mut self,
        client: usize,
        request: &Release,
        shown: Uuid,
    ) -> Option<Vec<Uuid>> {
        let known = &self.known(client, request.name.as_str()).successors;
        let successor = |uuid: &Uuid| known.get(uuid).copied();
        let chain = successors(successor(&request.uuid), successor).take(known.len());
        let chain: Vec<Uuid> = chain.collect();
        let place = chain.iter().position(|successor| *successor == shown)?;
        Some(chain[..place].to_vec())
    }

    /// The try was answered: the term it claimed is over, or its giver must send the release.
    pub(super) fn successor_answered(&mut self, id: CallerId, request: &Acquire, granted: bool) {
        let Some(uuid) = request.prev.map(|prev| prev.uuid) else {
            return;
        };
        let now = self.stamp(self.callers[id].client);
        if granted && self.callers[id].ticket == Some(uuid) {
            self.figures.redeemed += 1;
        }
        let inherited = self.inherited.contains(&request.new);
        let Some(term) = self.newest_mut(uuid) else {
            return;
        };
        if !term.successors.contains(&request.new) {
            return;
        }
        if !granted {
            if term.successors.last() == Some(&request.new) {
                term.successor_failed = Some(now);
            }
        } else if !term.release_called {
            term.release_called = true;
            term.release_answer = Some(Given::Back);
            let began = term.release_began.map_or(Duration::ZERO, |at| at.contender);
            let (handed, since) = match term.passes {
                // It had come back from the store meanwhile: the next hand-over begins a row.
                _ if !inherited => (0, began),
                (0, _) => (1, began),
                (handed, since) => (handed + 1, since),
            };
            let longest = term.pass_time();
            let taken = term.delivered.is_some();
            self.figures.handed_over += u64::from(inherited);
            self.passed_on.insert(request.new, (handed, since));
            let lasted = began.saturating_sub(since);
            // When a grant that nobody took was offered shows only when it is claimed.
            if handed > MOST_PASSES || taken && lasted > longest + SLACK {
                self.complain("H5", || {
                    format!("{uuid} is the {handed}th in a row to be handed over, after {lasted:?}")
                });
            }
        }
    }

    /// The first waiter in line claims what is on offer to it, and asks for nothing else; a redeemer
    /// claims its ticket's term; and nobody asks while the name goes from hand to hand.
    pub(super) fn check_successor(&mut self, id: CallerId, request: &Acquire) {
        let caller = &self.callers[id];
        let (client, name, calls) = (caller.client, caller.name.clone(), caller.calls);
        let now = self.stamp(client);
        let claimed = request.prev.map(|prev| prev.uuid);
        if let Some(ticket) = caller.ticket {
            if calls == 0 && claimed != Some(ticket) {
                self.complain("H8", || {
                    format!("{id} does not claim what its ticket is for")
                });
            }
            return;
        }
        if caller.once || self.time_is_up(caller) {
            return;
        }
        let pause = (caller.settings.duration / 10)
            .min(Duration::from_secs(1))
            .min(caller.settings.poll(false));
        let waited = now.contender.saturating_sub(caller.began.contender);
        let hurries = caller
            .limit
            .is_some_and(|limit| limit.saturating_sub(waited) < 2 * pause + SLACK);
        let began = caller.began;
        // The rest of a question that had begun before.
        let at_once = caller
            .pause
            .is_some_and(|pause| pause.latest.is_zero() && !pause.wakes);
        let known = self.clients[client].names.get(&name);
        let rung = known.and_then(|known| known.rung.max(known.offered).max(known.given_back));
        let of_name = || {
            self.terms
                .iter()
                .filter(|(_, term)| term.client == client && term.name == name)
        };
        let offered = of_name().find(|(_, term)| {
            // What happens in one instant may be seen in another order.
            let open = term.release_began.is_some_and(|began| {
                began.at < now.at && now.contender < began.contender + term.successor_patience()
            });
            let unreleased =
                term.awaited && !term.release_called && !term.by_ticket && !term.followed;
            open && unreleased && term.successors.is_empty() && term.refused.is_none()
        });
        let offered = offered.map(|(lease, term)| (*lease, term.tokens.count().get() > 1));
        if let Some((uuid, block)) = offered
            && claimed.is_none()
            && !at_once
            && (!block || self.may_follow(uuid))
        {
            return self.complain("H1", || {
                format!("{id} does not claim {uuid}, its own client's")
            });
        }
        // A grant that was not handed over, a takeover for example, ends the row of hand-overs.
        let of_name = || {
            self.terms
                .iter()
                .filter(|(_, term)| term.client == client && term.name == name)
        };
        let newest = of_name().map(|(_, term)| term.granted.at).max();
        let asks_anyway = of_name().find(|(_, term)| {
            if newest.is_some_and(|newest| term.granted.at < newest) {
                return false;
            }
            let since = term.granted.contender.max(began.contender);
            term.release_began.is_none()
                && term.refused.is_none()
                && term.passes.0 > 0
                && rung.is_none_or(|rung| rung < term.granted.at)
                && now.contender + SLACK < since + pause
        });
        if let Some((uuid, _)) = asks_anyway
            && calls == 0
            && claimed.is_none()
            && !hurries
        {
            let uuid = *uuid;
            self.complain("H6", || {
                format!("{id} asks, and {uuid} goes from hand to hand")
            });
        }
    }

    /// H1: a lease is released that a waiter of the same client waits for and was not even offered.
    pub(super) fn check_not_handed_over(&mut self, client: usize, request: &Release) {
        let now = self.stamp(client);
        let Some(term) = self.newest(request.uuid) else {
            return;
        };
        let at_once = term
            .release_began
            .is_some_and(|began| began.at == now.at && term.awaited);
        let (name, giver) = (term.name.clone(), term.caller);
        let busy = self.terms.iter().any(|(lease, other)| {
            lease.uuid != request.uuid
                && other.client == client
                && other.name == name
                && (other.granted.at > term.granted.at
                    || ((other.release_began.is_some() || self.may_be_back(other))
                        && !other.release_called
                        && !other.followed))
        });
        let block = term.tokens.count().get() > 1;
        let exempt = term.release_called
            || !term.successors.is_empty()
            || self.passed_on.contains_key(&request.uuid)
            || term.refused.is_some()
            || term.by_ticket
            || self.clients[client].closing.is_some();
        let queue = self.known(client, &name).queue.clone();
        let waits = queue.iter().any(|id| {
            let caller = &self.callers[*id];
            // Where its grant was given back it lines up again only when it polls.
            *id != giver && self.may_be_in_line(*id) && !caller.requeued && caller.began.at < now.at
        });
        let lease = self.newest.get(&request.uuid).copied();
        let could = !block || lease.is_some_and(|lease| self.may_follow(lease));
        if at_once && waits && !exempt && !busy && could {
            let uuid = request.uuid;
            self.complain("H1", || {
                format!("{uuid} is released, and its own client waits for it")
            });
        }
    }

    /// Its grant was given back, since it did not come for it (W6): if it is still there it lines up
    /// again, and a ticket that it had is used up.
    pub(super) fn queues_again(&mut self, id: CallerId) {
        let caller = &mut self.callers[id];
        caller.requeued = true;
        caller.without_reservation = false;
        let caller = &self.callers[id];
        if caller.ticket.is_some() && !caller.once && caller.status == Status::Waiting {
            self.queues_after_all(id);
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
