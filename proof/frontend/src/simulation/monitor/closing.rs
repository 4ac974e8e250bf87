//! B4: a lease with `at_least` that its owner ends early closes the name, for what is left from its grant
//! on. Nothing else does, and nobody enters a closed name before its time.

use std::time::Duration;

use dlock_core::{
    Record,
    provider::{Acquire, AcquireOutcome, Release, ReleaseOutcome},
};
use uuid::Uuid;

use super::{
    Monitor, State,
    model::{Known, LeaseId, Term},
};

/// The shortest closing.
const SHORTEST: Duration = Duration::from_millis(100);

/// A name as its newest closing left it.
pub(super) struct Closed {
    uuid: Uuid,
    at: Duration,
    /// No clock shows the end of `at_least` earlier.
    until: Duration,
}

impl Monitor {
    /// The handle is about to be released, and its work was not done.
    pub(in super::super) fn ends_undone(&self, lease: LeaseId) {
        let mut state = self.state();
        if let Some(term) = state.terms.get_mut(&lease) {
            term.closes_until = None;
        }
        state.release_begins(lease);
    }

    /// What the ticket of a lease says of its closing: 0 without one.
    pub(in super::super) fn ticket_left(&self, lease: LeaseId, ticket: &str) {
        let mut state = self.state();
        let holder = state.holder(lease);
        let Some(term) = state.terms.get(&lease) else {
            return;
        };
        let left = term
            .closes_until
            .map_or(Duration::ZERO, |until| until.saturating_sub(holder));
        let said = ticket
            .strip_prefix("dlock-ticket-1:")
            .and_then(|parts| parts.split(':').nth(2)?.parse().ok())
            .map_or(Duration::ZERO, Duration::from_millis);
        if said != whole_millis(left) {
            state.complain("B4", || {
                format!(
                    "{lease} goes by ticket with {left:?} left to close, and {ticket} says {said:?}"
                )
            });
        }
    }
}

impl State {
    /// The release of a term begins, with its owner's will or without: for how long it closes the name.
    pub(super) fn closing_begins(&mut self, lease: LeaseId) -> Option<Duration> {
        let holder = self.holder(lease);
        let term = self.terms.get_mut(&lease)?;
        let early = term.closes_until.filter(|until| holder < *until);
        term.closes_until = early.filter(|_| term.valid(holder) && term.delivered.is_some());
        let lasts = term.closes_until? - holder;
        let (client, name) = (term.client, term.name.clone());
        let open_at = self.clients[client].machine.contender() + lasts;
        self.known(client, &name).closed.insert(lease.uuid, open_at);
        Some(lasts)
    }

    /// A release of a lease closes the name if it should, for what is left, and by one identity.
    pub(super) fn check_closing(&mut self, request: &Release) {
        let uuid = request.uuid;
        let holder = self.holder_of(uuid);
        let closing = request.closing;
        if let Some(closing) = closing {
            self.closings.insert(closing.uuid());
        }
        let Some(term) = self.newest_mut(uuid) else {
            if closing.is_some() {
                self.complain("B4", || format!("{uuid} closes its name, and is no lease"));
            }
            return;
        };
        let due = term
            .closes_until
            .map(|until| whole_millis(until.saturating_sub(holder)).max(SHORTEST));
        let lasts = closing.map(|closing| closing.lasts());
        if lasts != due {
            return self.complain("B4", || {
                format!("the release of {uuid} should close its name for {due:?}: {lasts:?}")
            });
        }
        let drawn = closing.map(|closing| closing.uuid());
        let before = std::mem::replace(&mut term.closing, drawn);
        if before.is_some_and(|before| Some(before) != drawn) {
            self.complain("B4", || {
                format!("the release of {uuid} is repeated with another closing")
            });
        }
    }

    /// A repeat that finds a stranger before the name would be open shows that it was not closed.
    pub(super) fn is_intruded(&self, uuid: Uuid) -> bool {
        let holder = self.holder_of(uuid);
        let until = self.newest(uuid).and_then(|term| term.closes_until);
        until.is_some_and(|until| holder < until)
    }

    /// A client that has closed a name has seen it closed.
    pub(super) fn closing_seen(&mut self, client: usize, request: &Release) {
        let Some((closing, token)) = request.closing.zip(request.token) else {
            return;
        };
        let since = std::time::UNIX_EPOCH;
        let closed = Record::new(closing.uuid(), "", since, token, closing.lasts());
        self.saw(client, request.name.as_str(), &closed);
    }

    /// The store has closed a name. A repeat changes nothing.
    pub(super) fn closing_applied(&mut self, request: &Release, outcome: &ReleaseOutcome) {
        let (Some(closing), ReleaseOutcome::Released) = (request.closing, outcome) else {
            return;
        };
        let now = self.now();
        let (name, uuid) = (request.name.as_str(), closing.uuid());
        if self
            .closed
            .get(name)
            .is_some_and(|closed| closed.uuid == uuid)
        {
            return;
        }
        self.figures.closings += 1;
        let holder = self.holder_of(request.uuid);
        let promise = self.newest(request.uuid).and_then(|term| term.closes_until);
        let left = promise.map_or(Duration::ZERO, |until| until.saturating_sub(holder));
        let (at, until) = (now, now + left * 10 / 11);
        self.closed
            .insert(name.to_owned(), Closed { uuid, at, until });
    }

    /// The store grants a name.
    pub(super) fn check_open(&mut self, name: &str, request: &Acquire, outcome: &AcquireOutcome) {
        let AcquireOutcome::Acquired(_) = outcome else {
            return;
        };
        let Some(closed) = self.closed.remove(name) else {
            return;
        };
        let client = self
            .drawn
            .get(&request.new)
            .map(|id| self.callers[*id].client);
        let (now, until) = (self.now(), closed.until);
        // A clock that has jumped may show more.
        let calm = client.is_none_or(|client| self.undisturbed_since(client, closed.at));
        if now + Duration::from_millis(2) < until && calm && !self.broken.exclusion {
            let new = request.new;
            self.complain("B4", || {
                format!("{name} goes to {new}, and is closed until {until:?}")
            });
        }
    }

    /// Nobody is told that a name is closed which nobody closed.
    pub(super) fn check_closed(&mut self, record: &Record) {
        let uuid = record.uuid;
        if record.is_closed() && !self.closings.contains(&uuid) {
            self.complain("B4", || format!("{uuid} is a closing that nobody has sent"));
        }
    }
}

impl Known {
    /// It has begun to close the name, which is not yet open again.
    pub(super) fn is_closing(&self, uuid: Uuid, contender: Duration) -> bool {
        let closed = self.closed.get(&uuid);
        closed.is_some_and(|open_at| contender < *open_at)
    }
}

impl Term {
    /// Until when its release is to close the name, on its holder's clock.
    pub(super) fn closing_time(at_least: Option<Duration>, sent: Duration) -> Option<Duration> {
        at_least.map(|at_least| sent + at_least)
    }
}

fn whole_millis(span: Duration) -> Duration {
    let millis = span.as_nanos().div_ceil(1_000_000);
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}
