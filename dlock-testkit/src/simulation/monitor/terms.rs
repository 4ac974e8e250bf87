//! Leases: until when each is valid, how it is renewed, how it ends (V1 to V9, I1, I2, I6 to I9).

use std::{collections::BTreeMap, time::Duration};

use dlock_core::{
    Acquire, AcquireOutcome, Ended, ErrorKind, FencingToken, Loss, LossCause, Release,
    ReleaseOutcome, Renew, RenewOutcome,
};
use uuid::Uuid;

use super::{
    Monitor, SLACK, State,
    model::{Attempt, CallerId, Stamp, Term, Watched},
};

impl Monitor {
    /// A caller has the lease in its hands. `uuid` as its handle says; `None` under `with`.
    pub(in super::super) fn delivered(
        &self,
        id: CallerId,
        token: FencingToken,
        watch: Option<Watched>,
    ) -> Option<Uuid> {
        let mut state = self.state();
        state.note(|| format!("{id} has {token}"));
        state.figures.leases += 1;
        let now = state.now();
        let found = state
            .terms
            .iter_mut()
            .find(|(_, term)| term.caller == id && term.token == token && term.delivered.is_none());
        let Some((uuid, term)) = found else {
            state.complain("I11", || {
                format!("{id} got a lease with {token}, never granted to it")
            });
            return None;
        };
        let uuid = *uuid;
        term.delivered = Some(now);
        // `with` watches by itself, and renews from the start.
        if watch.is_none() {
            let client = term.client;
            let stamp = state.stamp(client);
            if let Some(term) = state.terms.get_mut(&uuid) {
                term.guarded = Some(stamp);
            }
        } else {
            term.watch = watch;
        }
        let holder = state.holder(uuid);
        let term = &state.terms[&uuid];
        if !term.valid(holder) {
            let over = term.deadline;
            state.complain("V9", || format!("{id} got a lease that ended at {over:?}"));
        }
        Some(uuid)
    }

    /// The lease renews itself from now on.
    pub(in super::super) fn guarded(&self, uuid: Uuid) {
        let mut state = self.state();
        let Some(client) = state.terms.get(&uuid).map(|term| term.client) else {
            return;
        };
        let stamp = state.stamp(client);
        if let Some(term) = state.terms.get_mut(&uuid) {
            term.guarded = Some(stamp);
        }
    }

    /// Somebody waits for the end of the lease.
    pub(in super::super) fn listens(&self, uuid: Uuid) {
        if let Some(term) = self.state().terms.get_mut(&uuid) {
            term.listened = true;
        }
    }

    /// Who waited for the end of a lease without a guard was told.
    pub(in super::super) fn expired(&self, uuid: Uuid) {
        let mut state = self.state();
        let holder = state.holder(uuid);
        let Some(term) = state.terms.get_mut(&uuid) else {
            return;
        };
        term.told = true;
        if term.valid(holder) {
            let deadline = term.deadline;
            state.complain("V5", || {
                format!("{uuid} is said to have ended, and ends at {deadline:?}")
            });
        }
    }

    /// A renewal by hand begins.
    pub(in super::super) fn renews_by_hand(&self, uuid: Uuid) {
        if let Some(term) = self.state().terms.get_mut(&uuid) {
            term.by_hand += 1;
        }
    }

    /// A renewal by hand has ended: whether the lease was extended, if that is said.
    pub(in super::super) fn renewed_by_hand(&self, uuid: Uuid, lost: Option<&Loss>) {
        let mut state = self.state();
        let holder = state.holder(uuid);
        let Some(term) = state.terms.get(&uuid) else {
            return;
        };
        let valid = term.valid(holder);
        if valid == lost.is_some() {
            state.complain("V5", || {
                format!("a renewal of {uuid} ends with {lost:?}, and the lease is valid: {valid}")
            });
        }
    }

    /// The handle is about to be released or dropped (V7).
    pub(in super::super) fn ends(&self, uuid: Uuid) {
        let mut state = self.state();
        state.note(|| format!("{uuid} ends"));
        state.release_begins(uuid);
    }

