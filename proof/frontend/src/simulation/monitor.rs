//! A second opinion on every call and every answer, while a run goes on: what the protocol demands of
//! a frontend at the boundary to its provider, and of the handles in its users' hands. It computes
//! each lease's deadline, each client's observations and each waiter's next try by itself, from what
//! passed the boundary, and compares.
//!
//! `asking` follows the callers that ask for a lock, `turns` and `pauses` when each may call, `tries` and
//! `answers` what it sends and gets, `looks` what it reads meanwhile. `terms` follows leases, `renewals` and
//! `releases` their calls, `succession` hand-overs, `following` terms that go on, `lingering` those that wait for
//! a caller, `closing` closed names, `shares` which clients keep
//! others waiting, `reservations` what those waiters do about it, `outages` what is late because the store
//! answers nobody, `handles` what the owners of leases see. `sweep` finds what should have happened and did
//! not.

mod answers;
mod asking;
mod closing;
mod following;
mod handles;
mod lingering;
mod looks;
mod model;
mod outages;
mod pauses;
mod releases;
mod renewals;
mod reservations;
mod shares;
mod succession;
mod sweep;
mod terms;
mod tries;
mod turns;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use dlock_core::{ProviderError, Record, testing::Machine};
use tokio::time::Instant;
use uuid::Uuid;

pub(super) use self::model::{Anchors, CallId, CallerId, Finished, LeaseId, Probe};
use self::{
    closing::Closed,
    model::{Call, Caller, Claim, ClientState, Known, Stamp, Term},
    reservations::reservation_of,
    shares::Share,
};
use super::{plan::Broken, report::Figures};
use dlock_testkit::faults::{Op, Outcome, Request};

/// Timers tick in milliseconds; nothing else may be late in a run.
const SLACK: Duration = Duration::from_millis(6);

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The invariant (`I6`) or rule (`W2`) that is broken.
    pub rule: String,
    /// When, since the start of the run.
    pub at: Duration,
    /// What was seen.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, at, what } = self;
        write!(f, "{rule} at {at:?}: {what}")
    }
}

/// Watches one run.
#[derive(Clone)]
pub(super) struct Monitor(Arc<Mutex<State>>);

pub(super) struct State {
    start: Instant,
    broken: Broken,
    /// Waiters look before they ask.
    cheap_reads: bool,
    violations: Vec<Violation>,
    pub(super) figures: Figures,
    clients: Vec<ClientState>,
    callers: Vec<Caller>,
    calls: Vec<Call>,
    /// The calls that have no answer yet.
    open: Vec<CallId>,
    terms: BTreeMap<LeaseId, Term>,
    /// The newest lease of each term.
    newest: BTreeMap<Uuid, LeaseId>,
    /// What each write left, by name: for stale reads.
    records: BTreeMap<String, Vec<Option<Record>>>,
    last_tokens: BTreeMap<String, u64>,
    /// Which client has which name for how long, and which waits for it (W8).
    shares: BTreeMap<String, Share>,
    /// The reads of clients that leave a lock to others.
    reads_away: BTreeSet<CallId>,
    /// Every identity that was drawn, and by whom.
    drawn: BTreeMap<Uuid, CallerId>,
    /// The identities in doubt, which no answer has settled, and those whose release was sent.
    in_doubt: BTreeSet<Uuid>,
    given_back: BTreeSet<Uuid>,
    /// H5: terms that were handed over: how many in a row, and since when.
    passed_on: BTreeMap<Uuid, (usize, Duration)>,
    /// H1: the tries that were granted what they claimed, which the store held until then.
    inherited: BTreeSet<Uuid>,
    /// Names that are closed, and the identities of all closings that were sent (B4).
    closed: BTreeMap<String, Closed>,
    closings: BTreeSet<Uuid>,
    /// Claims that need a ground in the instant in which they were made.
    claims: Vec<Claim>,
    /// Notes for people, if somebody wants them.
    notes: Option<Vec<String>>,
    finished: bool,
}

impl Monitor {
    pub(super) fn new(broken: Broken, cheap_reads: bool, explain: bool) -> Self {
        Self(Arc::new(Mutex::new(State {
            start: Instant::now(),
            broken,
            cheap_reads,
            violations: Vec::new(),
            figures: Figures::default(),
            clients: Vec::new(),
            callers: Vec::new(),
            calls: Vec::new(),
            open: Vec::new(),
            terms: BTreeMap::new(),
            newest: BTreeMap::new(),
            records: BTreeMap::new(),
            last_tokens: BTreeMap::new(),
            shares: BTreeMap::new(),
            reads_away: BTreeSet::new(),
            drawn: BTreeMap::new(),
            in_doubt: BTreeSet::new(),
            given_back: BTreeSet::new(),
            passed_on: BTreeMap::new(),
            inherited: BTreeSet::new(),
            closed: BTreeMap::new(),
            closings: BTreeSet::new(),
            claims: Vec::new(),
            notes: explain.then(Vec::new),
            finished: false,
        })))
    }

