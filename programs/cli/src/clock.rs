//! The holder's clock, as instants that several processes of one machine can compare.
//!
//! The core keeps its instants to itself; a deadline that another process enforces has to be an absolute reading of a
//! clock that both can read. This is the same clock as the core's: `CLOCK_MONOTONIC_RAW` plus the time the machine was
//! suspended, and it never stops or jumps while the machine is up.

use std::{ops, time::Duration};

use rustix::time::{ClockId, clock_gettime};

/// An instant on the holder's clock: nanoseconds since some moment before the machine started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HolderTime(i64);

impl HolderTime {
    /// Now: never behind the time of the call.
    ///
    /// To compute a deadline, take this reading *before* the remaining time: a pause between the
    /// two can then only make the deadline earlier.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(crate) fn now() -> Self {
        // In this order the result lies between the times of the first and of the last reading.
        // BOOTTIME before MONOTONIC could hide a suspend.
        let raw = read(ClockId::MonotonicRaw);
        let monotonic = read(ClockId::Monotonic);
        let boot = read(ClockId::Boottime);
        Self(raw.saturating_add(boot.saturating_sub(monotonic)))
    }

    /// Now, on a clock that may not count the time a machine sleeps; untested.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub(crate) fn now() -> Self {
        Self(read(ClockId::Monotonic))
    }

    /// The time from now until this instant; zero once it is reached.
    pub(crate) fn after(self, now: Self) -> Duration {
        Duration::from_nanos(u64::try_from(self.0.saturating_sub(now.0)).unwrap_or(0))
    }

    pub(crate) const fn to_bits(self) -> i64 {
        self.0
    }

    pub(crate) const fn from_bits(bits: i64) -> Self {
        Self(bits)
    }
}

impl ops::Add<Duration> for HolderTime {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(nanos(span)))
    }
}

impl ops::Sub<Duration> for HolderTime {
    type Output = Self;

    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(span)))
    }
}

fn read(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec
        .saturating_mul(1_000_000_000)
        .saturating_add(time.tv_nsec)
}

/// 292 years fit; a longer span is as good as never.
fn nanos(span: Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_runs_forward_and_differences_never_wrap() {
        let start = HolderTime::now();
        std::thread::sleep(Duration::from_millis(20));
        let later = HolderTime::now();
        assert!(later.after(start) >= Duration::from_millis(19));
        assert_eq!(start.after(later), Duration::ZERO);
        assert_eq!(start + Duration::MAX, HolderTime(i64::MAX));
        assert!(HolderTime(i64::MIN) - Duration::MAX < start);
    }
}