    /// `release` has answered.
    pub(in super::super) fn released(&self, uuid: Uuid, answer: &Result<Ended, ErrorKind>) {
        let mut state = self.state();
        state.note(|| format!("{uuid} released: {answer:?}"));
        let Some(term) = state.terms.get(&uuid) else {
            return;
        };
        let (told, fatal) = (term.release_answer, term.release_fatal);
        let early = !term.let_go_by(state.clients[term.client].machine.holder());
        let right = match answer {
            Ok(Ended::Released) => told == Some(true),
            Ok(Ended::NotHeld(_)) => told == Some(false),
            Ok(Ended::Unconfirmed) => told.is_none() && !fatal && !early,
            Err(kind) => fatal && *kind == ErrorKind::Fatal,
        };
        if !right {
            state.complain("V7", || {
                format!(
                    "the release of {uuid} ends with {answer:?}; the store said {told:?}, fatal: \
                     {fatal}, before it had to let go: {early}"
                )
            });
        }
    }

    /// A watcher was told of the end of the lease.
    pub(in super::super) fn told(&self, uuid: Uuid, loss: &Loss) {
        let mut state = self.state();
        state.note(|| format!("{uuid} lost: {:?}", loss.cause));
        state.figures.losses += u64::from(!matches!(loss.cause, LossCause::Released));
        let holder = state.holder(uuid);
        let Some(term) = state.terms.get_mut(&uuid) else {
            return;
        };
        term.told = true;
        let stop = term.settings.max_hold.map(|most| term.sent + most);
        let right = match &loss.cause {
            LossCause::Released => term.release_began.is_some(),
            LossCause::Refused { .. } => term.refused.is_some(),
            LossCause::HeldTooLong => {
                holder >= term.deadline && stop.is_some_and(|stop| stop <= holder)
            }
            _ => holder >= term.deadline,
        };
        if !right || loss.token != term.token {
            let (deadline, cause) = (term.deadline, &loss.cause);
            state.complain("V5", || {
                format!("{uuid} is said to have ended by {cause:?}; its deadline is {deadline:?}")
            });
        }
    }

    /// The work under `with` starts or is polled, or is gone. Whether the lease is valid.
    pub(in super::super) fn works(&self, uuid: Uuid, alive: bool) -> bool {
        let mut state = self.state();
        let holder = state.holder(uuid);
        let Some(client) = state.terms.get(&uuid).map(|term| term.client) else {
            return false;
        };
        let now = state.stamp(client);
        let Some(term) = state.terms.get_mut(&uuid) else {
            return false;
        };
        term.work_alive = alive;
        if !alive {
            term.work_gone.get_or_insert(now);
        }
        let valid = term.valid(holder);
        if !alive {
            // What follows in the same poll is the release.
            state.release_begins(uuid);
        }
        valid
    }

    /// `with` has returned. `finished`: whether the work had ended, and in time. `answer`: `None` if
    /// the work's panic went on.
    pub(in super::super) fn with_ended(
        &self,
        uuid: Uuid,
        finished: Option<bool>,
        answer: Option<&Result<(), Loss>>,
    ) {
        let mut state = self.state();
        let Some(term) = state.terms.get(&uuid) else {
            return;
        };
        let client = term.client;
        let right = match (answer, finished) {
            (Some(Ok(())), Some(in_time)) => in_time,
            (Some(Err(loss)), Some(in_time)) => !in_time && loss.work_finished,
            (Some(Err(loss)), None) => !loss.work_finished,
            (Some(Ok(())), None) => false,
            (None, _) => true,
        };
        let limit = term.settings.duration / 6;
        let settled = term.release_answer.is_some()
            || term.release_fatal
            || term.refused.is_some()
            || term.let_go_by(state.clients[client].machine.holder());
        let gone = term.work_gone;
        if !right {
            state.complain("V9", || {
                format!("`with` says {answer:?}, and its work ended in time: {finished:?}")
            });
        }
        let now = state.stamp(client);
        if let Some(gone) = gone {
            let took = now.contender.saturating_sub(gone.contender);
            if took > limit + SLACK && state.undisturbed_since(client, gone.at) {
                state.complain("V7", || format!("`with` kept its result back for {took:?}"));
            }
            if !settled && took + SLACK < limit {
                state.complain("V7", || format!("`with` of {uuid} ends before its release"));
            }
        }
        state.release_begins(uuid);
    }
}