    /// A client, and how long a message of it takes at most.
    pub(super) fn client(&self, machine: Machine, latency: Duration) {
        let client = ClientState::new(machine, latency);
        self.state().clients.push(client);
    }

    /// A call leaves a client.
    pub(super) fn called(&self, client: usize, request: &Request) -> CallId {
        let mut state = self.state();
        let id = state.calls.len();
        state.figures.calls += 1;
        state.note(|| format!("c{client} call {id} {request:?}"));
        let stamp = state.stamp(client);
        state.outage_called(client, request);
        let mut looker = None;
        match (reservation_of(request), request) {
            (Some(lock), _) => looker = state.reservation_called(client, request, lock),
            (None, Request::Acquire(request)) => state.acquire_called(client, request),
            (None, Request::Renew(request)) => state.renew_called(client, request),
            (None, Request::Release(request)) => state.release_called(client, request),
            (None, Request::Read(name)) => looker = state.read_called(client, name.as_str()),
            _ => {}
        }
        if let Some(closed) = state.clients[client].closed_down
            && matches!(request, Request::Acquire(_))
        {
            state.complain("G3", || {
                format!("c{client} sent {request:?} after it was closed down at {closed:?}")
            });
        }
        state.calls.push(Call {
            client,
            request: request.clone(),
            stamp,
            looker,
        });
        state.open.push(id);
        id
    }

    /// Its answer reached the client, and the client still waited for it.
    pub(super) fn answered(&self, id: CallId, answer: &Result<Outcome, ProviderError>) {
        let mut state = self.state();
        state.note(|| format!("answer {id} {answer:?}"));
        let call = state.close_call(id, answer.is_ok(), answer.is_err());
        if let Err(error) = answer
            && error.kind() == dlock_core::ErrorKind::Unknown
        {
            state.figures.unknown += 1;
        }
        if let Some(lock) = reservation_of(&call.request) {
            if let Err(error) = answer {
                state.reservation_failed(&call, error.kind(), lock);
            }
            return state.reservation_ended(&call, answer.as_ref().ok(), lock);
        }
        match (&call.request, answer) {
            (Request::Acquire(request), Ok(Outcome::Acquire(outcome))) => {
                state.acquire_answered(call.client, request, outcome);
            }
            (Request::Acquire(request), Err(error)) => {
                state.acquire_failed(request, error.kind());
            }
            (Request::Renew(request), Ok(Outcome::Renew(outcome))) => {
                state.renew_answered(call.client, request, outcome);
            }
            (Request::Renew(request), Err(error)) => {
                state.renew_failed(call.client, request, error.kind());
            }
            (Request::Release(request), Ok(Outcome::Release(outcome))) => {
                state.release_answered(call.client, request, outcome);
            }
            (Request::Release(request), Err(error)) => {
                state.release_failed(call.client, request, error.kind());
            }
            (Request::Read(name), Ok(Outcome::Read(record))) => {
                if let Some(record) = record {
                    state.saw(call.client, name.as_str(), record);
                }
                match call.looker {
                    Some(id) => state.look_answered(id, record.as_ref()),
                    None => state.read_away_answered(id),
                }
            }
            (Request::Read(_), Err(error)) => match call.looker {
                Some(id) => state.ask_failed(id, error.kind()),
                None => state.read_away_failed(id, error.kind()),
            },
            _ => {}
        }
    }

    /// The client stopped waiting for an answer.
    pub(super) fn dropped(&self, id: CallId) {
        let mut state = self.state();
        if state.finished {
            return;
        }
        state.note(|| format!("drop {id}"));
        let call = state.close_call(id, false, false);
        state.figures.unknown += 1;
        if let Some(lock) = reservation_of(&call.request) {
            return state.reservation_ended(&call, None, lock);
        }
        let unknown = dlock_core::ErrorKind::Unknown;
        match &call.request {
            Request::Acquire(request) => state.acquire_failed(request, unknown),
            Request::Renew(request) => state.renew_failed(call.client, request, unknown),
            Request::Release(request) => state.release_failed(call.client, request, unknown),
            Request::Read(_) => {
                if let Some(id) = call.looker {
                    state.ask_failed(id, unknown);
                }
            }
            _ => {}
        }
    }

    /// The store has answered a request: what it wrote, in the order in which it wrote.
    pub(super) fn applied(&self, request: &Request, answer: &Outcome, now: Option<Record>) {
        let mut state = self.state();
        state.note(|| format!("store {request:?} -> {answer:?}"));
        let name = match request {
            Request::Acquire(request) => &request.name,
            Request::Renew(request) => &request.name,
            Request::Release(request) => &request.name,
            Request::Revoke(request) => &request.name,
            Request::Ask(request) => &request.name,
            _ => return,
        };
        let name = name.as_str().to_owned();
        match (request, answer) {
            _ if reservation_of(request).is_some() => {}
            (Request::Acquire(request), Outcome::Acquire(outcome)) => {
                state.acquire_applied(&name, request, outcome);
            }
            (Request::Release(request), Outcome::Release(outcome)) => {
                state.closing_applied(request, outcome);
            }
            _ => {}
        }
        let states = state.records.entry(name).or_default();
        if states.last() != Some(&now) {
            states.push(now);
        }
    }

