//! A second opinion on every call and every answer during a run: order, bounds, and that no release is lost. It
//! computes each lease's deadline independently, from the requests and answers that passed between a frontend and its
//! provider, and compares. It does not know how a frontend works inside.
//!
//! `callers` follows the callers that request a lock, `terms` leases, `renewals` and `releases` their calls, `handles`
//! the owners' view of their leases, `turns` how two processes share a name. `sweep` finds events that should have
//! happened and did not. The history checker judges the run afterwards.

mod callers;
mod handles;
mod model;
mod releases;
mod renewals;
mod sweep;
mod terms;
mod turns;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use dlock_core::{ErrorKind, Name, ProviderError, Record};
use dlock_testkit::machine::Machine;
use tokio::time::Instant;
use uuid::Uuid;

pub(super) use self::model::{Anchors, CallId, CallerId, Finished, LeaseId, Probe};
use self::model::{Call, Caller, ClientState, Known, Stamp, Term};
use super::report::{Figures, Violation};
use dlock_testkit::faults::{Op, Outcome, Request};

/// Timers tick in milliseconds; nothing else may be late in a run.
const SLACK: Duration = Duration::from_millis(6);

/// Watches one run.
#[derive(Clone)]
pub(super) struct Monitor(Arc<Mutex<State>>);

pub(super) struct State {
    start: Instant,
    violations: Vec<Violation>,
    figures: Figures,
    clients: Vec<ClientState>,
    callers: Vec<Caller>,
    calls: Vec<Call>,
    /// The calls that have no answer yet.
    open: Vec<CallId>,
    terms: BTreeMap<LeaseId, Term>,
    /// The newest lease of each term.
    newest: BTreeMap<Uuid, LeaseId>,
    /// The state after each write, by name: for stale reads.
    records: BTreeMap<String, Vec<Option<Record>>>,
    /// Every identity that was drawn, and the caller that drew it.
    drawn: BTreeMap<Uuid, CallerId>,
    /// The identities in doubt, which no answer has settled, and those whose release was sent.
    in_doubt: BTreeSet<Uuid>,
    given_back: BTreeSet<Uuid>,
    /// Terms that a grant has claimed, which the store therefore no longer holds.
    claimed: BTreeSet<Uuid>,
    /// Notes for people, if a run is explained.
    notes: Option<Vec<String>>,
    turns: Option<turns::Turns>,
    finished: bool,
}

impl Monitor {
    pub(super) fn new(explain: bool) -> Self {
        Self(Arc::new(Mutex::new(State {
            start: Instant::now(),
            violations: Vec::new(),
            figures: Figures::default(),
            clients: Vec::new(),
            callers: Vec::new(),
            calls: Vec::new(),
            open: Vec::new(),
            terms: BTreeMap::new(),
            newest: BTreeMap::new(),
            records: BTreeMap::new(),
            drawn: BTreeMap::new(),
            in_doubt: BTreeSet::new(),
            given_back: BTreeSet::new(),
            claimed: BTreeSet::new(),
            notes: explain.then(Vec::new),
            turns: None,
            finished: false,
        })))
    }

    pub(super) fn client(&self, machine: Machine) {
        self.state().clients.push(ClientState::new(machine));
    }