impl State {
    pub(super) fn holder(&self, uuid: Uuid) -> Duration {
        self.terms.get(&uuid).map_or(Duration::ZERO, |term| {
            self.clients[term.client].machine.holder()
        })
    }

    /// The store grants: I2, I3.
    pub(super) fn acquire_applied(
        &mut self,
        name: &str,
        request: &Acquire,
        outcome: &AcquireOutcome,
    ) {
        let AcquireOutcome::Acquired(token) = outcome else {
            return;
        };
        let before = self
            .records
            .get(name)
            .and_then(|states| states.last())
            .cloned()
            .flatten();
        let ours = before
            .as_ref()
            .is_some_and(|record| record.uuid == request.new);
        if ours && before.as_ref().is_some_and(|record| record.token == *token) {
            return;
        }
        self.figures.grants += 1;
        self.figures.takeovers += u64::from(before.is_some_and(|record| !record.released));
        let last = self.last_tokens.insert(name.to_owned(), token.get());
        if last.is_some_and(|last| last >= token.get()) && !self.broken.tokens {
            self.complain("I3", || format!("{name}: {token} follows {last:?}"));
        }
        let holder = self
            .terms
            .iter()
            .find(|(uuid, term)| {
                **uuid != request.new
                    && term.name == name
                    && term.valid(self.clients[term.client].machine.holder())
            })
            .map(|(uuid, _)| *uuid);
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
    pub(super) fn granted(
        &mut self,
        id: CallerId,
        request: &Acquire,
        token: FencingToken,
        sent: Stamp,
    ) {
        let caller = &self.callers[id];
        let (client, name, settings) =
            (caller.client, caller.name.clone(), caller.settings.clone());
        let rival = self
            .terms
            .iter()
            .find(|(_, term)| {
                term.name == name && term.valid(self.clients[term.client].machine.holder())
            })
            .map(|(uuid, _)| *uuid);
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
            token,
            granted: self.stamp(client),
            sent: sent.holder,
            deadline: sent.holder + settings.belief(),
            settings,
            refused: None,
            credited: sent.holder,
            fatal: false,
            asked: false,
            attempts: BTreeMap::new(),
            by_hand: 0,
            delivered: None,
            guarded: None,
            failing: None,
            watch: None,
            listened: false,
            told: false,
            release_began: None,
            release_called: false,
            release_answer: None,
            release_fatal: false,
            work_alive: false,
            work_gone: None,
        };
        self.terms.insert(request.new, term);
    }

    pub(super) fn renew_called(&mut self, client: usize, request: &Renew) {
        let (uuid, n) = (request.uuid, request.n);
        let now = self.stamp(client);
        let Some(term) = self.terms.get_mut(&uuid) else {
            return self.complain("V7", || format!("{uuid} is renewed, and was never granted"));
        };
        let by_guard = term.by_hand == 0;
        term.by_hand = term.by_hand.saturating_sub(1);
        let last = term.attempts.keys().next_back().copied();
        let newest = term.attempts.values().map(|attempt| attempt.sent).max();
        let attempt = Attempt {
            sent: now.holder,
            by_guard,
            open: true,
        };
        term.attempts.insert(n, attempt);
        let over = !term.valid(now.holder);
        let failing = if by_guard { term.failing.take() } else { None };
        let due = term.credited + term.settings.renew_every;
        let least = term.settings.failure_pause() / 2;
        let stop = term.settings.max_hold.map(|most| term.sent + most);
        let stopped = by_guard && stop.is_some_and(|stop| now.holder > stop);
        let guarded = term.guarded.is_some();
        if last.is_some_and(|last| n <= last) || newest.is_some_and(|newest| newest > now.holder) {
            self.complain("V4", || format!("{uuid}: attempt {n} follows {last:?}"));
        }
        if over {
            self.complain("V7", || format!("{uuid} is renewed, and has ended"));
        }
        if stopped {
            self.complain("max_hold", || {
                format!("{uuid} is renewed beyond its longest hold")
            });
        }
        if !by_guard {
            return;
        }
        if !guarded {
            self.complain("V6", || {
                format!("{uuid} is renewed, and nobody asked for it")
            });
        }
        match failing {
            Some(failed) => {
                let gap = now.contender.saturating_sub(failed.contender);
                if gap < least {
                    self.complain("V6", || {
                        format!("{uuid} is renewed {gap:?} after a failure")
                    });
                }
            }
            None if now.holder < due => {
                let early = due - now.holder;
                self.complain("V6", || format!("{uuid} is renewed {early:?} too early"));
            }
            None => {}
        }
    }