    /// What the store held so many writes ago.
    pub(super) fn stale(&self, name: &str, writes: usize) -> Option<Record> {
        let state = self.state();
        let states = state.records.get(name)?;
        let index = states.len().checked_sub(1 + writes.min(states.len() - 1))?;
        states[index].clone()
    }

    /// The machine stood still until now, or begins to.
    pub(super) fn disturbed(&self, client: usize, standing: bool) {
        let mut state = self.state();
        let now = state.now();
        state.note(|| format!("c{client} standing: {standing}"));
        state.clients[client].disturbed = now;
        // The call that is first in line for a turn goes on only now.
        state.clients[client].outage.asked = state.stamp(client).contender;
        let holder = state.clients[client].machine.holder();
        state.clients[client]
            .anchors
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((holder, now));
        state.clients[client].standing = standing;
    }

    /// Where a client's clock stood at which time: whenever it began to run differently.
    pub(super) fn anchors(&self, client: usize) -> Anchors {
        Arc::clone(&self.state().clients[client].anchors)
    }

    pub(super) fn complain(&self, rule: &'static str, what: impl FnOnce() -> String) {
        self.state().complain(rule, what);
    }

    pub(super) fn figures<T>(&self, change: impl FnOnce(&mut Figures) -> T) -> T {
        change(&mut self.state().figures)
    }

    pub(super) fn failed(&self) -> bool {
        !self.state().violations.is_empty()
    }

    /// Ends the watching; what was found.
    pub(super) fn finish(&self) -> (Vec<Violation>, Figures, Vec<String>) {
        let mut state = self.state();
        state.settle_claims(Duration::MAX);
        state.finished = true;
        (
            std::mem::take(&mut state.violations),
            std::mem::take(&mut state.figures),
            state.notes.take().unwrap_or_default(),
        )
    }

    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = state.now();
        state.settle_claims(now);
        state
    }
}

impl State {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn stamp(&self, client: usize) -> Stamp {
        let machine = &self.clients[client].machine;
        Stamp {
            at: self.now(),
            holder: machine.holder(),
            contender: machine.contender(),
        }
    }

    fn note(&mut self, what: impl FnOnce() -> String) {
        if self.notes.is_some() {
            let line = format!("{:?} {}", self.now(), what());
            self.notes.get_or_insert_default().push(line);
        }
    }

    fn complain(&mut self, rule: &'static str, what: impl FnOnce() -> String) {
        if self.finished || self.violations.len() >= 20 {
            return;
        }
        let violation = Violation {
            rule: rule.to_owned(),
            at: self.now(),
            what: what(),
        };
        self.note(|| format!("VIOLATION {violation}"));
        self.violations.push(violation);
    }

    /// The newest lease of a term.
    fn newest(&self, uuid: Uuid) -> Option<&Term> {
        self.terms.get(self.newest.get(&uuid)?)
    }

    fn newest_mut(&mut self, uuid: Uuid) -> Option<&mut Term> {
        self.terms.get_mut(self.newest.get(&uuid)?)
    }

    fn known(&mut self, client: usize, name: &str) -> &mut Known {
        let names = &mut self.clients[client].names;
        if !names.contains_key(name) {
            names.insert(name.to_owned(), Known::default());
        }
        names.entry(name.to_owned()).or_default()
    }

    /// Nothing stood still since then: what is late is late.
    fn undisturbed_since(&self, client: usize, since: Duration) -> bool {
        let client = &self.clients[client];
        !client.standing && client.disturbed <= since
    }

    fn close_call(&mut self, id: CallId, answered: bool, failed: bool) -> Call {
        self.open.retain(|open| *open != id);
        let call = self.calls[id].clone();
        self.check_life(&call);
        self.outage_heard(&call, answered, failed);
        self.call_ended(&call, answered);
        call
    }

    /// V6, W4: no call is waited for longer than D/6.
    fn check_life(&mut self, call: &Call) {
        let limit = match &call.request {
            Request::Acquire(request) => request.duration / 6,
            Request::Renew(request) => match self.newest(request.uuid) {
                Some(term) => term.settings.duration / 6,
                None => return,
            },
            Request::Release(request) => match self.newest(request.uuid) {
                Some(term) => term.settings.duration / 6,
                None => return,
            },
            Request::Read(name) if name.reservation_of().is_none() => match call.looker {
                Some(id) => self.callers[id].settings.duration / 6,
                None => return,
            },
            _ => return,
        };
        let (op, lived) = (
            call.op(),
            self.clients[call.client]
                .machine
                .contender()
                .saturating_sub(call.stamp.contender),
        );
        let undisturbed = self.undisturbed_since(call.client, call.stamp.at);
        if lived > limit + SLACK && undisturbed {
            let rule = if op == Op::Renew { "V6" } else { "W4" };
            self.complain(rule, || {
                format!(
                    "c{} waited {lived:?} for {op:?}: {:?}",
                    call.client, call.request
                )
            });
        }
    }
}
