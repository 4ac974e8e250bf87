//! What the monitor knows of clients, callers, calls and terms.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use dlock_core::{
    FencingToken, Record,
    provider::{Tokens, Version},
    testing::Machine,
};
use dlock_testkit::faults::{Op, Request};
use uuid::Uuid;

use super::{super::plan::Settings, outages::Outage};

pub(in super::super) type CallId = usize;
pub(in super::super) type CallerId = usize;

/// What the holder's clock showed, and when.
pub(in super::super) type Anchors = Arc<Mutex<Vec<(Duration, Duration)>>>;

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
    /// The most that a message to or from the store takes, unless a fault delays it.
    pub(super) latency: Duration,
    pub(super) outage: Outage,
    pub(super) watching: bool,
    /// When it last began or ceased to stand still.
    pub(super) disturbed: Duration,
    pub(super) standing: bool,
    pub(super) anchors: Anchors,
    /// `close` was called; it returned.
    pub(super) closing: Option<Duration>,
    pub(super) closed_down: Option<Duration>,
    pub(super) names: BTreeMap<String, Known>,
    /// Its next read is its user's.
    pub(super) reads: bool,
    /// So many of its next renewals travel together.
    pub(super) in_company: usize,
    /// Its last renewal that travelled alone and was no retry: when, its duration, its shard.
    pub(super) sent_alone: Option<(Duration, Duration, bool)>,
}

impl ClientState {
    pub(super) fn new(machine: Machine, latency: Duration) -> Self {
        Self {
            machine,
            latency,
            outage: Outage::default(),
            watching: false,
            disturbed: Duration::ZERO,
            standing: false,
            anchors: Arc::new(Mutex::new(vec![(Duration::ZERO, Duration::ZERO)])),
            closing: None,
            closed_down: None,
            names: BTreeMap::new(),
            reads: false,
            in_company: 0,
            sent_alone: None,
        }
    }
}

/// What a client should know of a name.
#[derive(Default)]
pub(super) struct Known {
    pub(super) observation: Option<Seen>,
    pub(super) highest: u64,
    /// The highest that a resource told it of, or that it saw in a record that was of no term of its own, as far as it
    /// knew.
    pub(super) elsewhere: u64,
    /// Its own retired identities, and until when it remembers them, on its contender's clock.
    pub(super) retired: VecDeque<(Uuid, Duration)>,
    /// Those of the retired that close the name, and until when on the same clock (B4).
    pub(super) closed: BTreeMap<Uuid, Duration>,
    /// Its newest tries that claimed them.
    pub(super) successors: BTreeMap<Uuid, Uuid>,
    /// How many of its tries that claimed them may have been applied.
    pub(super) claimants: BTreeMap<Uuid, usize>,
    /// Its waiting callers, in the order in which they came.
    pub(super) queue: Vec<CallerId>,
    /// Who contended last.
    pub(super) head: Option<CallerId>,
    /// When it last was told that the lock may be free.
    pub(super) rung: Option<Duration>,
    /// When a lease of its own was last offered to its first waiter in line (H1).
    pub(super) offered: Option<Duration>,
    /// It has tried to get a reservation, and until when it leaves the lock to that of another, on its
    /// contender's clock (W8).
    pub(super) reserves: bool,
    /// It has found a reservation of another.
    pub(super) heeds: bool,
    pub(super) away_until: Duration,
    /// None of its waiters has asked since it began to.
    pub(super) absent: bool,
    /// The version that it found then, and when it found that one first.
    pub(super) reserved: Option<(Version, Duration)>,
    /// When its last waiter left, on its contender's clock, and when a release of it was last sent.
    pub(super) deserted: Duration,
    pub(super) given_back: Option<Duration>,
    /// Until when a contender may wait for a release that is on its way, on its contender's clock.
    pub(super) released_by: Duration,
}

impl Known {
    pub(super) fn is_retired(&self, uuid: Uuid) -> bool {
        self.retired.iter().any(|(retired, _)| *retired == uuid)
    }
}

/// A record of the client's own is claimed (G4), and nothing that passed the boundary has ended its
/// try or its lease yet.
pub(super) struct Claim {
    pub(super) at: Duration,
    pub(super) client: usize,
    pub(super) name: String,
    pub(super) uuid: Uuid,
    pub(super) what: String,
}

pub(super) struct Seen {
    pub(super) version: Version,
    pub(super) duration: Duration,
    pub(super) first: Duration,
    pub(super) last: Duration,
}

#[derive(Clone)]
pub(super) struct Call {
    pub(super) client: usize,
    pub(super) request: Request,
    pub(super) stamp: Stamp,
    /// The waiter whose look it is, at the lock or for a reservation.
    pub(super) looker: Option<CallerId>,
}

impl Call {
    pub(super) const fn op(&self) -> Op {
        self.request.op()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Waiting,
    /// Its future was dropped.
    Gone,
    Done,
}

/// How far a waiting caller is with its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    NotYet,
    Has,
    Had,
}

