//! How fast a client sends requests.

use std::time::{Duration, Instant};

/// A leaky bucket that holds the requests of one second.
#[derive(Debug)]
pub(crate) struct RateLimit {
    full: f64,
    at: Instant,
}

impl RateLimit {
    pub(crate) fn new() -> Self {
        Self {
            full: 0.0,
            at: now(),
        }
    }

    /// Whether one more request is within this many per second.
    pub(crate) fn admits(&mut self, rate: u32) -> bool {
        self.admit(f64::from(rate), now())
    }

    fn admit(&mut self, rate: f64, now: Instant) -> bool {
        let passed: Duration = now.saturating_duration_since(self.at);
        let left = (self.full - passed.as_secs_f64() * rate).max(0.0);
        let fits = left + 1.0 <= rate;
        *self = Self {
            full: if fits { left + 1.0 } else { left },
            at: now,
        };
        fits
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "how fast requests come decides no lease"
)]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_a_second_fit_and_no_more() {
        let start = now();
        let mut pace = RateLimit {
            full: 0.0,
            at: start,
        };
        let at = |millis| start + Duration::from_millis(millis);
        let admitted = (0..20).filter(|_| pace.admit(10.0, at(0))).count();
        assert_eq!(admitted, 10);
        assert!(!pace.admit(10.0, at(50)) && pace.admit(10.0, at(151)));
    }
}
