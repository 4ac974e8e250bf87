//! Callers that request a lock: their tries, the order in which they are served, and how long they wait (W1, W4, W5,
//! T6, I18).

use std::time::Duration;

use dlock_core::{
    ErrorKind, FencingToken, Name, Record,
    provider::{Acquire, AcquireOutcome, Tokens},
};

use super::{
    Monitor, SLACK, State,
    model::{Caller, CallerId, Finished, Status},
};
use crate::simulation::{plan::Settings, spans};

impl Monitor {
    /// A caller requests a lock. `limit`: `None` waits forever.
    pub(in super::super) fn begins(
        &self,
        client: usize,
        name: &str,
        settings: &Settings,
        once: bool,
        limit: Option<Duration>,
        redeems: bool,
    ) -> CallerId {
        let mut state = self.state();
        let id = state.callers.len();
        let began = state.stamp(client);
        state.note(|| format!("c{client} asks as {id} for {name}, once: {once}, limit: {limit:?}"));
        state.callers.push(Caller {
            client,
            name: name.to_owned(),
            settings: settings.clone(),
            once,
            limit,
            began,
            status: Status::Waiting,
            away: None,
            granted: false,
            newest_try: None,
        });
        // A redeemer waits in no line (H9).
        if !once && !redeems {
            state.known(client, name).queue.push(id);
        }
        id
    }

    /// It stops polling.
    pub(in super::super) fn away(&self, id: CallerId) {
        let mut state = self.state();
        let now = state.now();
        state.callers[id].away = Some(now);
    }

    /// It drops its request.
    pub(in super::super) fn gone(&self, id: CallerId) {
        let mut state = self.state();
        state.note(|| format!("{id} gone"));
        state.figures.cancellations += 1;
        state.leave(id, Status::Gone);
        state.grants_come_back(id);
    }

    /// It has its result.
    pub(in super::super) fn finished(&self, id: CallerId, how: &Finished) {
        let mut state = self.state();
        state.note(|| format!("{id} finished: {how:?}"));
        state.check_end(id, how);
        state.leave(id, Status::Done);
    }

    /// A hint reached a client: for one name or all.
    pub(in super::super) fn hinted(&self, client: usize, name: Option<&str>) {
        let mut state = self.state();
        state.note(|| format!("c{client} hint {name:?}"));
        state.figures.hints += 1;
    }

    /// A resource reported a higher token to a client (T6).
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
    pub(super) fn acquire_called(&mut self, client: usize, request: &Acquire) {
        let stamp = self.stamp(client);
        let of_client = |id: &CallerId| self.callers[*id].client == client;
        let Some(id) = spans::current().filter(of_client) else {
            return self.complain("W1", || format!("no caller asked for {request:?}"));
        };
        let caller = &self.callers[id];
        let name = caller.name.clone();
        match self.callers[id].newest_try {
            Some((uuid, sent)) if uuid == request.new => {
                let age = stamp.holder.saturating_sub(sent.holder);
                let third = request.duration / 3;
                if age > third + SLACK && self.undisturbed_since(client, sent.at) {
                    self.complain("W5", || {
                        format!("{id} repeats its try after {age:?}, over D/3")
                    });
                }
            }
            _ => {
                self.grants_come_back(id);
                if self.drawn.insert(request.new, id).is_some() {
                    self.complain("W5", || format!("{id} uses {} again", request.new));
                }
                let highest = self.known(client, &name).highest;
                let floor = if highest == 0 { 0 } else { highest + 1 };
                if request.floor != floor {
                    let asked = request.floor;
                    self.complain("T6", || {
                        format!("{id} asks for {asked} and has seen {highest}")
                    });
                }
                self.callers[id].newest_try = Some((request.new, stamp));
            }
        }
    }

    pub(super) fn acquire_answered(
        &mut self,
        client: usize,
        request: &Acquire,
        outcome: &AcquireOutcome,
    ) {
        let stamp = self.stamp(client);
        self.in_doubt.remove(&request.new);
        let Some((id, sent)) = self.caller_of(request) else {
            return;
        };
        let caller = &self.callers[id];
        let name = caller.name.clone();
        match outcome {
            AcquireOutcome::Acquired(tokens) => {
                let late = stamp.holder >= sent.holder + caller.settings.validity();
                let known = self.known(client, &name);
                known.highest = known.highest.max(tokens.last().get());
                if late {
                    self.figures.late_grants += 1;
                } else {
                    self.granted(id, request, *tokens, sent);
                }
            }
            AcquireOutcome::Spent => self.figures.spent += 1,
            AcquireOutcome::Held(record) => self.saw(client, &name, record),
        }
    }

