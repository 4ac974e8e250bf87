//! What a try's call carries, and whether it may come at all (W5, G1, G4, T6, A6).

use std::time::Duration;

use dlock_core::provider::Acquire;
use dlock_testkit::faults::Request;
use uuid::Uuid;

use super::{
    SLACK, State,
    model::{CallId, CallerId, Claim, Status, Term, Try},
    pauses::JUDGED_AT_ONCE,
};
use crate::simulation::spans;

impl State {
    pub(super) fn acquire_called(&mut self, client: usize, request: &Acquire) {
        let stamp = self.stamp(client);
        let Some(id) = self.asks(client, request) else {
            return self.complain("W1", || format!("nobody asked for {request:?}"));
        };
        let caller = &self.callers[id];
        let closing = self.clients[client].closing;
        let paused = caller.pause;
        let at_once = paused.is_some_and(|pause| pause.latest.is_zero() && !pause.wakes);
        // Beyond the most that is judged, no pause says that it goes at once.
        let in_chain = at_once || (paused.is_none() && caller.chain >= JUDGED_AT_ONCE);
        let repeated = caller
            .open_try
            .as_ref()
            .is_some_and(|open| open.uuid == request.new);
        if caller.fatal {
            self.complain("W5", || format!("{id} asks on after a fatal answer"));
        }
        if !repeated {
            self.grants_come_back(id);
            self.successor_asks(id, request);
            self.claims_retired(client, request);
            self.check_successor(id, request);
            if let Some(pause) = paused {
                self.check_look_left_out(id, request, &pause);
            }
            self.check_claim(id, request);
        }
        // G4 goes without a pause; whether it may is seen to with its claim.
        let own = request
            .prev
            .is_some_and(|prev| self.is_own(client, prev.uuid));
        match paused {
            Some(_) if own && !repeated => self.check_overdue(id),
            Some(pause) => self.check_pause(id, &pause, repeated),
            None => {}
        }
        // A refusal by a term of its own client calls for nothing whose caller has gone before it.
        let refused = paused
            .filter(|pause| pause.rule == "G4")
            .map(|pause| pause.since.at);
        let left = self.callers[id].left.zip(refused);
        if !repeated && (!in_chain || left.is_some_and(|(left, refused)| left < refused)) {
            let came_back = self.callers[id].requeued || self.goes_as_its_grant_comes_back(id);
            let caller = &self.callers[id];
            // A try's task may begin just before its caller goes, also after a grant came back (W6).
            let begins = caller.once && (caller.calls == 0 || came_back);
            let status = caller.status;
            if status == Status::Gone && !begins {
                self.complain("G1", || format!("{id} tries anew, and nobody waits for it"));
            }
            if closing.is_some_and(|closing| closing < stamp.at) && !begins {
                self.complain("G3", || format!("{id} tries anew after its client closed"));
            }
        }
        self.check_turn(id);
        if repeated {
            self.check_repeat(id, request);
        } else {
            self.check_fresh(id, request);
        }
        self.check_content(id, request, !repeated);

        // What follows an answer in one instant may belong to it: after a look, and after a refusal by a term of its
        // own client (G4), which may be over before that shows.
        let heard = self.callers[id].heard == Some(stamp.contender);
        let goes_on = heard && (paused.is_none() || own);
        // A caller outside the line says nothing of the waiters in it.
        let caller = &self.callers[id];
        if !caller.once && caller.ticket.is_none() {
            self.has_come_back(id);
        }
        let began = self.began_to_ask(id);
        let caller = &mut self.callers[id];
        caller.calls += 1;
        caller.pause = None;
        caller.heard.get_or_insert(began);
        if repeated && let Some(open) = &mut caller.open_try {
            open.repeated = true;
        }
        if !repeated {
            caller.chain = if in_chain { caller.chain + 1 } else { 0 };
            if !at_once {
                if !goes_on {
                    caller.may_have_asked = stamp.at;
                }
                caller.asked = stamp.at;
            }
            caller.open_try = Some(Try {
                uuid: request.new,
                sent: stamp,
                prev: request.prev,
                answered: false,
                repeated: false,
            });
        }
    }

    /// Whose try it is.
    fn asks(&self, client: usize, request: &Acquire) -> Option<CallerId> {
        let id = spans::current()?;
        let caller = self.callers.get(id)?;
        (caller.client == client && caller.label == request.owner).then_some(id)
    }

    /// It waits, and has no lease on its way to it.
    pub(super) fn is_ungranted(&self, id: CallerId) -> bool {
        let on_its_way = |term: &Term| {
            term.caller == id && term.delivered.is_none() && term.release_began.is_none()
        };
        self.callers[id].status == Status::Waiting && !self.terms.values().any(on_its_way)
    }

    /// W5: the same try, until it is given up.
    fn check_repeat(&mut self, id: CallerId, request: &Acquire) {
        let caller = &self.callers[id];
        let Some(open) = &caller.open_try else { return };
        let age = self.clients[caller.client].machine.holder() - open.sent.holder;
        let (answered, changed) = (open.answered, open.prev != request.prev);
        let third = caller.settings.duration / 3;
        let undisturbed = self.undisturbed_since(caller.client, open.sent.at);
        if answered {
            self.complain("W5", || {
                format!("{id} uses the uuid of a try that was answered")
            });
        }
        if changed {
            self.complain("W5", || format!("{id} repeats a try with another claim"));
        }
        if age > third + SLACK && undisturbed {
            self.complain("W5", || {
                format!("{id} repeats its try after {age:?}, over D/3")
            });
        }
    }

    /// W5, G4, A6: a new uuid, not too soon, and an honest claim.
    fn check_fresh(&mut self, id: CallerId, request: &Acquire) {
        self.check_given_up(id);
        if self.drawn.insert(request.new, id).is_some() {
            self.complain("W5", || format!("{id} uses {} again", request.new));
        }
    }

