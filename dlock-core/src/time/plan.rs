//! The times of a term: its duration, the margin, the renewals, and what follows from them.

use std::{
    sync::{Arc, atomic::AtomicUsize},
    time::Duration,
};

use crate::Record;

/// How long a reservation lasts at most, unless ten polls are longer (F8).
const LONGEST_RESERVATION: Duration = Duration::from_secs(15);

/// The longest sleep of a timer that ends a lease or renews it, however long the lease: a suspend, which timers do not count,
/// makes it that late (V2).
const LONGEST_STEP: Duration = Duration::from_secs(1);

/// The closest two tries of one waiter come (W2).
pub(crate) const LEAST_PAUSE: Duration = Duration::from_millis(10);

/// The times of a lock's terms, checked when the lock was built.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// D: how long the store keeps others out.
    pub(crate) duration: Duration,
    /// D x margin: how much earlier the holder stops believing (V1).
    pub(crate) margin: Duration,
    /// From the `sent` of the last success to the next renewal (V6).
    pub(crate) renew_every: Duration,
    /// The longest a waiter sleeps between two tries, without and with wake-ups (W2).
    pub(crate) poll_every: Duration,
    pub(crate) poll_watched: Duration,
    /// Waiters listen for wake-ups, where the store has them.
    pub(crate) wakeups: bool,
    /// A waiter that is passed over makes a reservation (F8).
    pub(crate) reservations: bool,
    /// How long an acquire asks a store that does not answer (W5).
    pub(crate) give_up_after: Duration,
    /// How long a lease is renewed at most.
    pub(crate) max_hold: Option<Duration>,
    /// How long after the `sent` of a grant everybody else is kept out at least (B4).
    pub(crate) at_least: Option<Duration>,
    /// The label `group` of its metrics.
    pub(crate) group: Option<Arc<str>>,
    /// Whether metrics and logs report its leases.
    pub(crate) observed: bool,
    /// How much runs in the background for the locks that share this plan, and for their reservations.
    pub(crate) tasks: Arc<AtomicUsize>,
}

impl Plan {
    /// D x (1 - margin): how long after its `sent` a grant or renewal keeps the lease valid (V1).
    pub(crate) fn validity(&self) -> Duration {
        self.duration - self.margin
    }

    /// The most one attempt gets: D/6 (V6, W4).
    pub(crate) fn attempt(&self) -> Duration {
        self.duration / 6
    }

    /// The mean pause before the next attempt at a store that did not answer: D/60 within 2 to 500 ms.
    pub(crate) fn pause(&self) -> Duration {
        (self.duration / 60).clamp(Duration::from_millis(2), Duration::from_millis(500))
    }

    /// How long a try is repeated before it is given up: D/3 (W5).
    pub(crate) fn try_limit(&self) -> Duration {
        self.duration / 3
    }

    /// The longest sleep before the clock is asked again (V2).
    pub(crate) fn step(&self) -> Duration {
        step_of(self.duration)
    }

    /// Without a success for so long after its `sent`, a lease is unsure (V8).
    pub(crate) fn unsure_after(&self) -> Duration {
        self.renew_every + self.attempt()
    }

    /// How long a client has a name to itself before it looks for a reservation (F11):
    /// D/10 within 50 ms and 1 s, which is what a waiter of another process without wake-ups sleeps
    /// between two tries.
    pub(crate) fn pass_time(&self) -> Duration {
        (self.duration / 10).clamp(Duration::from_millis(50), Duration::from_secs(1))
    }

    /// The times of a reservation (F8): a hint, tried for now and then and renewed by hand. A dead waiter's
    /// reservation costs others time, so it is short where the lease is long.
    pub(crate) fn of_reservation(&self) -> Self {
        let longest = LONGEST_RESERVATION.max(10 * self.poll_every);
        // Of whole milliseconds, as every lease is.
        let millis = self.duration.min(longest).as_millis();
        let duration = Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX));
        let part = duration.as_secs_f64() / self.duration.as_secs_f64();
        Self {
            duration,
            margin: self.margin.mul_f64(part),
            renew_every: self.renew_every.mul_f64(part),
            wakeups: false,
            reservations: false,
            max_hold: None,
            at_least: None,
            observed: false,
            tasks: Arc::clone(&self.tasks),
            ..self.clone()
        }
    }

    /// For how long a client leaves a name to others: two polls, by its own settings or by those that a
    /// reservation for a lease of this duration suggests, so that each of them has asked by then; but no
    /// longer than the reservation lasts (F12).
    pub(crate) fn away(&self, reservation: &Record) -> Duration {
        let lasts = reservation.remaining.unwrap_or(reservation.duration);
        let poll = self.poll_every.max(default_poll(reservation.duration));
        (2 * poll).min(lasts)
    }

    /// How often the waiter that has a reservation asks while the lock goes from hand to hand, and how often
    /// the client that leaves the name to it looks whether it has come: the name is free between the two
    /// (F10).
    pub(crate) fn poll_reserved(&self) -> Duration {
        (self.poll_every / 4).max(LEAST_PAUSE.min(self.poll_every))
    }

    /// A name that a client leaves alone for longer than that between two terms is not kept by it (F11): a
    /// fifth of a poll, in which the tries of a waiter of another process are spread at random.
    pub(crate) fn longest_idle(&self) -> Duration {
        self.poll_every / 5
    }

    /// Whether terms of these two plans are valid and renewed alike.
    pub(crate) fn has_terms_like(&self, other: &Self) -> bool {
        let times = |plan: &Self| (plan.duration, plan.margin, plan.renew_every);
        times(self) == times(other)
    }

    /// How long after the `sent` of its grant a term may go on with another lease of its client (S3): D/10, at
    /// most 1 s. A margin is at most half of the lease, so the next lease finds most of its validity left.
    pub(crate) fn succession_time(&self) -> Duration {
        (self.duration / 10).min(Duration::from_secs(1))
    }

    /// A grant is given back if nobody has picked it up for so long: D/6 (W6).
    pub(crate) fn pickup(&self) -> Duration {
        self.duration / 6
    }

    /// Jitter at an expiry or the end of an observation: at most 50 ms (W2).
    pub(crate) fn expiry_jitter(&self) -> Duration {
        (self.duration / 10).min(Duration::from_millis(50))
    }
}

