//! The times of a wait: how long a waiter sleeps between two calls, and when the wait ends without the lock: at its
//! limit, which is a total, and with its place in line.

use std::{future::pending, sync::atomic::Ordering, time::Duration};

use super::{Contender, Settings, Wait, turns::part_of};
use crate::{Error, Holder, time::LEAST_PAUSE};

/// How often a waiter calls in a poll interval after its mark was left out.
const MARK_LEFT_OUT: u32 = 4;

impl Contender {
    /// The time until the first of the expiry, the end of the observation and the poll; a wake-up ends the sleep
    /// earlier. They bound a takeover and a hand-off. Jitter only delays.
    pub(super) fn until_next_try(&self, holder: &Holder) -> Duration {
        let record = &holder.record;
        let Settings {
            store, state, plan, ..
        } = &*self.lock;
        let listens = self.listens();
        // A release of its own client wakes it in any case.
        let is_marked = record.wanted != 0 || holder.ours || !store.marks;
        let mut poll = if listens && is_marked {
            plan.poll_watched
        } else {
            // No release of an unmarked term is hinted.
            plan.poll_every
        };
        let mut asks = self.watched.asks(plan, listens, &store.clock);
        if listens && !is_marked && self.may_mark(false) {
            asks = asks.max(MARK_LEFT_OUT);
        }
        if asks > 1 {
            poll = part_of(plan.poll_every, asks);
        }
        let poll_in = poll + store.entropy.jitter(poll / 5);
        // Saturating: a record that another program wrote may name any duration.
        let jitter = || store.entropy.jitter(plan.expiry_jitter());
        let after = |left: Duration| left.saturating_add(jitter());
        // The remainder that the store reports, and at most the record's own duration.
        let expiry_in = record
            .remaining
            .map(|left| after(left.min(record.duration)));
        let observed_in = state.observation_left(&store.clock).map(after);
        let next = [expiry_in, observed_in]
            .into_iter()
            .flatten()
            .fold(poll_in, Duration::min);
        let next = next.max(LEAST_PAUSE.min(poll));
        if self.gave_way == Some(record.uuid) {
            next.min(self.release_patience())
        } else {
            next
        }
    }

    /// Whether hints of releases reach this waiter.
    pub(super) fn listens(&self) -> bool {
        let Settings { store, plan, .. } = &*self.lock;
        plan.wakeups && store.channel_open.load(Ordering::SeqCst)
    }

    /// The remainder of the caller's limit; zero once the caller has gone away.
    pub(super) fn time_left(&self) -> Option<Duration> {
        if self.gone.is_cancelled() {
            return Some(Duration::ZERO);
        }
        match self.wait {
            Wait::No | Wait::Limit(None) => None,
            Wait::Limit(Some(limit)) => {
                Some(limit.saturating_sub(self.lock.store.clock.elapsed(self.started)))
            }
        }
    }

    /// Whether its limit has passed or its caller has gone away.
    pub(super) fn is_late(&self) -> bool {
        self.time_left().is_some_and(|left| left.is_zero())
    }

    pub(super) async fn out_of_time(&self) {
        tokio::select! {
            biased;
            () = self.gone.cancelled() => {}
            () = self.limit() => {}
        }
    }

    async fn limit(&self) {
        while let Some(left) = self.time_left() {
            if left.is_zero() {
                return;
            }
            self.lock.store.clock.pause(left).await;
        }
        pending::<()>().await;
    }

    /// A store that answered no longer ago than an attempt may take is not silent: its last call was cut short by
    /// the limit.
    pub(super) fn timeout(&mut self) -> Error {
        let Settings { store, plan, .. } = &*self.lock;
        let holder = self.seen.take().map(Box::new);
        let silent = holder.is_none() || store.clock.elapsed(self.answered) >= plan.attempt();
        Error::Timeout {
            waited: store.clock.elapsed(self.started),
            holder,
            source: self.error.take().filter(|_| silent),
        }
    }
}
