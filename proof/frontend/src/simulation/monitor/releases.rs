//! Releases: when a lease is over for its client, and what may follow (V7, W7); `succession` has what
//! becomes of those that are handed over.

use super::{
    State,
    model::{Given, LeaseId},
};
use dlock_core::{
    ErrorKind,
    provider::{Release, ReleaseOutcome},
};

impl State {
    /// From here on the lease is invalid (V7).
    pub(super) fn release_begins(&mut self, lease: LeaseId) {
        let Some(term) = self.terms.get(&lease) else {
            return;
        };
        if term.release_began.is_some() {
            return;
        }
        let (client, name, duration) = (term.client, term.name.clone(), term.settings.duration);
        let giver = term.caller;
        let now = self.stamp(client);
        // A closing is offered to nobody, and its client remembers it until the name opens.
        let closes = self.closing_begins(lease);
        let awaited = closes.is_none() && self.is_awaited(client, &name, giver);
        let holder = self.holder(lease);
        if let Some(term) = self.terms.get_mut(&lease) {
            term.protected = term.valid(holder);
            term.release_began = Some(now);
            term.watch = None;
            term.awaited = awaited;
        }
        let lingers = self.may_linger(lease);
        if let Some(term) = self.terms.get_mut(&lease) {
            term.lingers = lingers;
        }
        // A term that may go on is not over (S1): its release says so.
        if lingers.is_none() {
            let until = now.contender + closes.unwrap_or_default() + 2 * duration;
            self.retire_until(client, &name, lease.uuid, until);
        }
        if awaited {
            self.known(client, &name).offered = Some(now.at);
        }
    }

    pub(super) fn release_called(&mut self, client: usize, request: &Release) {
        let uuid = request.uuid;
        let asked = self.callers.iter().position(|caller| {
            caller.client == client
                && caller
                    .open_try
                    .as_ref()
                    .is_some_and(|open| open.uuid == uuid)
        });
        if let Some(id) = asked.filter(|_| !self.newest.contains_key(&uuid)) {
            self.ends_its_try(id);
        }
        self.given_back.insert(uuid);
        self.check_not_handed_over(client, request);
        let at = self.now();
        self.known(client, request.name.as_str()).given_back = Some(at);
        let began = self
            .newest(uuid)
            .is_some_and(|term| term.release_began.is_some());
        if let Some(lease) = self.newest.get(&uuid).copied() {
            self.release_begins(lease);
            if self.terms[&lease].tokens.count().get() > 1 {
                self.release_is_awaited(client, request.name.as_str());
            }
            let (name, keep) = (request.name.as_str(), self.terms[&lease].settings.duration);
            self.retire(client, name, uuid, keep);
        }
        self.check_closing(request);
        let Some(term) = self.newest_mut(uuid) else {
            return;
        };
        let (alive, fatal, valid_in_hand) = (
            term.work_alive,
            term.release_fatal,
            term.delivered.is_some() && term.watch.is_some() && !began,
        );
        term.release_called = true;
        term.release_calls += 1;
        let by_ticket = term.by_ticket;
        let (id, delivered) = (term.caller, term.delivered.is_some());
        if !delivered && !began {
            self.queues_again(id);
        }
        if by_ticket {
            self.complain("H7", || format!("{uuid} is released, and went by ticket"));
        }
        if alive {
            self.complain("V7", || format!("{uuid} is released while its work exists"));
        }
        if fatal {
            self.complain("V7", || {
                format!("{uuid} is released again after a fatal answer")
            });
        }
        if valid_in_hand {
            self.complain("V7", || format!("{uuid} is released, and its handle lives"));
        }
    }

    pub(super) fn release_answered(
        &mut self,
        client: usize,
        request: &Release,
        outcome: &ReleaseOutcome,
    ) {
        let name = request.name.as_str();
        if let ReleaseOutcome::NotHeld(Some(record)) = outcome {
            self.saw(client, name, record);
        }
        let intruded = self.is_intruded(request.uuid);
        let tries_between = match outcome {
            ReleaseOutcome::Released => Some(Vec::new()),
            ReleaseOutcome::NotHeld(Some(shown)) if !intruded => {
                self.went_to_our_own(client, request, shown.uuid)
            }
            ReleaseOutcome::NotHeld(_) => None,
        };
        let own = tries_between.is_some();
        let forgotten =
            tries_between.is_some_and(|tries| !self.are_remembered(client, name, &tries));
        if *outcome == ReleaseOutcome::Released {
            self.closing_seen(client, request);
        }
        let claimed = self.may_be_claimed(client, request);
        if let Some(term) = self.newest_mut(request.uuid) {
            let alone = term.release_calls == 1 && !claimed;
            let protected = term.protected && !intruded;
            term.release_answer = Some(match (own, alone, protected) {
                (true, _, false) if forgotten => Given::BackOrUnknown,
                (true, ..) | (false, false, true) => Given::Back,
                (false, true, _) => Given::Taken,
                (false, false, false) => Given::Unknown,
            });
        }
        self.wake(client, Some(name), "W7");
    }

    pub(super) fn release_failed(&mut self, client: usize, request: &Release, kind: ErrorKind) {
        let now = self.stamp(client);
        if let Some(term) = self.newest_mut(request.uuid) {
            term.release_fatal |= kind == ErrorKind::Fatal;
            term.failing = Some(now);
        }
    }
}
