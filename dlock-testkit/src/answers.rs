//! Counts the answered and the unanswered calls of a suite.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use dlock_core::{ErrorKind, ProviderError};

use crate::slow::in_time;

/// How often one call is attempted before the case that needs its answer fails. Where transactions are serializable, a
/// race for one row, which most contenders lose in each round, may refuse the same call several times in a row.
const TRIES: usize = 16;

/// A call that failed after more than this may have been abandoned because the store was slow.
const LATE: Duration = Duration::from_secs(1);

/// Counts the answers to the calls of one fixture. A call that failed without [`Fatal`](dlock_core::ErrorKind::Fatal)
/// may be repeated (A2, A3, R2, L2), but a provider that answers only one call in four is not right: more failures than
/// the fixture allows ([`Fixture::UNANSWERED`](crate::Fixture::UNANSWERED)) fail the case.
#[derive(Debug)]
pub struct Answers {
    /// How many calls in a hundred may fail.
    allowed: u32,
    calls: AtomicU64,
    unanswered: AtomicU64,
}

impl Answers {
    /// Counts of zero.
    #[must_use]
    pub const fn new(allowed: u32) -> Self {
        Self {
            allowed,
            calls: AtomicU64::new(0),
            unanswered: AtomicU64::new(0),
        }
    }

    /// Counts the `tries`th failure of one call. Returns if the call may be repeated, and panics otherwise.
    pub(crate) fn failed(&self, what: &str, tries: usize, took: Duration, error: &ProviderError) {
        assert!(
            tries < TRIES && error.kind() != ErrorKind::Fatal,
            "{what} got no answer: {error:?}"
        );
        let calls = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let unanswered = self.unanswered.fetch_add(1, Ordering::Relaxed) + 1;
        // As if a hundred calls had been answered before the first: a few failures at the start prove nothing.
        let allowed = u64::from(self.allowed) * (calls + 100) / 100;
        if unanswered > allowed {
            let share = format!(
                "{unanswered} of {calls} calls of this fixture got no answer, and it asks for {} of a hundred \
                 (UNANSWERED); the last was {what}: {error:?}",
                self.allowed
            );
            in_time(took < LATE, &share);
            panic!("{share}");
        }
    }

    /// Counts an answer.
    pub(crate) fn answered(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }
}