/// The longest sleep before the clock is asked again, for a lease of this duration: D/10 within a second (V2).
pub(crate) fn step_of(duration: Duration) -> Duration {
    (duration / 10).min(LONGEST_STEP)
}

/// How long a waiter for a lease of this duration sleeps between two tries, if nothing else is set (W2).
pub(crate) fn default_poll(duration: Duration) -> Duration {
    (duration / 10).clamp(Duration::from_millis(100), Duration::from_secs(1))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// That of a lock with this duration, and with usual settings.
    pub(crate) fn plan_of(duration: Duration) -> Plan {
        Plan {
            duration,
            margin: duration / 5,
            renew_every: duration / 3,
            poll_every: SECOND,
            poll_watched: 5 * SECOND,
            wakeups: true,
            reservations: false,
            give_up_after: duration,
            max_hold: None,
            at_least: None,
            group: None,
            observed: true,
            tasks: Arc::default(),
        }
    }

    /// The timers of V2 are of no consequence where time is virtual, so no case sees their length.
    #[test]
    fn spans_are_the_protocols() {
        let plan = plan_of(60 * SECOND);
        assert_eq!(plan.validity(), 48 * SECOND);
        assert_eq!(plan.attempt(), 10 * SECOND);
        assert_eq!(plan.try_limit(), 20 * SECOND);
        assert_eq!(plan.step(), SECOND);
        assert_eq!(plan.unsure_after(), 30 * SECOND);
        assert_eq!(plan.pickup(), 10 * SECOND);
        // The poll is a second.
        assert_eq!(plan.longest_idle(), SECOND / 5);
    }

    #[test]
    fn a_name_is_left_for_two_polls_but_no_longer_than_the_reservation_lasts() {
        let plan = plan_of(60 * SECOND);
        let mut reservation = Record::new(
            uuid::Uuid::nil(),
            "",
            std::time::UNIX_EPOCH,
            crate::FencingToken::new(1).unwrap(),
            30 * SECOND,
        );
        assert_eq!(plan.away(&reservation), 2 * SECOND);
        reservation.remaining = Some(SECOND / 2);
        assert_eq!(plan.away(&reservation), SECOND / 2);
        let slow = Plan {
            poll_every: 60 * SECOND,
            ..plan
        };
        reservation.remaining = None;
        assert_eq!(slow.away(&reservation), 30 * SECOND);
    }

    #[test]
    fn a_reservation_is_short_where_the_lease_is_long() {
        let plan = plan_of(3600 * SECOND);
        let reservation = plan.of_reservation();
        assert_eq!(reservation.duration, 15 * SECOND);
        assert_eq!(reservation.margin, 3 * SECOND);
        assert_eq!(reservation.renew_every, 5 * SECOND);
        let slow = Plan {
            poll_every: 60 * SECOND,
            ..plan
        };
        assert_eq!(slow.of_reservation().duration, 600 * SECOND);
        let odd = Plan {
            poll_every: 60 * SECOND / 11,
            ..slow
        };
        let millis = Duration::from_millis(54_545);
        assert_eq!(odd.of_reservation().duration, millis, "whole milliseconds");
    }

    #[test]
    fn a_reservation_has_no_wishes_of_its_own_and_counts_for_its_lock() {
        let plan = Plan {
            reservations: true,
            max_hold: Some(SECOND),
            at_least: Some(SECOND),
            group: Some("group".into()),
            ..plan_of(60 * SECOND)
        };
        let reservation = plan.of_reservation();
        assert!(!reservation.wakeups && !reservation.reservations && !reservation.observed);
        assert_eq!((reservation.max_hold, reservation.at_least), (None, None));
        assert_eq!(reservation.group, plan.group);
        assert!(Arc::ptr_eq(&reservation.tasks, &plan.tasks));
    }

    #[test]
    fn a_reservation_does_not_make_tries_come_closer_than_w2_allows() {
        for (poll, reserved) in [(1000, 250), (30, 10), (8, 8)] {
            let plan = Plan {
                poll_every: Duration::from_millis(poll),
                ..plan_of(SECOND)
            };
            assert_eq!(plan.poll_reserved(), Duration::from_millis(reserved));
        }
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
