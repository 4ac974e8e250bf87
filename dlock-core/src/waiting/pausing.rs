//! How long a waiter sleeps between two questions (W2).

use std::{sync::atomic::Ordering, time::Duration};

use super::{Contender, Reservation};
use crate::{Record, time::LEAST_PAUSE, waiting::Settings};

impl Contender {
    /// W2: the first of the expiry, the end of the observation and the poll. Jitter only delays.
    pub(super) fn until_next_try(&self, record: &Record) -> Duration {
        let Settings {
            store, state, plan, ..
        } = &*self.lock;
        let watching = plan.wakeups && store.watching.load(Ordering::SeqCst);
        let poll = if self.reservation.as_ref().is_some_and(Reservation::is_ours) {
            // Who holds the lock leaves it for two polls. Until a term ends that lasts, there is no hurry.
            if self.passed_over.is_brisk(plan.poll_every, &store.clock) {
                plan.poll_reserved()
            } else {
                plan.poll_every
            }
        } else if watching {
            plan.poll_watched
        } else {
            plan.poll_every
        };
        let poll_in = poll + store.entropy.jitter(poll / 5);
        // A stranger's record may name any duration.
        let jitter = || store.entropy.jitter(plan.expiry_jitter());
        let after = |left: Duration| left.saturating_add(jitter());
        // A hint: never more than the record's own duration.
        let expiry_in = record
            .remaining
            .map(|left| after(left.min(record.duration)));
        let observed_in = state.observation_left(&store.clock).map(after);
        let next = [expiry_in, observed_in]
            .into_iter()
            .flatten()
            .fold(poll_in, Duration::min);
        next.max(LEAST_PAUSE.min(poll))
    }
}