/// One call of `acquire` and its like.
pub(super) struct Caller {
    pub(super) client: usize,
    pub(super) name: String,
    pub(super) settings: Settings,
    /// The label of its lock.
    pub(super) label: String,
    /// It stands in no queue.
    pub(super) once: bool,
    pub(super) limit: Option<Duration>,
    /// The term that its ticket is for, as long as it may be worth something (H8).
    pub(super) ticket: Option<Uuid>,
    pub(super) began: Stamp,
    pub(super) status: Status,
    /// When it went, or had its result.
    pub(super) left: Option<Duration>,
    /// It does not poll, so it cannot see its result.
    pub(super) away: Option<Duration>,
    pub(super) turn: Turn,
    /// It was granted and not picked up: it may have to queue again (W6).
    pub(super) requeued: bool,
    pub(super) open_try: Option<Try>,
    pub(super) calls: usize,
    /// When it last looked for a reservation (W8).
    pub(super) looked: Option<Stamp>,
    /// When the store last gave a definite answer to it, or it began to ask.
    pub(super) heard: Option<Duration>,
    pub(super) fatal: bool,
    /// A call that may have been its own was answered so.
    pub(super) may_be_fatal: bool,
    /// It knows of a holder of the lock.
    pub(super) seen: bool,
    pub(super) pause: Option<Pause>,
    /// When it last began to ask. A wake-up in the very instant may have come before or after.
    pub(super) asked: Duration,
    /// The same, if what came before it in that instant, a look of its own or a refused try, was of the same question.
    pub(super) may_have_asked: Duration,
    /// Tries in a row without a pause.
    pub(super) chain: usize,
    /// A call for its reservation was refused for good, so it has none (W8).
    pub(super) without_reservation: bool,
}

/// A try of a caller.
pub(super) struct Try {
    pub(super) uuid: Uuid,
    pub(super) sent: Stamp,
    pub(super) prev: Option<Version>,
    /// It was answered: the next call needs another uuid.
    pub(super) answered: bool,
    /// It was sent more than once.
    pub(super) repeated: bool,
}

/// When a caller's next call should come, on its contender's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pause {
    pub(super) since: Stamp,
    pub(super) earliest: Duration,
    pub(super) latest: Duration,
    /// Which rule says so.
    pub(super) rule: &'static str,
    /// A wake-up ends it, if the next call is a fresh try.
    pub(super) wakes: bool,
    pub(super) woken: bool,
    /// Its client looked whether to leave the lock to others, or did so (W8): what it saw before does not
    /// say whether it looks or asks next.
    pub(super) excused: bool,
}

/// What is seen through a lease's handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Probe {
    pub(in super::super) valid: bool,
    pub(in super::super) remaining: Duration,
    /// Of a guard: whether it is unsure, and whether somebody asked.
    pub(in super::super) guard: Option<(bool, bool)>,
}

/// Looks through a handle, if it is there.
pub(in super::super) type Watched = Arc<dyn Fn() -> Option<Probe> + Send + Sync>;

/// How a caller ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Finished {
    /// With a lease, which was reported before.
    Granted,
    Held,
    TimedOut,
    Closed,
    /// With a provider's error; whether it was `Fatal`.
    Failed(bool),
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

/// A lease that a client was granted in time, and what is known of its term.
pub(super) struct Term {
    pub(super) client: usize,
    pub(super) caller: CallerId,
    pub(super) name: String,
    pub(super) token: FencingToken,
    /// Those of its term.
    pub(super) tokens: Tokens,
    pub(super) settings: Settings,
    pub(super) granted: Stamp,
    /// `sent` of the term's grant, on the holder's clock.
    pub(super) sent: Duration,
    /// When the lease began on the same clock: its longest hold counts from here.
    pub(super) since: Duration,
    /// On the holder's clock.
    pub(super) deadline: Duration,
    pub(super) refused: Option<Stamp>,
    pub(super) credited: Duration,
    pub(super) fatal: bool,
    pub(super) asked: bool,
    /// The renewals sent for the term: number and `sent`.
    pub(super) attempts: BTreeMap<u64, Attempt>,
    pub(super) by_hand: usize,
    pub(super) delivered: Option<Duration>,
    pub(super) guarded: Option<Stamp>,
    /// When its last renewal was answered: the next may be due by then.
    pub(super) heard: Duration,
    /// Since when the guard has to repeat a failed attempt.
    pub(super) failing: Option<Stamp>,
    pub(super) watch: Option<Watched>,
    /// Somebody waits for its end.
    pub(super) listened: bool,
    pub(super) told: bool,
    pub(super) release_began: Option<Stamp>,
    pub(super) release_called: bool,
    /// It was valid when its release began.
    pub(super) protected: bool,
    /// How often its release was sent.
    pub(super) release_calls: usize,
    /// Somebody of its own client waited when its release began (H1).
    pub(super) awaited: bool,
    /// The tries that claim it since then: the caller of one may go while it runs. And when the newest was refused.
    pub(super) successors: Vec<Uuid>,
    pub(super) successor_failed: Option<Stamp>,
    /// Until when its release closes the name, on the holder's clock, and by which identity (B4).
    pub(super) closes_until: Option<Duration>,
    pub(super) closing: Option<Uuid>,
    /// It went away with a ticket.
    pub(super) by_ticket: bool,
    /// R3 was the answer to a renewal, also if the lease was over by then.
    pub(super) gone: bool,
    /// A lease followed it on its term (S1).
    pub(super) followed: bool,
    /// For how long its term may linger since its release began, for those in line (S1).
    pub(super) lingers: Option<Duration>,
    /// H5: the hand-overs in a row that led to it, and since when on its client's contender's clock.
    pub(super) passes: (usize, Duration),
    pub(super) release_answer: Option<Given>,
    pub(super) release_fatal: bool,
    pub(super) work_alive: bool,
    /// When the work under `with` was gone, on the contender's clock.
    pub(super) work_gone: Option<Stamp>,
}

