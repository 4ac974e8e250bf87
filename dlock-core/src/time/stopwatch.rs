//! Time that has certainly passed, for layers that contend on behalf of others.

use std::{fmt, time::Duration};

use super::{Clock, instant::ContenderInstant};

/// Counts from its creation, as a contender counts: never more than has passed.
#[derive(Clone)]
pub struct Stopwatch {
    clock: Clock,
    start: ContenderInstant,
}

impl Clock {
    /// A stopwatch that starts now.
    #[must_use]
    pub fn stopwatch(&self) -> Stopwatch {
        Stopwatch {
            clock: self.clone(),
            start: self.contender_now(),
        }
    }
}

impl Stopwatch {
    /// The time that has certainly passed since the start.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.clock.elapsed(self.start)
    }
}

impl fmt::Debug for Stopwatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stopwatch").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_from_its_making() {
        let (clock, hand) = Clock::manual();
        hand.advance(Duration::from_secs(5));
        let stopwatch = clock.stopwatch();
        assert_eq!(stopwatch.elapsed(), Duration::ZERO);
        hand.advance(Duration::from_secs(2));
        assert_eq!(stopwatch.elapsed(), Duration::from_secs(2));
    }
}
