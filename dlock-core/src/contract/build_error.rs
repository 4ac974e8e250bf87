//! Errors in a lock's settings.

use std::time::Duration;

/// A setting that no lock can have. Each message says what is allowed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The name of the lock.
    #[error("not a lock name: {reason}; a name is 1 to 1024 bytes of UTF-8 without NUL")]
    Name {
        /// The problem.
        reason: &'static str,
    },
    /// The owner's label.
    #[error("not an owner label: {reason}; a label is at most 1024 bytes of UTF-8 without NUL")]
    Owner {
        /// The problem.
        reason: &'static str,
    },
    /// The lease.
    #[error("a lease of {duration:?} is not possible: it takes whole milliseconds, 100 ms to 24 h")]
    Duration {
        /// The requested duration.
        duration: Duration,
    },
    /// The safety margin.
    #[error(
        "a margin of {margin} is not possible: it is a fraction of the lease, 0.01 to 0.5, and at least 2 ms of it"
    )]
    Margin {
        /// The requested margin.
        margin: f64,
    },
    /// The renewal interval.
    #[error(
        "renewing a lease of {duration:?} every {renew_every:?} is not possible: the interval is D/20 to 0.4 D"
    )]
    RenewEvery {
        /// The requested interval.
        renew_every: Duration,
        /// The lease.
        duration: Duration,
    },
    /// The poll interval.
    #[error("polling every {poll_every:?} is not possible: the interval is 1 ms to 1 h")]
    PollEvery {
        /// The requested interval.
        poll_every: Duration,
    },
    /// How long an acquire keeps calling a store that does not answer.
    #[error(
        "giving up on a silent store after {give_up_after:?} is not possible: it takes 1 ms to 24 h"
    )]
    GiveUpAfter {
        /// The requested time.
        give_up_after: Duration,
    },
    /// The longest hold.
    #[error(
        "a longest hold of {max_hold:?} is not possible: it cannot be shorter than the lease of {duration:?}"
    )]
    MaxHold {
        /// The requested time.
        max_hold: Duration,
        /// The lease.
        duration: Duration,
    },
    /// The least time that every other holder is kept out.
    #[error(
        "keeping others out for at least {at_least:?} is not possible: it takes 100 ms to 24 h"
    )]
    AtLeast {
        /// The requested time.
        at_least: Duration,
    },
    /// The same setting: the store's provider does not support it.
    #[error("the provider for {backend} cannot close names, so `at_least` is not possible with it")]
    NoClosing {
        /// The provider's name for its store.
        backend: &'static str,
    },
    /// The data stored next to the lock.
    #[error("{bytes} bytes of data are too many for a lock: at most 4096")]
    Data {
        /// The number of bytes that were given.
        bytes: usize,
    },
}