    /// W5, G4: something else follows a try: the try is given up, and not too soon.
    pub(super) fn check_given_up(&mut self, id: CallerId) {
        let caller = &self.callers[id];
        let (client, name) = (caller.client, caller.name.clone());
        let keep = caller.settings.duration;
        let Some(open) = &caller.open_try else { return };
        let (uuid, answered) = (open.uuid, open.answered);
        if !answered && let Some(pause) = &caller.pause {
            let since = if self.clients[client].was_out_since(pause.since.contender) {
                self.clients[client].machine.holder()
            } else {
                pause.since.holder
            };
            let age = since.saturating_sub(open.sent.holder);
            let longest = caller.settings.failure_pause() * 3 / 2;
            let waited = pause.since.contender.saturating_sub(caller.began.contender);
            let in_time = caller.limit.is_none_or(|limit| waited + longest < limit);
            if age + longest < caller.settings.duration / 3 && in_time {
                self.complain("W5", || {
                    format!("{id} gives a try up after {age:?}, without an answer")
                });
            }
        }
        if answered {
            self.retire(client, &name, uuid, keep);
        } else {
            self.ends_its_try(id);
        }
    }

    fn check_claim(&mut self, id: CallerId, request: &Acquire) {
        let client = self.callers[id].client;
        let name = self.callers[id].name.clone();
        let now = self.clients[client].machine.contender();
        let live = request
            .prev
            .is_some_and(|prev| self.is_live(client, prev.uuid));
        let known = self.known(client, &name);
        let observed = known.observation.as_ref().map(|seen| {
            let unchanged = now.saturating_sub(seen.first);
            let fresh = now.saturating_sub(seen.last) <= 10 * seen.duration;
            (seen.version, unchanged >= seen.duration, fresh)
        });
        let retired = request.prev.is_some_and(|prev| known.is_retired(prev.uuid));
        let closed = request
            .prev
            .is_some_and(|prev| known.is_closing(prev.uuid, now));
        if observed.is_some_and(|(_, _, fresh)| !fresh) {
            // Forgotten; whatever is seen from now on counts anew.
            known.observation = None;
        }
        match (request.prev, observed) {
            (Some(prev), observed)
                if closed && observed.is_none_or(|(seen, long, _)| seen != prev || !long) =>
            {
                self.complain("B4", || format!("{id} claims {prev:?}, which is closed"));
            }
            (Some(_), _) if retired && !live => {}
            // H8: its holder has handed it over, ground (c).
            (Some(prev), _) if self.callers[id].ticket == Some(prev.uuid) => {}
            (Some(prev), Some((version, true, true))) if prev == version => {}
            (Some(prev), _) if self.is_own(client, prev.uuid) => self.claims.push(Claim {
                at: self.now(),
                client,
                name,
                uuid: prev.uuid,
                what: format!("{id} claims {prev:?} and has no ground (observed: {observed:?})"),
            }),
            (Some(prev), _) => self.complain("A6", || {
                format!("{id} claims {prev:?} and has no ground (observed: {observed:?})")
            }),
            (None, Some((version, true, true))) => self.complain("I15", || {
                format!("{id} does not claim {version:?}, which it observed for long enough")
            }),
            (None, _) => {}
        }
    }

    /// G4: a client retires an identity in the instant in which its caller goes; that shows at the
    /// boundary a few polls later, by its release.
    pub(super) fn settle_claims(&mut self, now: Duration) {
        while let Some(claim) = self.claims.first()
            && claim.at < now
        {
            let Claim {
                client,
                name,
                uuid,
                what,
                ..
            } = self.claims.remove(0);
            let live = self.is_live(client, uuid);
            let known = self.known(client, &name);
            if live || !(known.is_retired(uuid) || self.may_be_left(uuid)) {
                self.complain("A6", || what);
            }
        }
    }

    /// G1: its caller has gone, and no call of it runs. Its task may have ended it since the last; if
    /// none was in doubt, no release says so.
    pub(super) fn may_be_left(&self, uuid: Uuid) -> bool {
        let gone = self.drawn.get(&uuid).is_some_and(|id| {
            let caller = &self.callers[*id];
            let open = caller.open_try.as_ref();
            let ended = caller.status == Status::Gone || self.had_no_turn(caller);
            ended && open.is_some_and(|open| open.uuid == uuid && !open.answered)
        });
        let runs = |call: &CallId| matches!(&self.calls[*call].request, Request::Acquire(request) if request.new == uuid);
        gone && !self.open.iter().any(runs)
    }

    fn is_live(&self, client: usize, uuid: Uuid) -> bool {
        self.newest(uuid).is_some_and(|term| {
            term.client == client && term.release_began.is_none() && term.refused.is_none()
        })
    }

    pub(super) fn is_own(&self, client: usize, uuid: Uuid) -> bool {
        let drawn = self.drawn.get(&uuid);
        drawn.is_some_and(|id| self.callers[*id].client == client)
    }

    /// T6, V1 and what the lock was built with.
    fn check_content(&mut self, id: CallerId, request: &Acquire, fresh: bool) {
        let caller = &self.callers[id];
        let (client, name) = (caller.client, caller.name.clone());
        if request.data != caller.settings.data || request.duration != caller.settings.duration {
            self.complain("settings", || {
                format!("{id} was built with other data than {request:?}")
            });
        }
        let highest = self.known(client, &name).highest;
        let floor = if highest == 0 { 0 } else { highest + 1 };
        if fresh && request.floor != floor {
            let asked = request.floor;
            self.complain("T6", || {
                format!("{id} asks for {asked} and has seen {highest}")
            });
        }
    }
}
