//! The load of a schedule: how many terms there are of each duration, and how many renewals that makes.

use std::{collections::BTreeMap, time::Duration};

use crate::time::{Plan, step_of};

/// Terms are collected together when they are due within this time, and within D/60 of the shortest.
const GATHER: Duration = Duration::from_millis(10);

/// Renewals are counted per this many nanoseconds (two hours), so that the rate of the longest leases is not a
/// fraction.
const SPAN: u64 = 7_200_000_000_000;

/// The terms of a schedule, counted.
#[derive(Default)]
pub(super) struct Load {
    durations: BTreeMap<Duration, usize>,
    /// Renewals in [`SPAN`].
    rate: u64,
}

impl Load {
    pub(super) fn add(&mut self, plan: &Plan) {
        *self.durations.entry(plan.duration).or_default() += 1;
        self.rate += rate(plan);
    }

    pub(super) fn remove(&mut self, plan: &Plan) {
        self.rate = self.rate.saturating_sub(rate(plan));
        if let Some(count) = self.durations.get_mut(&plan.duration) {
            *count -= 1;
            if *count == 0 {
                self.durations.remove(&plan.duration);
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.durations.is_empty()
    }

    /// The time between two steps that collect due terms: terms that fall due in between travel together. At most
    /// D/60 of the shortest lease: a small part of the delay that a renewal may have.
    pub(super) fn gather(&self) -> Duration {
        (self.shortest() / 60).min(GATHER)
    }

    /// The longest sleep before the clock is read again: that of the shortest lease.
    pub(super) fn longest_sleep(&self) -> Duration {
        step_of(self.shortest())
    }

    /// The time for one renewal at twice the average rate.
    pub(super) fn each(&self) -> Duration {
        Duration::from_nanos(SPAN / self.rate.saturating_mul(2).max(1))
    }

    fn shortest(&self) -> Duration {
        let first = self.durations.first_key_value();
        first.map_or(Duration::from_secs(1), |(duration, _)| *duration)
    }
}

/// How often a term is renewed in [`SPAN`]; intervals longer than that count as once.
fn rate(plan: &Plan) -> u64 {
    let every = u64::try_from(plan.renew_every.as_nanos()).unwrap_or(u64::MAX);
    (SPAN / every.max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::plan_of;

    #[test]
    fn shortest_lease_sets_the_step_for_as_long_as_it_is_there() {
        let mut load = Load::default();
        let (long, short) = (
            plan_of(Duration::from_secs(60)),
            plan_of(Duration::from_millis(300)),
        );
        load.add(&long);
        load.add(&short);
        load.add(&short);
        load.remove(&short);
        assert_eq!(load.longest_sleep(), Duration::from_millis(30));
        assert_eq!(load.gather(), Duration::from_millis(5));
        load.remove(&short);
        assert_eq!(load.longest_sleep(), Duration::from_secs(1));
        assert_eq!(load.gather(), GATHER);
        load.remove(&long);
        assert!(load.is_empty());
    }

    #[test]
    fn twice_the_average_rate_leaves_half_an_interval_to_a_crowd() {
        let mut load = Load::default();
        let plan = plan_of(Duration::from_secs(15));
        for _ in 0..100_000 {
            load.add(&plan);
        }
        assert_eq!(load.each() * 100_000, Duration::from_millis(2500));
    }
}
