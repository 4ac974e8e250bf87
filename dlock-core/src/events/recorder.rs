//! What a client and its leases believe, as events for tests that check it: the hook behind the histories
//! of `dlock-proof`. The calls to the store are no events here: a wrapper around the provider sees them
//! without help.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use uuid::Uuid;

use crate::{
    EndCause, ErrorKind, FencingToken, Name, ProviderError, ReleaseEnd, provider::Version,
};

/// Receives the events of a [`Client`](crate::Client), in the order in which they happen. For tests; see
/// [`Client::recorded`](crate::Client::recorded).
///
/// It is called in the middle of the event, with locks of the lease and of its name held: it must not block, and it must not
/// call anything of that client. A panic in it ends there: it concerns no lease.
pub trait Recorder: Send + Sync + 'static {
    /// Something happened to this lock. Every instant, `now` as well as those in the event, is a
    /// reading of the client's own clock ([`Clock::reading`](crate::Clock::reading)), which may run
    /// at a rate of its own: to compare clients one must know their clocks.
    fn record(&self, name: &Name, now: Duration, event: Event);
}

/// What a [`Recorder`] receives. A lease is named by the uuid of its term and by its token: one term may have several
/// leases, one after the other, with a token each.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A caller's acquire began.
    AcquireBegan {
        /// Numbers the calls of one client.
        call: u64,
        /// It waits; otherwise it tries once.
        waits: bool,
        /// Its limit, a total (W4).
        limit: Option<Duration>,
    },
    /// That acquire has ended: it returned, or its future was dropped.
    AcquireEnded {
        /// The number of the call.
        call: u64,
        /// With what.
        end: AcquireEnd,
    },
    /// A try began (V1): nothing has been sent yet.
    Tried {
        /// Its identity, that of the term it may begin.
        uuid: Uuid,
        /// What its deadline will count from.
        sent: Duration,
        /// D.
        duration: Duration,
        /// Its claim (A6).
        prev: Option<Version>,
        /// The least token it accepts (T6).
        floor: u64,
    },
    /// A lease is valid from here on, though nobody has it in hand before [`AcquireEnd::Granted`]. The try was granted,
    /// in time; or the term goes on, after the release of its last lease has begun, and what is believed of it
    /// with it.
    Granted {
        /// The term.
        uuid: Uuid,
        /// Its fencing token.
        token: FencingToken,
        /// From when, and until when.
        believed: Believed,
    },
    /// The lease renews itself from here on.
    KeptAlive {
        /// The term.
        uuid: Uuid,
        /// The lease's token.
        token: FencingToken,
    },
    /// A renewal succeeded in time (V4).
    Renewed {
        /// The term.
        uuid: Uuid,
        /// The lease's token.
        token: FencingToken,
        /// The number of the attempt that was answered.
        n: u64,
        /// What follows from it.
        believed: Believed,
    },
    /// The lease has ended, as its own handle knows: the one event of that kind. A deadline that
    /// nobody watches passes without it, until somebody looks.
    Ended {
        /// The term.
        uuid: Uuid,
        /// The lease's token.
        token: FencingToken,
        /// How it ended; [`EndCause::Released`] included.
        cause: EndCause,
    },
    /// A caller that was waiting for the end learned of it (I8).
    EndDelivered {
        /// The term.
        uuid: Uuid,
        /// The lease's token.
        token: FencingToken,
    },
    /// The release of a term begins (V7): of a lease that was released or dropped, of a grant that
    /// nobody took, of a try that may have left one.
    ReleaseBegan {
        /// The term.
        uuid: Uuid,
        /// The token, as far as there is one.
        token: Option<FencingToken>,
    },
    /// That release has ended.
    ReleaseEnded {
        /// The term.
        uuid: Uuid,
        /// The token, as far as there is one.
        token: Option<FencingToken>,
        /// How.
        ended: Result<ReleaseEnd, ProviderError>,
    },
}

/// What a holder believes after a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Believed {
    /// The `sent` that the success was credited with (V1, V4).
    pub sent: Duration,
    /// The deadline now.
    pub valid_until: Duration,
    /// The lease is unsure from here on, without another success (V8).
    pub unsure_from: Duration,
}

/// How an acquire ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AcquireEnd {
    /// With a lease, in its caller's hands from now on.
    Granted {
        /// The term.
        uuid: Uuid,
        /// The lease's token.
        token: FencingToken,
    },
    /// Somebody else holds it.
    Held,
    /// Its limit passed.
    TimedOut,
    /// The client was closed.
    Closed,
    /// Without an answer of the store.
    Failed(ErrorKind),
    /// Its future was dropped.
    Dropped,
}

/// The recorder of a client.
pub(crate) struct Recording {
    pub(crate) recorder: Arc<dyn Recorder>,
    calls: AtomicU64,
}

impl Recording {
    pub(crate) fn new(recorder: Arc<dyn Recorder>) -> Self {
        Self {
            recorder,
            calls: AtomicU64::new(0),
        }
    }

    /// That of the next call.
    pub(crate) fn number(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed)
    }
}
