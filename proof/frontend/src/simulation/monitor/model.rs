//! The monitor's knowledge of clients, callers, calls and terms.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use dlock_core::{FencingToken, provider::Tokens};
use dlock_testkit::{faults::Request, machine::Machine};
use uuid::Uuid;

use super::super::plan::Settings;

pub(in super::super) type CallId = usize;
pub(in super::super) type CallerId = usize;

/// Readings of the holder's clock, each with its instant.
pub(in super::super) type Anchors = Arc<Mutex<Vec<(Duration, Duration)>>>;

/// This many calls without an answer are not yet an outage.
const HICCUPS: u32 = 3;

/// One instant on three clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp {
    /// Since the start of the run.
    pub(super) at: Duration,
    pub(super) holder: Duration,
    pub(super) contender: Duration,
}

pub(super) struct ClientState {
    pub(super) machine: Machine,
    /// When it last began or ceased to stand still.
    pub(super) disturbed: Duration,
    pub(super) standing: bool,
    pub(super) anchors: Anchors,
    /// When `close` was called; when it returned.
    pub(super) closing: Option<Duration>,
    pub(super) closed_down: Option<Duration>,
    pub(super) names: BTreeMap<String, Known>,
    /// How many calls in a row the store has not answered.
    unanswered: u32,
    /// When the last outage ended, on the same clock.
    recovered: Option<Duration>,
}

impl ClientState {
    pub(super) fn new(machine: Machine) -> Self {
        Self {
            machine,
            disturbed: Duration::ZERO,
            standing: false,
            anchors: Arc::new(Mutex::new(vec![(Duration::ZERO, Duration::ZERO)])),
            closing: None,
            closed_down: None,
            names: BTreeMap::new(),
            unanswered: 0,
            recovered: None,
        }
    }

    /// Records the end of a call, on the contender's clock.
    pub(super) fn hears(&mut self, now: Duration, answered: bool) {
        if !answered {
            self.unanswered += 1;
            return;
        }
        if self.unanswered > HICCUPS {
            self.recovered = Some(now);
        }
        self.unanswered = 0;
    }

    /// Whether the store answered nothing at some time since then: calls then take turns, and come later than usual
    /// (W5, V6).
    pub(super) fn was_out_since(&self, since: Duration) -> bool {
        self.unanswered > HICCUPS || self.recovered.is_some_and(|at| at >= since)
    }

    /// Whether nothing stood still for twice this span.
    pub(super) fn is_calm(&self, now: Duration, span: Duration) -> bool {
        !self.standing && self.disturbed + span * 2 + super::SLACK <= now
    }
}

/// The knowledge that a client should have of a name.
#[derive(Default)]
pub(super) struct Known {
    pub(super) highest: u64,
    /// The highest that a resource reported to it, or that it saw in a record of another client's term.
    pub(super) elsewhere: u64,
    /// Its waiting callers, in the order in which they came.
    pub(super) queue: Vec<CallerId>,
}

#[derive(Clone)]
pub(super) struct Call {
    pub(super) client: usize,
    pub(super) request: Request,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Waiting,
    /// Its future was dropped.
    Gone,
    Done,
}

/// One call of `acquire` or a similar method.
pub(super) struct Caller {
    pub(super) client: usize,
    pub(super) name: String,
    pub(super) settings: Settings,
    /// It waits in no queue.
    pub(super) once: bool,
    pub(super) limit: Option<Duration>,
    pub(super) began: Stamp,
    pub(super) status: Status,
    /// Since when it does not poll, so that it cannot see its result.
    pub(super) away: Option<Duration>,
    /// It was granted a lease, which may have been returned: then it queues again (W6).
    pub(super) granted: bool,
    /// Its newest try: the identity, and when it was first sent.
    pub(super) newest_try: Option<(Uuid, Stamp)>,
}

/// The view through a lease's handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Probe {
    pub(in super::super) valid: bool,
    pub(in super::super) remaining: Duration,
}

/// Looks through a handle, if that still exists.
pub(in super::super) type Watched = Arc<dyn Fn() -> Option<Probe> + Send + Sync>;

/// How a caller ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Finished {
    /// With a lease, which was reported before.
    Granted,
    TimedOut,
    /// With a result other than a lease.
    Otherwise,
}

impl Finished {
    /// The meaning of an acquire's error.
    pub(in super::super) fn of(error: &dlock_core::Error) -> Self {
        match error {
            dlock_core::Error::Timeout { .. } => Self::TimedOut,
            _ => Self::Otherwise,
        }
    }
}

/// A lease, named by its term and its token: a term may have several leases, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct LeaseId {
    pub(in super::super) uuid: Uuid,
    pub(in super::super) token: FencingToken,
}

impl fmt::Display for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { uuid, token } = self;
        write!(f, "{uuid} ({token})")
    }
}

/// A lease that a client was granted in time.
#[derive(Clone)]
pub(super) struct Term {
    pub(super) client: usize,
    pub(super) caller: CallerId,
    pub(super) name: String,
    pub(super) token: FencingToken,
    /// The tokens of its term.
    pub(super) tokens: Tokens,
    pub(super) settings: Settings,
    pub(super) granted: Stamp,
    /// When its term was last requested or renewed, and its deadline, on the holder's clock.
    pub(super) sent: Duration,
    pub(super) deadline: Duration,
    pub(super) refused: Option<Stamp>,
    /// The renewals sent for the term, by number.
    pub(super) attempts: BTreeMap<u64, Attempt>,
    pub(super) delivered: bool,
    pub(super) watch: Option<Watched>,
    pub(super) release: Release,
    /// The work under `with` exists.
    pub(super) work_alive: bool,
}

/// How far the release of a lease is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Release {
    pub(super) began: Option<Stamp>,
    pub(super) called: bool,
    /// The store has confirmed it.
    pub(super) released: bool,
    pub(super) not_held: bool,
    pub(super) fatal: bool,
    /// Since when a call without an answer has to be repeated.
    pub(super) failing: Option<Stamp>,
    /// The lease left with a ticket, or another one has followed it on its term (S1).
    pub(super) by_ticket: bool,
    pub(super) followed: bool,
}

#[derive(Clone, Copy)]
pub(super) struct Attempt {
    pub(super) sent: Duration,
    /// It was sent for an earlier lease of the term.
    pub(super) earlier: bool,
}

impl Term {
    /// V2, computed independently.
    pub(super) fn valid(&self, holder: Duration) -> bool {
        self.refused.is_none() && self.release.began.is_none() && holder < self.deadline
    }

    /// For how long its term may stay reserved for other callers of its client, after its lease has ended (S1).
    pub(super) fn may_stay_for(&self) -> Duration {
        (self.settings.duration / 10).min(Duration::from_secs(1))
    }

    /// Whether the store must have ended the lease by now, or will before a release could be repeated (V7).
    pub(super) fn let_go_by(&self, holder: Duration) -> bool {
        holder + self.settings.failure_pause() * 2 + super::SLACK
            >= self.sent + self.settings.duration
    }
}
