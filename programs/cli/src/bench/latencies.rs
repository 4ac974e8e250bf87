//! How long calls took: percentiles, for people and for programs.

use std::time::Duration;

use serde::Serialize;

/// The times of one kind of call.
pub(super) struct Latencies(Vec<Duration>);

/// Their percentiles, in microseconds.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Percentiles {
    pub(super) calls: usize,
    pub(super) p50_us: u64,
    pub(super) p90_us: u64,
    pub(super) p99_us: u64,
    pub(super) max_us: u64,
}

impl Latencies {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(super) fn add(&mut self, took: Duration) {
        self.0.push(took);
    }

    /// Zeros if there are none.
    pub(super) fn percentiles(&mut self) -> Percentiles {
        let Self(times) = self;
        times.sort_unstable();
        // The time that this percentage of the calls did not exceed.
        let percentile = |part: usize| {
            let rank = (times.len() * part).div_ceil(100).max(1) - 1;
            let time = times.get(rank).copied().unwrap_or_default();
            u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
        };
        Percentiles {
            calls: times.len(),
            p50_us: percentile(50),
            p90_us: percentile(90),
            p99_us: percentile(99),
            max_us: percentile(100),
        }
    }
}

/// A time, with three significant digits: 0.12ms, 12.3ms, 1.23s.
pub(crate) fn short(time: Duration) -> String {
    let milliseconds = time.as_secs_f64() * 1000.0;
    match milliseconds {
        ..10.0 => format!("{milliseconds:.2}ms"),
        ..1000.0 => format!("{milliseconds:.1}ms"),
        _ => format!("{:.2}s", time.as_secs_f64()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_were_measured() {
        let mut latencies = Latencies::new();
        assert_eq!(latencies.percentiles().max_us, 0);
        for time in (1..=200).rev() {
            latencies.add(Duration::from_micros(time));
        }
        let expected = Percentiles {
            calls: 200,
            p50_us: 100,
            p90_us: 180,
            p99_us: 198,
            max_us: 200,
        };
        assert_eq!(latencies.percentiles(), expected);
        let mut one = Latencies::new();
        one.add(Duration::from_micros(7));
        assert_eq!((one.percentiles().p50_us, one.percentiles().max_us), (7, 7));
    }

    #[test]
    fn times_have_three_digits() {
        let short = |micros| short(Duration::from_micros(micros));
        assert_eq!(short(123), "0.12ms");
        assert_eq!(short(12_345), "12.3ms");
        assert_eq!(short(1_234_567), "1.23s");
    }
}
