//! Acquires: whose turn it is, when the next call comes, what it carries (W1 to W7, G1, G4, T6, A6).

use std::time::Duration;

use dlock_core::{Acquire, AcquireOutcome, ErrorKind, FencingToken, Record};
use uuid::Uuid;

use super::{
    Monitor, SLACK, State,
    model::{Caller, CallerId, Finished, Pause, Seen, Status, Try, Turn, held},
};
use crate::simulation::plan::Settings;

/// How many of a client's identities this remembers: fewer than it does itself, which counts also
/// those that never passed the boundary.
const OVER: usize = 6;

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
            turn: Turn::NotYet,
            requeued: false,
            open_try: None,
            calls: 0,
            heard: None,
            fatal: false,
            pause: None,
            asked: Duration::ZERO,
            chain: 0,
        });
        if !once {
            state.known(client, name).queue.push(id);
        }
        id
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
    }

    /// It has its result.
    pub(in super::super) fn finished(&self, id: CallerId, how: &Finished) {
        let mut state = self.state();
        state.note(|| format!("{id} finished: {how:?}"));
        state.check_overdue(id);
        state.check_end(id, how);
        state.leave(id, Status::Done);
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
        known.highest = known.highest.max(highest.get());
    }
}

impl State {
    pub(super) fn acquire_called(&mut self, client: usize, request: &Acquire) {
        let stamp = self.stamp(client);
        let Some(id) = request
            .owner
            .parse::<CallerId>()
            .ok()
            .filter(|id| *id < self.callers.len())
        else {
            return self.complain("W1", || format!("nobody asked for {request:?}"));
        };
        let caller = &self.callers[id];
        let closing = self.clients[client].closing;
        let paused = caller.pause;
        let at_once = paused.is_some_and(|pause| pause.latest.is_zero() && !pause.wakes);
        let repeated = caller
            .open_try
            .as_ref()
            .is_some_and(|open| open.uuid == request.new);
        if caller.fatal {
            self.complain("W5", || format!("{id} asks on after a fatal answer"));
        }
        if !repeated {
            self.check_claim(id, request);
        }
        if let Some(pause) = paused {
            self.check_pause(id, &pause, repeated);
        }
        if !repeated && !at_once {
            let caller = &self.callers[id];
            // A try's task may begin just before its caller goes, also after a grant came back (W6).
            let begins = caller.once && (caller.calls == 0 || caller.requeued);
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

        let caller = &mut self.callers[id];
        caller.calls += 1;
        caller.pause = None;
        caller.heard.get_or_insert(stamp.contender);
        if !repeated {
            caller.chain = if at_once { caller.chain + 1 } else { 0 };
            if !at_once {
                caller.asked = stamp.at;
            }
            caller.open_try = Some(Try {
                uuid: request.new,
                sent: stamp,
                prev: request.prev,
                answered: false,
            });
        }
    }

    /// W2, W5: neither too early nor too late.
    fn check_pause(&mut self, id: CallerId, pause: &Pause, repeated: bool) {
        let caller = &self.callers[id];
        let gap = self.clients[caller.client]
            .machine
            .contender()
            .saturating_sub(pause.since.contender);
        let woken = pause.woken && !repeated;
        if gap + Duration::from_micros(1) < pause.earliest && !woken {
            let earliest = pause.earliest;
            self.complain(pause.rule, || {
                format!("{id} asks again after {gap:?}, before {earliest:?} have passed")
            });
        }
        self.check_overdue(id);
    }

    /// The next call should have come by now.
    pub(super) fn check_overdue(&mut self, id: CallerId) {
        let caller = &self.callers[id];
        let Some(pause) = caller.pause else { return };
        if caller.status != Status::Waiting
            || caller.away.is_some()
            || self.clients[caller.client].closing.is_some()
        {
            return;
        }
        let machine = &self.clients[caller.client].machine;
        let gap = machine.contender().saturating_sub(pause.since.contender);
        let passed = caller.limit.is_some_and(|limit| {
            machine.contender().saturating_sub(caller.began.contender) + SLACK >= limit
        });
        if gap > pause.latest + SLACK
            && !passed
            && self.undisturbed_since(caller.client, pause.since.at)
        {
            let latest = pause.latest;
            self.callers[id].pause = None;
            self.complain(pause.rule, || {
                format!("{id} should have asked again within {latest:?}, and {gap:?} have passed")
            });
        }
    }

    /// W1, I18: one contends at a time, in the order in which they came.
    fn check_turn(&mut self, id: CallerId) {
        let caller = &mut self.callers[id];
        if caller.once {
            caller.requeued = false;
            return;
        }
        let (client, name) = (caller.client, caller.name.clone());
        if std::mem::take(&mut caller.requeued) {
            caller.turn = Turn::NotYet;
        }
        let turn = caller.turn;
        let known = self.known(client, &name);
        let before = known.head.replace(id);
        let queue = known.queue.clone();
        if before == Some(id) && turn == Turn::Has {
            return;
        }
        if let Some(before) = before
            && self.callers[before].turn == Turn::Has
        {
            self.callers[before].turn = Turn::Had;
        }
        self.callers[id].turn = Turn::Has;
        if turn == Turn::Had {
            self.complain("W1", || format!("{id} contends beside {before:?}"));
        }
        let overtaken = queue
            .iter()
            .take_while(|other| **other != id)
            .find(|other| {
                let other = &self.callers[**other];
                other.status == Status::Waiting
                    && other.turn == Turn::NotYet
                    && !other.requeued
                    && other.away.is_none()
                    && !self.time_is_up(other)
            });
        if let Some(other) = overtaken {
            let other = *other;
            self.complain("I18", || {
                format!("{id} overtakes {other}, which came first")
            });
        }
    }

    pub(super) fn time_is_up(&self, caller: &Caller) -> bool {
        let now = self.clients[caller.client].machine.contender();
        caller
            .limit
            .is_some_and(|limit| now.saturating_sub(caller.began.contender) >= limit)
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
        let caller = &self.callers[id];
        let (client, name) = (caller.client, caller.name.clone());
        if let Some(open) = &caller.open_try
            && !open.answered
            && let Some(pause) = &caller.pause
        {
            let age = pause.since.holder.saturating_sub(open.sent.holder);
            let longest = caller.settings.failure_pause() * 3 / 2;
            let waited = pause.since.contender.saturating_sub(caller.began.contender);
            let in_time = caller.limit.is_none_or(|limit| waited + longest < limit);
            if age + longest < caller.settings.duration / 3 && in_time {
                self.complain("W5", || {
                    format!("{id} gives a try up after {age:?}, without an answer")
                });
            }
        }
        if let Some((uuid, keep)) = self.callers[id]
            .open_try
            .as_ref()
            .map(|open| (open.uuid, self.callers[id].settings.duration))
        {
            self.is_over_now(client, &name, uuid, keep);
        }
        if self.drawn.insert(request.new, id).is_some() {
            self.complain("W5", || format!("{id} uses {} again", request.new));
        }
    }

    fn check_claim(&mut self, id: CallerId, request: &Acquire) {
        let client = self.callers[id].client;
        let name = self.callers[id].name.clone();
        let now = self.clients[client].machine.contender();
        let live = request.prev.is_some_and(|prev| {
            self.terms.get(&prev.uuid).is_some_and(|term| {
                term.client == client && term.release_began.is_none() && term.refused.is_none()
            })
        });
        let known = self.known(client, &name);
        let observed = known.observation.as_ref().map(|seen| {
            let unchanged = now.saturating_sub(seen.first);
            let fresh = now.saturating_sub(seen.last) <= 10 * seen.duration;
            (seen.version, unchanged >= seen.duration, fresh)
        });
        let over = request
            .prev
            .is_some_and(|prev| known.over.iter().any(|(uuid, _)| *uuid == prev.uuid));
        if observed.is_some_and(|(_, _, fresh)| !fresh) {
            // Forgotten; whatever is seen from now on counts anew.
            known.observation = None;
        }
        match (request.prev, observed) {
            (Some(_), _) if over && !live => {}
            (Some(prev), Some((version, true, true))) if prev == version => {}
            (Some(prev), _) => self.complain("A6", || {
                format!("{id} claims {prev:?} and has no ground (observed: {observed:?})")
            }),
            (None, Some((version, true, true))) => self.complain("I15", || {
                format!("{id} does not claim {version:?}, which it observed for long enough")
            }),
            (None, _) => {}
        }
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

    pub(super) fn acquire_answered(
        &mut self,
        client: usize,
        request: &Acquire,
        outcome: &AcquireOutcome,
    ) {
        let stamp = self.stamp(client);
        let Some(id) = self.caller_of(request) else {
            return;
        };
        let caller = &mut self.callers[id];
        let name = caller.name.clone();
        if !matches!(outcome, AcquireOutcome::Acquired(_)) {
            caller.heard = Some(stamp.contender);
        }
        let Some(open) = &mut caller.open_try else {
            return;
        };
        open.answered = true;
        let sent = open.sent;
        self.doubtful.remove(&request.new);
        let duration = caller.settings.duration;
        match outcome {
            AcquireOutcome::Acquired(token) => {
                let late = stamp.holder >= sent.holder + caller.settings.belief();
                let known = self.known(client, &name);
                known.highest = known.highest.max(token.get());
                if late {
                    self.figures.late_grants += 1;
                    self.is_over_now(client, &name, request.new, duration);
                    self.next_at_once(id, "V9");
                } else {
                    known.observation = None;
                    self.granted(id, request, *token, sent);
                }
            }
            AcquireOutcome::Spent => {
                self.figures.spent += 1;
                self.is_over_now(client, &name, request.new, duration);
                self.next_at_once(id, "A3");
            }
            AcquireOutcome::Held(record) => {
                self.is_over_now(client, &name, request.new, duration);
                self.saw(client, &name, record);
                if request.prev != Some(record.version()) && self.is_own_ghost(id, record) {
                    self.figures.own_ghosts += 1;
                    self.next_at_once(id, "G4");
                } else if !self.callers[id].once && !self.may_be_own_ghost(id, record) {
                    self.next_when_due(id, record);
                }
            }
        }
    }

    pub(super) fn acquire_failed(&mut self, client: usize, request: &Acquire, kind: ErrorKind) {
        let since = self.stamp(client);
        let Some(id) = self.caller_of(request) else {
            return;
        };
        let (woken, _) = self.rung(id);
        let caller = &mut self.callers[id];
        let mean = caller.settings.failure_pause();
        caller.fatal |= kind == ErrorKind::Fatal;
        if kind == ErrorKind::Unknown {
            self.doubtful.insert(request.new);
        }
        caller.pause = (kind != ErrorKind::Fatal).then_some(Pause {
            since,
            earliest: mean / 2,
            latest: mean * 3 / 2,
            rule: "W5",
            wakes: true,
            woken,
        });
    }

    fn caller_of(&self, request: &Acquire) -> Option<CallerId> {
        let id = request.owner.parse::<CallerId>().ok()?;
        let asked = self.callers.get(id)?.open_try.as_ref()?;
        (asked.uuid == request.new).then_some(id)
    }

    /// The next try comes without a pause.
    fn next_at_once(&mut self, id: CallerId, rule: &'static str) {
        let since = self.stamp(self.callers[id].client);
        let up = self.time_is_up(&self.callers[id]);
        let caller = &mut self.callers[id];
        caller.pause = (caller.chain < 4 && !up).then_some(Pause {
            since,
            earliest: Duration::ZERO,
            latest: Duration::ZERO,
            rule,
            wakes: false,
            woken: false,
        });
        if caller.pause.is_none() {
            caller.chain = 0;
        }
    }

    /// W2: the first of the expiry, the end of the observation and the poll.
    fn next_when_due(&mut self, id: CallerId, record: &Record) {
        let caller = &self.callers[id];
        let (client, name) = (caller.client, caller.name.clone());
        let poll = caller.settings.poll(self.clients[client].watching);
        let jitter = caller.settings.expiry_jitter();
        let since = self.stamp(client);
        let observed = self.known(client, &name).observation.as_ref().map(|seen| {
            let unchanged = since.contender.saturating_sub(seen.first);
            seen.duration.saturating_sub(unchanged)
        });
        let remaining = record.remaining.map(|left| left.min(record.duration));
        let ends = [remaining, observed].into_iter().flatten();
        let least = poll.min(Duration::from_millis(10));
        let earliest = ends.clone().fold(poll, Duration::min).max(least);
        let latest = ends
            .map(|left| left + jitter)
            .fold(poll * 6 / 5, Duration::min)
            .max(least);
        let (woken, rung) = self.rung(id);
        self.callers[id].pause = Some(Pause {
            since,
            earliest,
            latest: if rung { Duration::ZERO } else { latest },
            rule: if rung { "W3" } else { "W2" },
            wakes: true,
            woken,
        });
    }

    /// The lock may be free: who contends for it asks at once.
    pub(super) fn wake(&mut self, client: usize, name: Option<&str>, rule: &'static str) {
        let now = self.stamp(client);
        let mut heads: Vec<CallerId> = Vec::new();
        for (known_name, known) in &mut self.clients[client].names {
            if name.is_none_or(|name| name == known_name) {
                known.rung = Some(now.at);
                heads.extend(known.head);
            }
        }
        for id in heads {
            let caller = &mut self.callers[id];
            if caller.turn != Turn::Has || caller.once {
                continue;
            }
            match &mut caller.pause {
                Some(pause) if pause.rule == "W5" || !pause.wakes => pause.woken = true,
                Some(pause) => {
                    if !pause.woken {
                        pause.latest = now
                            .contender
                            .saturating_sub(pause.since.contender)
                            .min(pause.latest);
                        pause.rule = rule;
                    }
                    pause.woken = true;
                }
                None => {}
            }
        }
    }

    /// Whether a caller may have been woken since it began to ask, and whether it must have been.
    fn rung(&mut self, id: CallerId) -> (bool, bool) {
        let caller = &self.callers[id];
        let (client, name, asked) = (caller.client, caller.name.clone(), caller.asked);
        let rung = self.known(client, &name).rung;
        (
            rung.is_some_and(|rung| rung >= asked),
            rung.is_some_and(|rung| rung > asked),
        )
    }

    /// A reply or a read showed this record.
    pub(super) fn saw(&mut self, client: usize, name: &str, record: &Record) {
        let now = self.clients[client].machine.contender();
        let known = self.known(client, name);
        known.highest = known.highest.max(record.token.get());
        if !held(record) {
            known.observation = None;
            return;
        }
        match &mut known.observation {
            Some(seen) if seen.version == record.version() => seen.last = now,
            _ => {
                known.observation = Some(Seen {
                    version: record.version(),
                    duration: record.duration,
                    first: now,
                    last: now,
                });
            }
        }
    }

    /// G4: an identity of ours is over.
    pub(super) fn is_over_now(
        &mut self,
        client: usize,
        name: &str,
        uuid: Uuid,
        duration: Duration,
    ) {
        let until = self.clients[client].machine.contender() + 2 * duration;
        let known = self.known(client, name);
        if known.over.iter().any(|(known, _)| *known == uuid) {
            return;
        }
        known.over.push_front((uuid, until));
        known.over.truncate(2 * OVER);
    }

    /// Whether the client must know that nobody acts on this record.
    fn is_own_ghost(&mut self, id: CallerId, record: &Record) -> bool {
        let caller = &self.callers[id];
        let (client, name) = (caller.client, caller.name.clone());
        let now = self.clients[client].machine.contender();
        let known = self.known(client, &name);
        let over = known.over.iter().take(OVER);
        over.clone()
            .any(|(uuid, until)| *uuid == record.uuid && now + SLACK < *until)
    }

    /// Whether the client may still know that: it remembers more than is demanded here.
    fn may_be_own_ghost(&mut self, id: CallerId, record: &Record) -> bool {
        let (client, name) = (self.callers[id].client, self.callers[id].name.clone());
        let known = self.known(client, &name);
        known.over.iter().any(|(uuid, _)| *uuid == record.uuid)
    }

    fn check_end(&mut self, id: CallerId, how: &Finished) {
        let caller = &self.callers[id];
        let client = caller.client;
        let now = self.stamp(client);
        let waited = now.contender.saturating_sub(caller.began.contender);
        let heard = caller.heard.unwrap_or(caller.began.contender);
        let silent = now.contender.saturating_sub(heard);
        let (limit, give_up) = (caller.limit, caller.settings.give_up_after);
        let (once, fatal) = (caller.once, caller.fatal);
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
            Finished::Failed(true) if !fatal => {
                self.complain("W5", || {
                    format!("{id} is told of a fatal answer that never came")
                });
            }
            Finished::Failed(false) if !once && silent < give_up => {
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
        let caller = &mut self.callers[id];
        caller.status = status;
        let (client, name) = (caller.client, caller.name.clone());
        self.known(client, &name).queue.retain(|other| *other != id);
    }
}
