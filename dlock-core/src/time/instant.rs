//! Instants on the clocks of holders and contenders.

use std::{ops::Add, time::Duration};

/// An instant on the holder's clock. Nanoseconds since an arbitrary origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HolderInstant(pub(super) i64);

/// An instant on a contender's clock: the pair of readings that its elapsed time is computed from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContenderInstant {
    pub(super) boot: i64,
    pub(super) raw: i64,
}

impl HolderInstant {
    /// Before every instant: the deadline of a lease that has ended.
    pub(crate) const NEVER: Self = Self(i64::MIN);

    /// The time from an earlier instant to this one; zero if it is not earlier.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// The span since the clock's origin.
    pub(crate) fn reading(self) -> Duration {
        self.since(Self(0))
    }

    pub(crate) const fn to_bits(self) -> i64 {
        self.0
    }

    pub(crate) const fn from_bits(bits: i64) -> Self {
        Self(bits)
    }
}

impl ContenderInstant {
    /// The time that has certainly passed from an earlier instant to this one: the lesser of the two clocks.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        let boot = self.boot.saturating_sub(earlier.boot);
        let raw = self.raw.saturating_sub(earlier.raw);
        Duration::from_nanos(u64::try_from(boot.min(raw)).unwrap_or(0))
    }

    /// `CLOCK_BOOTTIME` and `CLOCK_MONOTONIC_RAW`, in nanoseconds since their origin.
    pub(crate) const fn readings(self) -> (i64, i64) {
        (self.boot, self.raw)
    }

    pub(crate) const fn at(boot: i64, raw: i64) -> Self {
        Self { boot, raw }
    }
}

impl Add<Duration> for HolderInstant {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(nanos(span)))
    }
}

/// 292 years fit; more is as good as never.
pub(super) fn nanos(span: Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(HolderInstant(0) + Duration::MAX, HolderInstant(i64::MAX));
        assert_eq!(HolderInstant(5).since(HolderInstant(9)), Duration::ZERO);
        assert_eq!(
            HolderInstant(9).since(HolderInstant::NEVER),
            Duration::from_nanos(i64::MAX as u64)
        );
    }
}