    pub(super) fn renew_answered(
        &mut self,
        client: usize,
        request: &Renew,
        outcome: &RenewOutcome,
    ) {
        let now = self.stamp(client);
        let Some(term) = self.terms.get_mut(&request.uuid) else {
            return;
        };
        let Some(attempt) = term.attempts.get_mut(&request.n) else {
            return;
        };
        attempt.open = false;
        let sent = attempt.sent;
        match outcome {
            RenewOutcome::Renewed { asked } => {
                term.asked |= asked;
                if term.valid(now.holder) {
                    term.deadline = term.deadline.max(sent + term.settings.belief());
                    if sent >= term.credited {
                        term.credited = sent;
                        term.fatal = false;
                    }
                    self.figures.renewals += 1;
                } else {
                    self.figures.late_renewals += 1;
                }
            }
            RenewOutcome::Lost(record) => {
                if term.valid(now.holder) {
                    term.refused = Some(now);
                    self.figures.refused += 1;
                }
                let name = term.name.clone();
                if let Some(record) = record {
                    self.saw(client, &name, record);
                }
            }
        }
    }

    pub(super) fn renew_failed(&mut self, client: usize, request: &Renew, kind: ErrorKind) {
        let now = self.stamp(client);
        let Some(term) = self.terms.get_mut(&request.uuid) else {
            return;
        };
        let Some(attempt) = term.attempts.get_mut(&request.n) else {
            return;
        };
        attempt.open = false;
        term.fatal |= kind == ErrorKind::Fatal;
        if attempt.by_guard {
            term.failing = Some(now);
        }
    }

    /// From here on the lease is invalid (V7).
    pub(super) fn release_begins(&mut self, uuid: Uuid) {
        let Some(term) = self.terms.get(&uuid) else {
            return;
        };
        if term.release_began.is_some() {
            return;
        }
        let (client, name, duration) = (term.client, term.name.clone(), term.settings.duration);
        let now = self.stamp(client);
        self.is_over_now(client, &name, uuid, duration);
        if let Some(term) = self.terms.get_mut(&uuid) {
            term.release_began = Some(now);
            term.watch = None;
        }
    }

    pub(super) fn release_called(&mut self, client: usize, request: &Release) {
        let uuid = request.uuid;
        if let Some((id, _)) = self.callers.iter().enumerate().find(|(_, caller)| {
            caller.client == client
                && caller
                    .open_try
                    .as_ref()
                    .is_some_and(|open| open.uuid == uuid)
        }) {
            let (name, keep) = (
                self.callers[id].name.clone(),
                self.callers[id].settings.duration,
            );
            if !self.terms.contains_key(&uuid) {
                self.is_over_now(client, &name, uuid, keep);
            }
        }
        self.given_back.insert(uuid);
        let began = self
            .terms
            .get(&uuid)
            .is_some_and(|term| term.release_began.is_some());
        self.release_begins(uuid);
        let Some(term) = self.terms.get_mut(&uuid) else {
            return;
        };
        let (alive, fatal, valid_in_hand) = (
            term.work_alive,
            term.release_fatal,
            term.delivered.is_some() && term.watch.is_some() && !began,
        );
        term.release_called = true;
        let (id, delivered) = (term.caller, term.delivered.is_some());
        if !delivered {
            self.callers[id].requeued = true;
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
        if let Some(term) = self.terms.get_mut(&request.uuid) {
            term.release_answer = Some(matches!(outcome, ReleaseOutcome::Released));
        }
        self.wake(client, Some(name), "W7");
    }

    pub(super) fn release_failed(&mut self, client: usize, request: &Release, kind: ErrorKind) {
        let now = self.stamp(client);
        if let Some(term) = self.terms.get_mut(&request.uuid) {
            term.release_fatal |= kind == ErrorKind::Fatal;
            term.failing = Some(now);
        }
    }
}