    pub(super) fn acquire_failed(&mut self, request: &Acquire, kind: ErrorKind) {
        match kind {
            ErrorKind::Unknown => drop(self.in_doubt.insert(request.new)),
            // Its wait has ended, and the next one in line may be served before it learns that.
            ErrorKind::Fatal => {
                if let Some((id, _)) = self.caller_of(request) {
                    self.leaves_line(id);
                }
            }
            ErrorKind::NotApplied => {}
        }
    }

    /// Only the first in line looks (O3), and a fatal answer ends its wait.
    pub(super) fn look_failed(&mut self, client: usize, name: &Name, kind: ErrorKind) {
        let first = self.known(client, name.as_str()).queue.first();
        if let Some(first) = first.copied().filter(|_| kind == ErrorKind::Fatal) {
            self.leaves_line(first);
        }
    }

    /// The caller whose newest try this is, and when that was first sent.
    fn caller_of(&self, request: &Acquire) -> Option<(CallerId, super::model::Stamp)> {
        let id = *self.drawn.get(&request.new)?;
        let (uuid, sent) = self.callers[id].newest_try?;
        (uuid == request.new).then_some((id, sent))
    }

    /// A reply or a read showed this record.
    pub(super) fn saw(&mut self, client: usize, name: &str, record: &Record) {
        let newest = self.newest(record.uuid);
        let its_own = newest.is_some_and(|term| term.client == client);
        let known = self.known(client, name);
        known.highest = known.highest.max(record.token.get());
        if !its_own {
            known.elsewhere = known.elsewhere.max(record.token.get());
        }
    }

    /// I18: within one client, first in, first out.
    pub(super) fn check_order(&mut self, id: CallerId) {
        let caller = &self.callers[id];
        let (client, name, again) = (caller.client, caller.name.clone(), caller.granted);
        self.callers[id].granted = true;
        let queue = self.known(client, &name).queue.clone();
        if again || !queue.contains(&id) {
            return;
        }
        let overtaken = queue
            .iter()
            .take_while(|other| **other != id)
            .find(|other| {
                let other = &self.callers[**other];
                let waits = other.status == Status::Waiting && other.away.is_none();
                waits
                    && !other.granted
                    && other.limit.is_none_or(|limit| self.waited(other) < limit)
            });
        if let Some(other) = overtaken {
            let other = *other;
            self.complain("I18", || {
                format!("{id} overtakes {other}, which came first")
            });
        }
    }

    /// W4: no caller times out before its limit, or ends after it.
    fn check_end(&mut self, id: CallerId, how: &Finished) {
        let caller = &self.callers[id];
        let (limit, waited) = (caller.limit, self.waited(caller));
        let early = *how == Finished::TimedOut && limit.is_none_or(|limit| waited < limit);
        if early && !caller.once || self.is_overdue(caller) {
            self.complain("W4", || {
                format!("{id} ends after {waited:?}, its limit is {limit:?}")
            });
        }
    }

    fn waited(&self, caller: &Caller) -> Duration {
        let now = self.clients[caller.client].machine.contender();
        now.saturating_sub(caller.began.contender)
    }

    fn is_overdue(&self, caller: &Caller) -> bool {
        let waited = self.waited(caller);
        caller.limit.is_some_and(|limit| waited > limit + SLACK)
            && caller.away.is_none()
            && self.undisturbed_since(caller.client, caller.began.at)
    }

    fn leave(&mut self, id: CallerId, status: Status) {
        self.callers[id].status = status;
        self.leaves_line(id);
    }

    fn leaves_line(&mut self, id: CallerId) {
        let caller = &self.callers[id];
        let (client, name) = (caller.client, caller.name.clone());
        let known = self.known(client, &name);
        known.queue.retain(|other| *other != id);
    }

    /// W4: callers that wait beyond their limit.
    pub(super) fn sweep_callers(&mut self) {
        for id in 0..self.callers.len() {
            let caller = &self.callers[id];
            if caller.status == Status::Waiting && self.is_overdue(caller) {
                let waited = self.waited(caller);
                self.callers[id].status = Status::Done;
                self.complain("W4", || {
                    format!("{id} has waited {waited:?}, over its limit")
                });
            }
        }
    }
}
