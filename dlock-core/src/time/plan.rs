//! The times of a term: its duration, the margin, the renewals, and what follows from them.

use std::{
    sync::{Arc, atomic::AtomicUsize},
    time::Duration,
};

/// The longest sleep of a timer that ends a lease or renews it, however long the lease: a suspend, which timers do not
/// count, delays it by that much.
const LONGEST_STEP: Duration = Duration::from_secs(1);

/// The shortest time between two tries of one waiter.
pub(crate) const LEAST_PAUSE: Duration = Duration::from_millis(10);

/// The times of a lock's terms, checked when the lock was built.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// D: how long the store keeps others out.
    pub(crate) duration: Duration,
    /// D x margin: how much earlier the holder stops believing.
    pub(crate) margin: Duration,
    /// From the `sent` of the last success to the next renewal.
    pub(crate) renew_every: Duration,
    /// The longest that a waiter sleeps between two tries, without and with wake-ups.
    pub(crate) poll_every: Duration,
    pub(crate) poll_watched: Duration,
    /// Waiters listen for wake-ups, where the store has them.
    pub(crate) wakeups: bool,
    /// How long an acquire keeps calling a store that does not answer.
    pub(crate) give_up_after: Duration,
    /// The longest time for which a lease is renewed.
    pub(crate) max_hold: Option<Duration>,
    /// The least time after the `sent` of a grant for which every other client is kept out (B4).
    pub(crate) at_least: Option<Duration>,
    /// The label `group` of its metrics.
    pub(crate) group: Option<Arc<str>>,
    /// The number of background tasks for the locks that share this plan.
    pub(crate) tasks: Arc<AtomicUsize>,
}

impl Plan {
    /// D x (1 - margin): how long after its `sent` a grant or renewal keeps the lease valid.
    pub(crate) fn validity(&self) -> Duration {
        self.duration - self.margin
    }

    /// The most time for one attempt: D/6.
    pub(crate) fn attempt(&self) -> Duration {
        self.duration / 6
    }

    /// The mean pause before the next attempt at a store that did not answer: D/60 within 2 to 500 ms.
    pub(crate) fn pause(&self) -> Duration {
        (self.duration / 60).clamp(Duration::from_millis(2), Duration::from_millis(500))
    }

    /// How long a try is repeated before it is given up: D/3.
    pub(crate) fn try_limit(&self) -> Duration {
        self.duration / 3
    }

    /// The longest sleep before the clock is read again.
    pub(crate) fn step(&self) -> Duration {
        step_of(self.duration)
    }

    /// Without a success for this long after its `sent`, a lease is unsure.
    pub(crate) fn unsure_after(&self) -> Duration {
        self.renew_every + self.attempt()
    }

    /// How long a contender has a name to itself before it leaves it to those that poll: D/10 within 50 ms and 1 s,
    /// about as long as a waiter without wake-ups sleeps between two tries if nothing else is set.
    pub(crate) fn longest_tenure(&self) -> Duration {
        (self.duration / 10).clamp(Duration::from_millis(50), Duration::from_secs(1))
    }

    /// Whether terms of these two plans are valid and renewed alike.
    pub(crate) fn has_terms_like(&self, other: &Self) -> bool {
        let times = |plan: &Self| (plan.duration, plan.margin, plan.renew_every);
        times(self) == times(other)
    }

    /// How long after the `sent` of its grant a term may continue with another lease of its client: D/10, at most 1 s.
    /// A margin is at most half of the lease, so the next lease finds most of its validity left.
    pub(crate) fn succession_time(&self) -> Duration {
        (self.duration / 10).min(Duration::from_secs(1))
    }

    /// A grant is released if its caller has not picked it up for this long: D/6.
    pub(crate) fn pickup(&self) -> Duration {
        self.duration / 6
    }

    /// Jitter at an expiry or the end of an observation: at most 50 ms.
    pub(crate) fn expiry_jitter(&self) -> Duration {
        (self.duration / 10).min(Duration::from_millis(50))
    }
}

/// The longest sleep before the clock is read again, for a lease of this duration: D/10 within a second.
pub(crate) fn step_of(duration: Duration) -> Duration {
    (duration / 10).min(LONGEST_STEP)
}

/// How long a waiter for a lease of this duration sleeps between two tries, if nothing else is set.
pub(crate) fn default_poll(duration: Duration) -> Duration {
    (duration / 10).clamp(Duration::from_millis(100), Duration::from_secs(1))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// The plan of a lock with this duration, and with usual settings.
    pub(crate) fn plan_of(duration: Duration) -> Plan {
        Plan {
            duration,
            margin: duration / 5,
            renew_every: duration / 3,
            poll_every: SECOND,
            poll_watched: 5 * SECOND,
            wakeups: true,
            give_up_after: duration,
            max_hold: None,
            at_least: None,
            group: None,
            tasks: Arc::default(),
        }
    }

    /// The step of a timer has no effect where time is virtual, so no case sees its length.
    #[test]
    fn spans_are_the_protocols() {
        let plan = plan_of(60 * SECOND);
        assert_eq!(plan.validity(), 48 * SECOND);
        assert_eq!(plan.attempt(), 10 * SECOND);
        assert_eq!(plan.try_limit(), 20 * SECOND);
        assert_eq!(plan.step(), SECOND);
        assert_eq!(plan.unsure_after(), 30 * SECOND);
        assert_eq!(plan.pickup(), 10 * SECOND);
        assert_eq!(plan.longest_tenure(), SECOND);
    }

    #[test]
    fn jitter_at_an_expiry_is_bounded_both_ways() {
        assert_eq!(
            plan_of(60 * SECOND).expiry_jitter(),
            Duration::from_millis(50)
        );
        assert_eq!(plan_of(SECOND / 10).expiry_jitter(), SECOND / 100);
    }
}