/// What a holder can know of its term from the answer to its release (V7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Given {
    /// It gave it back, or it was valid until it did.
    Back,
    /// Somebody had taken it.
    Taken,
    /// It had run out, and nobody can tell who ended it.
    Unknown,
    /// It had run out, and its own client ended it: that client may have forgotten by which tries (G4).
    BackOrUnknown,
}

#[derive(Clone, Copy)]
pub(super) struct Attempt {
    pub(super) sent: Duration,
    pub(super) by_guard: bool,
    pub(super) open: bool,
    /// It was sent for an earlier lease of the term.
    pub(super) earlier: bool,
}

impl Term {
    /// V2, computed anew.
    pub(super) fn valid(&self, holder: Duration) -> bool {
        self.refused.is_none() && self.release_began.is_none() && holder < self.deadline
    }
}

impl Term {
    /// H5: how long a client may keep the name to itself.
    pub(super) fn pass_time(&self) -> Duration {
        (self.settings.duration / 10).clamp(Duration::from_millis(50), Duration::from_secs(1))
    }

    /// H3: how long a lease may be on offer to the first waiter in line.
    pub(super) fn successor_patience(&self) -> Duration {
        (self.settings.duration / 10).min(Duration::from_secs(1))
    }

    /// H3: when the release must have been sent, on the contender's clock, if nobody was granted what
    /// was offered. `deserted`: since when nobody has been in line for it.
    pub(super) fn release_due(&self, began: Stamp, deserted: Option<Duration>) -> Duration {
        // A caller that the monitor took for a waiter may not have stood in line yet.
        let lingers = began.contender + self.lingers.unwrap_or_default();
        lingers.max(self.hand_over_ends(began, deserted))
    }

    fn hand_over_ends(&self, began: Stamp, deserted: Option<Duration>) -> Duration {
        let patience = self.successor_patience();
        let deserted = began.contender.max(deserted.unwrap_or(Duration::MAX));
        let attempt = self.settings.duration / 6;
        match (self.awaited, self.successor_failed) {
            (false, _) => began.contender,
            (true, Some(failed)) => failed.contender,
            (true, None) if !self.successors.is_empty() => began.contender + patience + attempt,
            (true, None) => deserted.min(began.contender + patience),
        }
    }

    /// The store must have let go by now, or will before a release could be repeated (V7).
    pub(super) fn let_go_by(&self, holder: Duration) -> bool {
        let last = self.attempts.values().map(|attempt| attempt.sent).max();
        let until = last.unwrap_or(self.sent).max(self.sent) + self.settings.duration;
        let pause = self.settings.failure_pause() * 3 / 2 + Duration::from_millis(1);
        holder + pause + super::SLACK >= until
    }
}

impl Settings {
    /// D x (1 - margin), V1.
    pub(super) fn validity(&self) -> Duration {
        self.duration - self.duration.mul_f64(self.margin)
    }

    /// The mean pause after a failure.
    pub(super) fn failure_pause(&self) -> Duration {
        (self.duration / 60).clamp(Duration::from_millis(2), Duration::from_millis(500))
    }

    /// Renewals that come due within this travel together.
    pub(super) fn gather(&self) -> Duration {
        (self.duration / 60).min(Duration::from_millis(10))
    }

    pub(in super::super) fn poll(&self, watching: bool) -> Duration {
        let (divisor, least, most) = if watching {
            (3, 1000, 5000)
        } else {
            (10, 100, 1000)
        };
        self.poll_every.unwrap_or_else(|| {
            (self.duration / divisor)
                .clamp(Duration::from_millis(least), Duration::from_millis(most))
        })
    }

    /// At an expiry or the end of an observation.
    pub(super) fn expiry_jitter(&self) -> Duration {
        (self.duration / 10).min(Duration::from_millis(50))
    }
}

/// What a record says of a term that is not released.
pub(super) fn held(record: &Record) -> bool {
    !record.released
}
