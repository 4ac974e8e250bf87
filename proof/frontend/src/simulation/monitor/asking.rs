//! Callers that ask for a lock: until when, and what they are told in the end (W1, W4, W5, G1, G3).

use std::time::Duration;

use dlock_core::{FencingToken, provider::Tokens};
use uuid::Uuid;

use super::{
    Monitor, SLACK, State,
    model::{Caller, CallerId, Finished, Status, Turn},
};
use crate::simulation::plan::Settings;

impl Monitor {
    /// Somebody asks for a lock. `limit`: `None` waits for ever. The label it puts on its lock tells
    /// its calls from others'.
    pub(in super::super) fn begins(
        &self,
        client: usize,
        name: &str,
        settings: &Settings,
        once: bool,
        limit: Option<Duration>,
        ticket: Option<Uuid>,
    ) -> CallerId {
        let mut state = self.state();
        let id = state.callers.len();
        let began = state.stamp(client);
        state.note(|| format!("c{client} asks as {id} for {name}, once: {once}, limit: {limit:?}"));
        state.callers.push(Caller {
            client,
            name: name.to_owned(),
            settings: settings.clone(),
            label: id.to_string(),
            once,
            limit,
            ticket,
            began,
            status: Status::Waiting,
            left: None,
            away: None,
            turn: Turn::NotYet,
            requeued: false,
            open_try: None,
            calls: 0,
            looked: None,
            heard: None,
            fatal: false,
            may_be_fatal: false,
            seen: false,
            pause: None,
            asked: Duration::ZERO,
            may_have_asked: Duration::ZERO,
            chain: 0,
            without_reservation: false,
        });
        if !once && ticket.is_none() {
            state.known(client, name).queue.push(id);
        }
        id
    }

    /// The label of its lock: its own, or one that it shares with other callers of its client.
    pub(in super::super) fn labelled(&self, id: CallerId, label: &str) {
        label.clone_into(&mut self.state().callers[id].label);
    }

    /// It does not poll any more, or polls again.
    pub(in super::super) fn away(&self, id: CallerId) {
        let mut state = self.state();
        let now = state.now();
        state.callers[id].away = Some(now);
    }

    /// It stopped asking.
    pub(in super::super) fn gone(&self, id: CallerId) {
        let mut state = self.state();
        state.note(|| format!("{id} gone"));
        state.check_overdue(id);
        state.figures.cancellations += 1;
        state.leave(id, Status::Gone);
        state.grants_come_back(id);
    }

    /// It has its result.
    pub(in super::super) fn finished(&self, id: CallerId, how: &Finished) {
        let mut state = self.state();
        state.note(|| format!("{id} finished: {how:?}"));
        state.check_overdue(id);
        state.check_end(id, how);
        state.leave(id, Status::Done);
        state.ends_its_try(id);
    }

    /// A hint reached a client: for one name or all.
    pub(in super::super) fn hinted(&self, client: usize, name: Option<&str>) {
        let mut state = self.state();
        state.note(|| format!("c{client} hint {name:?}"));
        state.figures.hints += 1;
        state.wake(client, name, "W3");
    }

    /// Its channel for hints opened or ended.
    pub(in super::super) fn watching(&self, client: usize, open: bool) {
        let mut state = self.state();
        state.note(|| format!("c{client} watching: {open}"));
        if state.clients[client].watching != open {
            state.clients[client].watching = open;
            state.wake(client, None, "W3");
        }
    }

    /// A resource told a client of a higher token (T6).
    pub(in super::super) fn raised(&self, client: usize, name: &str, highest: FencingToken) {
        let mut state = self.state();
        let known = state.known(client, name);
        // It may be the first of a block that the resource will see.
        let last = highest.get() + u64::from(Tokens::MOST.get() - 1);
        known.highest = known.highest.max(last);
        known.elsewhere = known.elsewhere.max(last);
    }
}

impl State {
    fn check_end(&mut self, id: CallerId, how: &Finished) {
        let caller = &self.callers[id];
        let client = caller.client;
        let now = self.stamp(client);
        let waited = now.contender.saturating_sub(caller.began.contender);
        let heard = caller.heard.unwrap_or(caller.began.contender);
        let silent = now.contender.saturating_sub(heard);
        let (limit, give_up) = (caller.limit, caller.settings.give_up_after);
        let (once, fatal) = (caller.once, caller.fatal);
        // It may have waited for its first turn, for as long as it asks in all.
        let asked = if self.clients[client].was_out_since(caller.began.contender) {
            waited
        } else {
            silent
        };
        let skipped = caller
            .pause
            .filter(|pause| pause.latest.is_zero() && !pause.wakes && *how != Finished::Granted);
        if let Some(pause) = skipped
            && !self.time_is_up(&self.callers[id])
        {
            self.complain(pause.rule, || {
                format!("{id} ends with {how:?}, and should ask at once")
            });
        }
        match how {
            Finished::TimedOut if limit.is_none_or(|limit| waited < limit) && !once => {
                self.complain("W4", || {
                    format!("{id} ends after {waited:?}, its limit is {limit:?}")
                });
            }
            Finished::Closed if self.clients[client].closing.is_none() => {
                self.complain("G3", || format!("{id} is told that its client closed"));
            }
            Finished::Failed(true) if !fatal && !self.callers[id].may_be_fatal => {
                self.complain("W5", || {
                    format!("{id} is told of a fatal answer that never came")
                });
            }
            Finished::Failed(false) if !once && asked < give_up => {
                self.complain("W5", || {
                    format!("{id} gives up after {silent:?} without an answer")
                });
            }
            _ => {}
        }
        let caller = &self.callers[id];
        if let Some(limit) = limit
            && waited > limit + SLACK
            && caller.away.is_none()
            && self.undisturbed_since(client, caller.began.at)
        {
            self.complain("W4", || {
                format!("{id} waited {waited:?}, and its limit is {limit:?}")
            });
        }
        if fatal && *how != Finished::Failed(true) && !matches!(how, Finished::Granted) {
            // Its time may have been up in the same instant.
            if *how != Finished::TimedOut {
                self.complain("W5", || {
                    format!("{id} ends with {how:?} after a fatal answer")
                });
            }
        }
    }

    fn leave(&mut self, id: CallerId, status: Status) {
        let at = self.now();
        let caller = &mut self.callers[id];
        caller.status = status;
        caller.left = Some(at);
        let (client, name) = (caller.client, caller.name.clone());
        let now = self.clients[client].machine.contender();
        let known = self.known(client, &name);
        known.queue.retain(|other| *other != id);
        known.deserted = now;
    }

    /// G4: a try without an answer is retired when it is given up, which may be as soon as its last call failed. If no
    /// call of it is in doubt, no release will say so.
    pub(super) fn ends_its_try(&mut self, id: CallerId) {
        let caller = &self.callers[id];
        let (client, name, keep) = (caller.client, caller.name.clone(), caller.settings.duration);
        let open = caller.open_try.as_ref().filter(|open| !open.answered);
        // A caller that is away hears of it later.
        let since = caller.pause.map(|pause| pause.since.contender);
        if let Some(uuid) = open.map(|open| open.uuid) {
            match since {
                Some(since) => self.retire_until(client, &name, uuid, since + 2 * keep),
                None => self.retire(client, &name, uuid, keep),
            }
        }
    }
}
