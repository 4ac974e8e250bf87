//! Waiters that read before they ask again, where a read costs less than a refusal (O3, W2): a
//! look is due when a try is, is answered like one, and leaves what a refusal leaves.

use std::time::Duration;

use dlock_core::{
    Record,
    provider::{Acquire, Version},
};

use super::{
    Monitor, State,
    model::{CallerId, Pause, Status, Turn},
};
use crate::simulation::spans;

impl Monitor {
    /// A user of the client reads, in this very poll.
    pub(in super::super) fn reads(&self, client: usize) {
        self.state().clients[client].reads = true;
    }
}

impl State {
    /// Whose look it is, at a lock or for its reservation: what a waiter reads, it reads within its acquire.
    pub(super) fn looks(&self, client: usize, name: &str) -> Option<CallerId> {
        let id = spans::current()?;
        let caller = self.callers.get(id)?;
        (caller.client == client && caller.name == name).then_some(id)
    }

    /// A client reads: the waiter whose look it is, unless a user asked for the record.
    pub(super) fn read_called(&mut self, client: usize, name: &str) -> Option<CallerId> {
        if std::mem::take(&mut self.clients[client].reads) {
            return None;
        }
        if self.is_read_away(client, name) {
            return None;
        }
        self.figures.looks += 1;
        let stamp = self.stamp(client);
        let Some(id) = self.looks(client, name) else {
            self.complain("W1", || {
                format!("c{client} looks for {name}, and nobody contends")
            });
            return None;
        };
        if !self.cheap_reads {
            self.complain("W2", || {
                format!("{id} looks, and a look costs as much as a refusal")
            });
        }
        let begins = self.callers[id].turn != Turn::Has || self.callers[id].requeued;
        self.check_turn(id);
        let caller = &self.callers[id];
        let (turn, status, fatal) = (caller.turn, caller.status, caller.fatal);
        let (paused, seen) = (caller.pause, caller.seen);
        if turn != Turn::Has {
            self.complain("W1", || {
                format!("{id} looks, and it is not its turn: {turn:?}")
            });
        }
        // A redeemer that was refused has seen a holder already, and may begin its turn with a look (H8). Every
        // other waiter begins with a try.
        if begins && !seen {
            self.complain("W1", || {
                format!("{id} begins with a look, and has seen no holder")
            });
        }
        if status != Status::Waiting {
            self.complain("G1", || {
                format!("{id} looks, and does not wait: {status:?}")
            });
        }
        if self.clients[client]
            .closing
            .is_some_and(|closing| closing < stamp.at)
        {
            self.complain("G3", || format!("{id} looks after its client closed"));
        }
        if fatal {
            self.complain("W5", || format!("{id} looks after a fatal answer"));
        }
        if let Some(version) = self.may_claim(id) {
            self.complain("I15", || {
                format!("{id} looks, and has observed {version:?} for long enough")
            });
        }
        if let Some(pause) = paused {
            if pause.latest.is_zero() && !pause.wakes {
                self.complain(pause.rule, || format!("{id} looks, and should ask at once"));
            } else if !pause.excused && self.was_woken(id) {
                self.complain("W3", || format!("{id} looks, and was woken"));
            }
            self.check_pause(id, &pause, false);
        }
        self.check_given_up(id);
        let caller = &mut self.callers[id];
        if let Some(open) = &mut caller.open_try {
            // The try is over: to repeat it from here on is wrong.
            open.answered = true;
        }
        caller.pause = None;
        caller.chain = 0;
        (caller.asked, caller.may_have_asked) = (stamp.at, stamp.at);
        Some(id)
    }

    /// It saw this, which its client remembers already.
    pub(super) fn look_answered(&mut self, id: CallerId, record: Option<&Record>) {
        let now = self.stamp(self.callers[id].client);
        self.callers[id].heard = Some(now.contender);
        let Some(record) = record else {
            return self.next_at_once(id, "W2");
        };
        if record.released
            || record.remaining == Some(Duration::ZERO)
            || self.is_own_orphan(id, record)
        {
            self.next_at_once(id, "W2");
        } else if !self.may_be_own_orphan(id, record) {
            self.callers[id].seen = true;
            self.next_when_due(id, record);
        }
    }

    /// W2: a waiter that was not woken, knows the holder and has nothing to claim looks first.
    pub(super) fn check_look_left_out(&mut self, id: CallerId, request: &Acquire, pause: &Pause) {
        let caller = &self.callers[id];
        let due = self.cheap_reads && caller.seen && !caller.once && pause.wakes && !pause.excused;
        let woken = pause.woken || self.was_offered(id);
        if due && !woken && request.prev.is_none() && self.may_claim(id).is_none() {
            self.complain("W2", || format!("{id} asks, and a look costs less"));
        }
    }

    /// What its client has observed for long enough.
    fn may_claim(&mut self, id: CallerId) -> Option<Version> {
        let caller = &self.callers[id];
        let (client, name) = (caller.client, caller.name.clone());
        let now = self.clients[client].machine.contender();
        let seen = self.known(client, &name).observation.as_ref()?;
        (now.saturating_sub(seen.first) >= seen.duration).then_some(seen.version)
    }

    /// Whether it was woken for certain: what happened in this very instant may come after.
    fn was_woken(&mut self, id: CallerId) -> bool {
        let now = self.now();
        let caller = &self.callers[id];
        let (client, name, asked) = (caller.client, caller.name.clone(), caller.asked);
        let rung = self.known(client, &name).rung;
        rung.is_some_and(|rung| rung > asked && rung < now)
    }
}
