//! What metrics are made of: one value for each thing that happens to a lock, emitted by the code that decides
//! it, and never while a mutex of this crate is locked. Without the feature `metrics` no value is made.

#[cfg(feature = "metrics")]
mod sink;

use std::{sync::Arc, time::Duration};

use crate::{EndCause, ProviderError, ReleaseEnd, testing::AcquireEnd};

/// The locks that it happened to: those of one client with one group.
#[derive(Clone, Copy)]
#[cfg_attr(
    not(feature = "metrics"),
    expect(dead_code, reason = "nobody measures")
)]
pub(crate) struct Source<'a> {
    pub(crate) backend: &'static str,
    pub(crate) group: Option<&'a Arc<str>>,
    /// Whether their metrics are emitted, beyond those of calls to the store.
    pub(crate) observed: bool,
}

/// What is asked of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Acquire,
    Renew,
    RenewMany,
    Release,
    Read,
    Watch,
}

/// Something that happened.
#[cfg_attr(
    not(feature = "metrics"),
    expect(dead_code, reason = "nobody measures")
)]
pub(crate) enum Measured<'a> {
    /// A lock was built.
    Built,
    /// A call for the lock has ended.
    AcquireEnded {
        waited: bool,
        took: Duration,
        end: AcquireEnd,
    },
    /// A call to the store has ended.
    Called {
        operation: Operation,
        took: Duration,
        error: Option<&'a ProviderError>,
    },
    /// A try has ended, with this outcome.
    Tried(&'static str),
    /// A grant took a lock over.
    TookOver,
    /// A renewal succeeded when so much of the lease was left, as a part of its duration. `None`: it came too
    /// late.
    Renewed { left: Option<f64> },
    /// The store answered that the term has ended.
    Refused,
    /// A renewal got no answer.
    RenewalFailed(&'a ProviderError),
    /// A lease has ended, which was held for so long.
    Ended { held: Duration, cause: &'a EndCause },
    /// A term went to the client's own next waiter: it goes on, or has ended in the waiter's write.
    HandedOn,
    /// A release was sent, and has ended.
    Released(&'a Result<ReleaseEnd, ProviderError>),
}

impl<'a> Source<'a> {
    #[cfg_attr(
        not(feature = "metrics"),
        expect(clippy::unused_self, reason = "nobody measures")
    )]
    pub(crate) fn measure(self, what: impl FnOnce() -> Measured<'a>) {
        #[cfg(feature = "metrics")]
        sink::take(self, &what());
        #[cfg(not(feature = "metrics"))]
        drop(what);
    }
}

/// The answer to a question that only measuring asks.
pub(crate) fn measured<T>(question: impl FnOnce() -> T) -> Option<T> {
    cfg!(feature = "metrics").then(question)
}
