//! How fast the renewals of many leases are sent.

use std::time::Duration;

use super::send_queue::BATCH;
use crate::time::HolderInstant;

/// Renewals are counted in thousandths.
const ONE: u64 = 1000;

/// Leaky bucket: one batch of burst, then twice the average rate. It spreads the renewals of leases that were
/// all acquired at once: their phases drift apart, from one round to the next, until they fill half an
/// interval, and a store never gets a whole round's work in one instant.
#[derive(Default)]
pub(super) struct RateLimit {
    level: u64,
    since: Option<HolderInstant>,
}

impl RateLimit {
    /// The instant from which more may be sent, if not at once. `each` is the time that the rate gives to one
    /// renewal.
    pub(super) fn holds_until(&self, now: HolderInstant, each: Duration) -> Option<HolderInstant> {
        let most = (BATCH as u64) * ONE;
        let excess = self.level_at(now, each).checked_sub(most)?;
        (excess > 0).then(|| now + Duration::from_nanos(nanos(each).saturating_mul(excess) / ONE))
    }

    /// This many were sent.
    pub(super) fn sent(&mut self, now: HolderInstant, count: usize, each: Duration) {
        self.level = self.level_at(now, each) + (count as u64) * ONE;
        self.since = Some(now);
    }

    fn level_at(&self, now: HolderInstant, each: Duration) -> u64 {
        let elapsed = self.since.map_or(Duration::ZERO, |since| now.since(since));
        let gone = nanos(elapsed).saturating_mul(ONE) / nanos(each).max(1);
        self.level.saturating_sub(gone)
    }
}

/// 584 years fit.
fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Clock;

    const EACH: Duration = Duration::from_millis(1);

    #[test]
    fn one_batch_is_free_and_the_next_waits_for_its_turn() {
        let (clock, hand) = Clock::manual();
        let mut rate_limit = RateLimit::default();
        let now = clock.now();
        assert_eq!(rate_limit.holds_until(now, EACH), None);
        rate_limit.sent(now, BATCH, EACH);
        assert_eq!(
            rate_limit.holds_until(now, EACH),
            None,
            "one batch is no crowd"
        );
        rate_limit.sent(now, BATCH, EACH);
        let turn = now + Duration::from_millis(500);
        assert_eq!(rate_limit.holds_until(now, EACH), Some(turn));
        hand.advance(Duration::from_millis(500));
        assert_eq!(rate_limit.holds_until(clock.now(), EACH), None);
    }

    #[test]
    fn what_was_not_used_is_not_saved_up() {
        let (clock, hand) = Clock::manual();
        let mut rate_limit = RateLimit::default();
        rate_limit.sent(clock.now(), BATCH, EACH);
        hand.advance(Duration::from_secs(60));
        let now = clock.now();
        rate_limit.sent(now, 3 * BATCH, EACH);
        let turn = now + Duration::from_secs(1);
        assert_eq!(rate_limit.holds_until(now, EACH), Some(turn));
    }

    /// A lease that is renewed rarely, before others come that are renewed often, is no load.
    #[test]
    fn what_was_sent_counts_the_same_at_another_rate() {
        let (clock, _hand) = Clock::manual();
        let mut rate_limit = RateLimit::default();
        rate_limit.sent(clock.now(), 1, Duration::from_secs(3600));
        assert_eq!(rate_limit.holds_until(clock.now(), EACH), None);
    }
}
