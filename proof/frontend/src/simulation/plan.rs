//! The events of one run, as plain data: the steps of each owner, and the faults that strike. Nothing here is random
//! any more, so any fault can be left out and the rest played again.

use std::time::Duration;

use dlock_core::{ErrorKind, provider::Discipline};
use dlock_testkit::{faults::Op, machine::Standstill};

use crate::history::shrink;

/// One run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// The seed it was drawn from. It also seeds latencies, identities and jitter.
    pub seed: u64,
    /// Whether the store's clock or contenders' observations end leases.
    pub discipline: Discipline,
    /// How fast the store's clock runs.
    pub store_rate: f64,
    /// Whether a read costs the store less than a refusal, so that waiters read before they try.
    pub cheap_reads: bool,
    /// The processes, each on its own machine.
    pub clients: Vec<ClientPlan>,
    /// The faults. Any of these can be left out.
    pub faults: Vec<Fault>,
}

/// One process.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ClientPlan {
    /// How fast its clock runs.
    pub rate: f64,
    /// Whether it listens to hints.
    pub wakeups: bool,
    /// The least and the most that a message takes to or from the store, in milliseconds.
    pub latency: (u64, u64),
    /// When it closes, if it does; its handles may still be at work then.
    pub closes: Option<Duration>,
    /// Its handles; each is a separate task.
    pub handles: Vec<HandlePlan>,
}

/// One handle: a lock, its settings, and its owner's steps, one after the other.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct HandlePlan {
    /// The name of its lock.
    pub name: String,
    /// The label of its lock, where it shares that with other handles; otherwise each of its calls has its own.
    pub label: Option<String>,
    /// The settings of its lock.
    pub settings: Settings,
    /// The steps of its owner.
    pub steps: Vec<Step>,
}

/// The settings of a lock.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Settings {
    /// D.
    pub duration: Duration,
    /// The fraction of D for which the holder does not trust the lease.
    pub margin: f64,
    /// The renewal interval.
    pub renew_every: Duration,
    /// The poll interval; the default's if `None`.
    pub poll_every: Option<Duration>,
    /// For how long a store that does not answer is called.
    pub give_up_after: Duration,
    /// The longest hold.
    pub max_hold: Option<Duration>,
    /// The data stored with the lock.
    pub data: Option<Vec<u8>>,
    /// For how long after a grant others are kept out (B4).
    pub at_least: Option<Duration>,
}

impl Settings {
    /// For how long a lease is valid (V1).
    pub(super) fn validity(&self) -> Duration {
        self.duration - self.duration.mul_f64(self.margin)
    }

    /// The mean pause after a failure.
    pub(super) fn failure_pause(&self) -> Duration {
        (self.duration / 60).clamp(Duration::from_millis(2), Duration::from_millis(500))
    }

    pub(super) fn poll(&self, watching: bool) -> Duration {
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
}

/// One step of the owner of a handle.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Step {
    /// How long it waits first.
    pub pause: Duration,
    /// How it requests the lock.
    pub way: Way,
    /// When it drops its request, if it does.
    pub cancel: Option<Cancel>,
    /// When it does not poll for a while.
    pub away: Option<Away>,
    /// Whether it takes a ticket for its name, if one is there.
    pub redeems: Option<Copies>,
    /// Its use of the lease that it got.
    pub usage: Usage,
}

/// How a handle requests the lock.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Way {
    /// `read`.
    Read,
    /// `try_acquire`.
    Try,
    /// `acquire`.
    Wait,
    /// `acquire_timeout`.
    Within(Duration),
    /// `hold`.
    Hold,
    /// `with`: the work takes as long as [`Usage::hold`].
    With(WorkEnd),
}

/// How the work under `with` ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WorkEnd {
    /// It returns.
    Returns,
    /// It panics.
    Panics,
    /// Its last poll takes this long on the holder's clock, and then it returns.
    Blocks(Duration),
}

/// When a future is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cancel {
    /// At the poll of this number (from 1), if that has no result.
    AtPoll(u32),
    /// After this long.
    After(Duration),
}

/// When a future is not polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Away {
    /// After the poll of this number (from 1).
    pub at_poll: u32,
    /// For this long.
    pub lasting: Duration,
}

/// The use of a lease.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Usage {
    /// Whether it renews itself.
    pub keep: bool,
    /// Renewals by hand: how long after the previous one, and whether that future is dropped.
    pub renewals: Vec<(Duration, Option<Cancel>)>,
    /// How long it is then held, unless it is lost.
    pub hold: Duration,
    /// A write to the resource that the lock protects.
    pub write: Option<WritePlan>,
    /// How it ends.
    pub ending: Ending,
}

/// A read-modify-write on a resource: read at once, sent after a gap, in flight for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WritePlan {
    /// From reading to sending; the validity of the lease is checked just before sending.
    pub gap: Duration,
    /// From sending to the resource.
    pub travel: Duration,
}

/// How the holder of a lease ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// `release`, and its answer.
    Release,
    /// `release`, whose future is dropped.
    ReleaseDropped(Cancel),
    /// `release_open`, and its answer.
    ReleaseOpen,
    /// It is dropped.
    Drop,
    /// It is handed over; the ticket is left for the next worker that comes.
    HandOver,
}

