//! The events of a lock, each reported once by the code that decides it.

use std::time::Duration;

use uuid::Uuid;

use crate::{EndCause, ErrorKind, FencingToken, ProviderError, ReleaseEnd, provider::Version};

/// An event of a lock. Its first two fields identify a lease: the uuid of its term, and its token. One term may have
/// several leases, one after the other, each with its own token.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// The lock was built.
    Built,
    /// A caller's acquire began.
    AcquireBegan {
        /// The number of the call among those of one client.
        call: u64,
        /// Whether it waits; otherwise it tries once.
        waits: bool,
        /// Its limit, a total over all attempts.
        limit: Option<Duration>,
    },
    /// That acquire has ended: it returned, or its future was dropped.
    AcquireEnded {
        /// The number of the call.
        call: u64,
        /// Whether it waited; otherwise it tried once.
        waited: bool,
        /// How long it took.
        took: Duration,
        /// How it ended.
        end: AcquireEnd,
    },
    /// A try began: nothing has been sent yet.
    Tried {
        /// Its identity, which is that of the term it may begin.
        uuid: Uuid,
        /// The instant that its deadline will count from.
        sent: Duration,
        /// The lease's duration D.
        duration: Duration,
        /// Its claim (A6).
        prev: Option<Version>,
        /// The least token it accepts (T6).
        floor: u64,
    },
    /// That try has ended.
    TryEnded {
        /// How: `granted`, `held`, `spent`, `late`, `given_up` or `fatal`.
        outcome: &'static str,
        /// Whether the lock was granted after the lease of another client had run out.
        took_over: bool,
    },
    /// A lease is valid from here on, though no caller has it in hand before [`AcquireEnd::Granted`]. Either the try
    /// was granted in time, or the term continues after the release of its last lease has begun, and what is believed
    /// of the term continues with it.
    Granted(Uuid, FencingToken, Believed),
    /// The lease is renewed automatically from here on.
    KeptAlive(Uuid, FencingToken),
    /// A renewal succeeded in time.
    Renewed {
        /// The term.
        uuid: Uuid,
        /// The lease's token.
        token: FencingToken,
        /// The number of the attempt that was answered.
        n: u64,
        /// The remainder of the lease when the answer came, as a fraction of its duration.
        left: f64,
        /// The holder's belief after it.
        believed: Believed,
    },
    /// A renewal succeeded too late to count.
    RenewedLate(Uuid, FencingToken),
    /// The store answered a renewal that the term has ended (R3).
    RenewalRefused(Uuid, FencingToken),
    /// A renewal got no answer.
    RenewalFailed(Uuid, FencingToken, ProviderError),
    /// The lease has ended, as far as its own handle knows; emitted once for each lease. If no task watches the
    /// deadline, it passes without this event until the state of the lease is next queried.
    Ended {
        /// The term.
        uuid: Uuid,
        /// The lease's token.
        token: FencingToken,
        /// How long it was held.
        held: Duration,
        /// How it ended; [`EndCause::Released`] included.
        cause: EndCause,
    },
    /// A caller that was waiting for the end learned of it.
    EndDelivered(Uuid, FencingToken),
    /// The release of a term begins: of a lease that was released or dropped, of a grant that no caller took, or of a
    /// try that may have left one. With the token, if it is known.
    ReleaseBegan(Uuid, Option<FencingToken>),
    /// That release was not sent: the client's own next waiter has a lease on the term, which continues.
    HandedOn(Uuid, FencingToken),
    /// That release was sent, and has ended.
    ReleaseEnded(
        Uuid,
        Option<FencingToken>,
        Result<ReleaseEnd, ProviderError>,
    ),
}

/// The belief of a holder after a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Believed {
    /// The `sent` that the success was credited with.
    pub sent: Duration,
    /// The deadline now.
    pub valid_until: Duration,
    /// The lease is unsure from here on, without another success.
    pub unsure_from: Duration,
}

/// How an acquire ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AcquireEnd {
    /// With a lease, in its caller's hands from now on.
    Granted(Uuid, FencingToken),
    /// Another client or another lease of this one holds the lock.
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