    /// Records that a call leaves a client.
    pub(super) fn called(&self, client: usize, request: &Request) -> CallId {
        let mut state = self.state();
        let id = state.calls.len();
        state.figures.calls += 1;
        state.note(|| format!("c{client} call {id} {request:?}"));
        match request {
            Request::Acquire(request) => state.acquire_called(client, request),
            Request::Renew(request) => state.renew_called(client, request),
            Request::Release(request) => state.release_called(request),
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
        });
        state.open.push(id);
        id
    }

    /// Records that its answer reached the client, which still waited for it.
    pub(super) fn answered(&self, id: CallId, answer: &Result<Outcome, ProviderError>) {
        let mut state = self.state();
        state.note(|| format!("answer {id} {answer:?}"));
        let call = state.close_call(id, answer.is_ok());
        let client = call.client;
        match (&call.request, answer) {
            (_, Err(error)) => state.failed(&call, error.kind()),
            (Request::Acquire(request), Ok(Outcome::Acquire(outcome))) => {
                state.acquire_answered(client, request, outcome);
            }
            (Request::Renew(request), Ok(Outcome::Renew(outcome))) => {
                state.renew_answered(client, request, outcome);
            }
            (Request::Release(request), Ok(Outcome::Release(outcome))) => {
                state.release_answered(client, request, outcome);
            }
            (Request::Read(name), Ok(Outcome::Read(Some(record)))) => {
                state.saw(client, name.as_str(), record);
            }
            _ => {}
        }
    }

    /// Records that the client stopped waiting for an answer.
    pub(super) fn dropped(&self, id: CallId) {
        let mut state = self.state();
        if state.finished {
            return;
        }
        state.note(|| format!("drop {id}"));
        let call = state.close_call(id, false);
        state.failed(&call, ErrorKind::Unknown);
    }

    /// Records the store's answer to a request, and its write, in the order of the writes.
    pub(super) fn applied(&self, request: &Request, answer: &Outcome, now: Option<Record>) {
        let mut state = self.state();
        state.note(|| format!("store {request:?} -> {answer:?}"));
        let Some(name) = name_of(request).filter(|_| !matches!(request, Request::Read(_))) else {
            return;
        };
        let name = name.as_str().to_owned();
        if let (Request::Acquire(request), Outcome::Acquire(outcome)) = (request, answer) {
            state.acquire_applied(&name, request, outcome);
        }
        if let Request::Release(request) = request {
            state.figures.closings += u64::from(request.closing.is_some());
        }
        let states = state.records.entry(name).or_default();
        if states.last() != Some(&now) {
            states.push(now);
        }
    }

    /// The state of the store this many writes ago.
    pub(super) fn stale(&self, name: &str, writes: usize) -> Option<Record> {
        let state = self.state();
        let states = state.records.get(name)?;
        let index = states.len().checked_sub(1 + writes.min(states.len() - 1))?;
        states[index].clone()
    }

    /// Records that the machine stood still until now, or begins to.
    pub(super) fn disturbed(&self, client: usize, standing: bool) {
        let mut state = self.state();
        let now = state.now();
        state.note(|| format!("c{client} standing: {standing}"));
        let client = &mut state.clients[client];
        client.disturbed = now;
        client.standing = standing;
        let holder = client.machine.holder();
        let mut anchors = client
            .anchors
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        anchors.push((holder, now));
    }

    /// The readings of a client's clock at each instant at which its pace changed.
    pub(super) fn anchors(&self, client: usize) -> Anchors {
        Arc::clone(&self.state().clients[client].anchors)
    }

    pub(super) fn complain(&self, rule: &'static str, what: impl FnOnce() -> String) {
        self.state().complain(rule, what);
    }

    pub(super) fn remark(&self, what: impl FnOnce() -> String) {
        self.state().note(what);
    }

    pub(super) fn figures<T>(&self, change: impl FnOnce(&mut Figures) -> T) -> T {
        change(&mut self.state().figures)
    }

    pub(super) fn failed(&self) -> bool {
        !self.state().violations.is_empty()
    }

    /// Ends the monitoring and returns its findings.
    pub(super) fn finish(&self) -> (Vec<Violation>, Figures, Vec<String>) {
        let mut state = self.state();
        state.finished = true;
        (
            std::mem::take(&mut state.violations),
            std::mem::take(&mut state.figures),
            state.notes.take().unwrap_or_default(),
        )
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        names.entry(name.to_owned()).or_default()
    }

    /// Whether nothing stood still since then, so that lateness is a fault of the frontend.
    fn undisturbed_since(&self, client: usize, since: Duration) -> bool {
        let client = &self.clients[client];
        !client.standing && client.disturbed <= since
    }

    fn close_call(&mut self, id: CallId, answered: bool) -> Call {
        self.open.retain(|open| *open != id);
        let call = self.calls[id].clone();
        if call.request.op() != Op::Watch {
            let now = self.stamp(call.client).contender;
            self.clients[call.client].hears(now, answered);
        }
        call
    }

    /// Records that a call got no answer.
    fn failed(&mut self, call: &Call, kind: ErrorKind) {
        self.figures.unknown += u64::from(kind == ErrorKind::Unknown);
        match &call.request {
            Request::Acquire(request) => self.acquire_failed(request, kind),
            Request::Release(request) => self.release_failed(call.client, request, kind),
            Request::Read(name) => self.look_failed(call.client, name, kind),
            _ => {}
        }
    }
}

fn name_of(request: &Request) -> Option<&Name> {
    match request {
        Request::Acquire(request) => Some(&request.name),
        Request::Renew(request) => Some(&request.name),
        Request::Release(request) => Some(&request.name),
        Request::Revoke(request) => Some(&request.name),
        Request::Ask(request) => Some(&request.name),
        Request::Read(name) => Some(name),
        _ => None,
    }
}