/// How often a ticket is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Copies {
    /// By the one worker that takes it.
    One,
    /// By several: the worker that takes it leaves a copy for the next.
    More,
}

/// A fault, or an operator's action.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Fault {
    /// Strikes one call of a client.
    Call {
        /// The client.
        client: usize,
        /// The operation.
        op: Op,
        /// The number of the call; the first has 0.
        nth: u64,
        /// The effect.
        effect: Effect,
    },
    /// Strikes every call of a client, or of all, that is sent in this time.
    Network {
        /// The client; `None` for all.
        client: Option<usize>,
        /// When it begins.
        from: Duration,
        /// How long it lasts.
        lasting: Duration,
        /// The effect.
        effect: Effect,
    },
    /// A machine stands still: forever, if not `lasting`.
    Standstill {
        /// The client.
        client: usize,
        /// When it begins.
        from: Duration,
        /// How long it lasts.
        lasting: Option<Duration>,
        /// The kind of standstill.
        how: Standstill,
    },
    /// The hints for a client are swallowed.
    Mute {
        /// The client.
        client: usize,
        /// When it begins.
        from: Duration,
        /// How long it lasts.
        lasting: Duration,
    },
    /// An event at the store.
    Store {
        /// The instant.
        at: Duration,
        /// The event.
        event: StoreEvent,
    },
}

/// The fate of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// The request never arrives.
    LoseRequest,
    /// It is applied; the reply never arrives.
    LoseReply,
    /// It is refused with this kind and not applied. `NotApplied` is a throttled store.
    Refuse(ErrorKind),
    /// It is applied and fails with this kind nevertheless.
    Doubt(ErrorKind),
    /// It arrives this much later.
    DelayRequest(Duration),
    /// Its reply arrives this much later.
    DelayReply(Duration),
    /// It arrives once more, this much later.
    Duplicate(Duration),
    /// It is applied, the reply is lost, and an operator releases the record by force before it is repeated.
    Spend,
    /// The machine sleeps from just after the request was sent: its answer waits for this long.
    SleepSent(Duration),
    /// The machine sleeps for this long from just after the answer came.
    SleepAnswered(Duration),
    /// A read shows the state this many writes ago.
    Stale(usize),
}

/// An event at the store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreEvent {
    /// Its clock steps.
    Forward(Duration),
    /// Its clock steps.
    Backward(Duration),
    /// It loses its last writes, as in a failover.
    Rollback(usize),
    /// It takes no writes.
    ReadOnly(Duration),
    /// Every channel of hints breaks.
    BreakWatches,
    /// B1.
    Revoke(String),
    /// B2: free while its holder believes in its lease.
    Force(String),
    /// B3.
    Ask(String),
    /// A released record ages by eight days and is purged (T5).
    Purge(String),
}

/// The guarantees that the faults of a plan take away, as documented.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Broken {
    /// Two holders are possible (I1, I2): a store that forgot writes, a clock that jumped ahead on a store whose clock
    /// decides, a release by force, a machine whose clock did not advance.
    pub exclusion: bool,
    /// Tokens may repeat (I3): a store forgot writes, and its clock cannot make up for that.
    pub tokens: bool,
}

impl Plan {
    /// The guarantees that this plan's faults take away.
    #[must_use]
    pub fn broken(&self) -> Broken {
        let mut broken = Broken::default();
        let (mut forgets, mut steps_back) = (false, false);
        for fault in &self.faults {
            match fault {
                Fault::Standstill { how, .. } => broken.exclusion |= *how == Standstill::Frozen,
                Fault::Call { .. } | Fault::Network { .. } | Fault::Mute { .. } => {}
                Fault::Store { event, .. } => match event {
                    StoreEvent::Forward(_) => {
                        broken.exclusion |= self.discipline == Discipline::StoreClock;
                    }
                    StoreEvent::Backward(_) => steps_back = true,
                    StoreEvent::Rollback(_) => {
                        broken.exclusion = true;
                        forgets = true;
                        broken.tokens |= self.discipline == Discipline::Observer;
                    }
                    StoreEvent::Force(_) => broken.exclusion = true,
                    StoreEvent::Purge(_) => forgets = true,
                    StoreEvent::ReadOnly(_)
                    | StoreEvent::BreakWatches
                    | StoreEvent::Revoke(_)
                    | StoreEvent::Ask(_) => {}
                },
            }
        }
        broken.tokens |= forgets && steps_back;
        broken
    }

    /// The same plan with other faults, such as some of its own.
    #[must_use]
    pub fn with_faults(&self, faults: &[Fault]) -> Self {
        let mut plan = self.clone();
        plan.faults = faults.to_vec();
        plan
    }

    /// The same plan with as few of its faults as still break the same rule; the plan itself if none is broken. Plays
    /// it many times.
    #[must_use]
    pub fn shrink(&self) -> Self {
        let Some(rule) = self
            .run()
            .violations
            .first()
            .map(|found| found.rule.clone())
        else {
            return self.clone();
        };
        let breaks = |faults: &[Fault]| {
            let run = self.with_faults(faults).run();
            run.violations.iter().any(|found| found.rule == rule)
        };
        self.with_faults(&shrink(self.faults.clone(), breaks))
    }
}
