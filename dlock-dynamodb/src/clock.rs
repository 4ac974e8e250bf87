//! The wall clock of this machine. It decides nothing about a lease: it seeds the first token of a
//! name that has no record (T1), and it sets the dates that people and the clean-up read.

use std::time::{SystemTime, UNIX_EPOCH};

use dlock_core::FencingToken;

/// 2024-01-01 and 2100-01-01 in microseconds since 1970: T1 refuses a clock outside of these years,
/// since a token below or far above those of others is worse than none.
const YEARS: std::ops::Range<u64> = 1_704_067_200_000_000..4_102_444_800_000_000;

/// Reads the wall clock; tests substitute another one.
#[derive(Clone, Copy)]
pub(crate) struct Wall(fn() -> SystemTime);

impl Wall {
    /// This machine's clock.
    #[expect(
        clippy::disallowed_methods,
        reason = "the wall clock seeds tokens (T1) and dates records; nothing is judged by it"
    )]
    pub(crate) const fn system() -> Self {
        Self(SystemTime::now)
    }

    #[cfg(test)]
    pub(crate) const fn fake(now: fn() -> SystemTime) -> Self {
        Self(now)
    }

    /// Microseconds since 1970 within what a record can hold: 0 before, the highest token's value
    /// after.
    pub(crate) fn micros(self) -> u64 {
        let since = (self.0)().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_micros()).map_or(FencingToken::MAX.get(), |micros| {
            micros.min(FencingToken::MAX.get())
        })
    }

    /// The same, if the clock can be right: the least first token of a name.
    pub(crate) fn seed(self) -> Option<u64> {
        seed(self.micros())
    }
}

/// A reading of the clock, if it can be right.
pub(crate) fn seed(micros: u64) -> Option<u64> {
    Some(micros).filter(|micros| YEARS.contains(micros))
}
