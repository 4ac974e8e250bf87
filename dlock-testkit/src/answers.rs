//! Counts the calls of a suite that were answered, and those that were not.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use dlock_core::{ErrorKind, ProviderError};

use crate::slow::in_time;

/// How often one call is made until the case that needs its answer fails. A race for one row, lost by most in each round,
/// may refuse the same call several times in a row where transactions are serializable.
const TRIES: usize = 16;

/// A call that failed after more than this may have been given up because the store was slow.
const LATE: Duration = Duration::from_secs(1);

/// What the calls of one fixture came to. A call that fails without being refused for good may be made
/// again (A2, A3, R2, L2), but a provider that answers one call of four is not right: what the fixture does
/// not ask for ([`Fixture::UNANSWERED`](crate::Fixture::UNANSWERED)) fails the case.
#[derive(Debug)]
pub struct Answers {
    /// Of a hundred calls, so many may fail.
    allowed: u32,
    calls: AtomicU64,
    unanswered: AtomicU64,
}

impl Answers {
    /// None yet.
    #[must_use]
    pub const fn new(allowed: u32) -> Self {
        Self {
            allowed,
            calls: AtomicU64::new(0),
            unanswered: AtomicU64::new(0),
        }
    }

    /// Counts the `tries`th failure of one call. It returns if the call may be made again.
    pub(crate) fn failed(&self, what: &str, tries: usize, took: Duration, error: &ProviderError) {
        assert!(
            tries < TRIES && error.kind() != ErrorKind::Fatal,
            "{what} got no answer: {error:?}"
        );
        let calls = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let unanswered = self.unanswered.fetch_add(1, Ordering::Relaxed) + 1;
        // As if a hundred calls had been answered before the first: a few failures at the start are no share.
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
