//! The wall clock of this machine. It decides nothing about a lease: fencing tokens follow it (T1), and it dates
//! records for people and clean-up.

use std::{
    ops::Range,
    time::{SystemTime, UNIX_EPOCH},
};

use dlock_core::FencingToken;

/// 2024-01-01 and 2100-01-01 in microseconds since 1970: a clock outside of these years is wrong (T1).
const YEARS: Range<u64> = 1_704_067_200_000_000..4_102_444_800_000_000;

/// A time that the clock showed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wall(SystemTime);

impl Wall {
    #[expect(
        clippy::disallowed_methods,
        reason = "tokens follow the wall clock (T1), and it dates records; nothing is judged by it"
    )]
    pub(crate) fn now() -> Self {
        Self(SystemTime::now())
    }

    #[cfg(test)]
    pub(crate) const fn fake(now: SystemTime) -> Self {
        Self(now)
    }

    /// Microseconds since 1970 within what a record can hold: 0 before, the highest token's value after.
    pub(crate) fn micros(self) -> u64 {
        let since = self.0.duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_micros()).map_or(FencingToken::MAX.get(), |micros| {
            micros.min(FencingToken::MAX.get())
        })
    }

    /// The same, if the clock can be right.
    pub(crate) fn sane(self) -> Option<u64> {
        Some(self.micros()).filter(|micros| YEARS.contains(micros))
    }
}
