//! The measurements of `dlock bench`, and the lease that follows from them.

use std::time::Duration;

use serde::Serialize;

use super::{
    NAME,
    latencies::{Latencies, Percentiles, short},
};
use crate::{display::exact, exit::Failure, status};

/// The lease of 'dlock run' by default.
const DEFAULT: Duration = Duration::from_secs(15);

/// How fast a store is.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    store: String,
    operations: Vec<Operation>,
    /// The number of leases renewed at the same time.
    pub(super) leases: u16,
    renewals_per_second: u64,
    /// The shortest lease that is safe from the slowest calls.
    least_lease_ms: u64,
}

#[derive(Debug, Serialize)]
struct Operation {
    operation: String,
    #[serde(flatten)]
    times: Percentiles,
}

impl Report {
    pub(super) const fn new(store: String, leases: u16) -> Self {
        Self {
            store,
            operations: Vec::new(),
            leases,
            renewals_per_second: 0,
            least_lease_ms: 1000,
        }
    }

    /// The calls of one kind.
    pub(super) fn add(&mut self, what: &str, mut latencies: Latencies) {
        let times = latencies.percentiles();
        self.least_lease_ms = self.least_lease_ms.max(least_lease_ms(&times));
        self.operations.push(Operation {
            operation: what.to_owned(),
            times,
        });
    }

    /// Concurrent renewals, and how long all of them took.
    pub(super) fn add_renewals(&mut self, latencies: Latencies, took: Duration) {
        let what = format!("renew, {} at a time", self.leases);
        self.add(&what, latencies);
        let calls = self.operations.last().map_or(0, |last| last.times.calls);
        let calls = u128::try_from(calls).unwrap_or_default();
        let rate = calls * 1000 / took.as_millis().max(1);
        self.renewals_per_second = u64::try_from(rate).unwrap_or(u64::MAX);
    }

    pub(super) fn text(&self, json: bool) -> Result<String, Failure> {
        if json {
            let text = serde_json::to_string_pretty(self).map_err(status::no_json)?;
            return Ok(text + "\n");
        }
        let heading = ["OPERATION", "CALLS", "P50", "P90", "P99", "MAX"].map(String::from);
        let cells = |Operation { operation, times }: &Operation| {
            let time = |micros| short(Duration::from_micros(micros));
            [
                operation.clone(),
                times.calls.to_string(),
                time(times.p50_us),
                time(times.p90_us),
                time(times.p99_us),
                time(times.max_us),
            ]
        };
        let mut text = format!("{}\n", self.store);
        for [what, calls, p50, p90, p99, max] in
            std::iter::once(heading).chain(self.operations.iter().map(cells))
        {
            text.push_str(&format!(
                "{what:20} {calls:>7} {p50:>9} {p90:>9} {p99:>9} {max:>9}\n"
            ));
        }
        let rate = self.renewals_per_second;
        // A lease is renewed every third of it.
        let enough = rate.saturating_mul(DEFAULT.as_secs() / 3);
        text.push_str(&format!(
            "{rate} renewals a second: {enough} leases of {} at the very most\n",
            exact(DEFAULT)
        ));
        let least = Duration::from_millis(self.least_lease_ms);
        let advice = if least <= DEFAULT {
            format!("the usual {} are fine", exact(DEFAULT))
        } else {
            format!("the usual {} are too short", exact(DEFAULT))
        };
        text.push_str(&format!("lease: {} or more; {advice}\n", exact(least)));
        // Tokens must grow if the names are used again, so the records can't be deleted at once.
        text.push_str(&format!(
            "{} records \"{NAME}*\" stay, released; 'dlock purge' deletes them after a week\n",
            self.leases + 2
        ));
        Ok(text)
    }
}

/// A call has a sixth of the lease. That sixth is ten times the p99, and three times the slowest call, at
/// least; rounded up to seconds.
fn least_lease_ms(times: &Percentiles) -> u64 {
    let needed = 6 * times
        .p99_us
        .saturating_mul(10)
        .max(times.max_us.saturating_mul(3));
    needed.div_ceil(1_000_000) * 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(times: &[u64]) -> Report {
        let mut latencies = Latencies::new();
        for time in times {
            latencies.add(Duration::from_millis(*time));
        }
        let mut report = Report::new("s".to_owned(), 2);
        report.add_renewals(latencies, Duration::from_secs(2));
        report
    }

    #[test]
    fn lease_is_long_enough_for_the_slowest_calls() {
        assert_eq!(report(&[1; 10]).least_lease_ms, 1000);
        assert_eq!(report(&[100; 10]).least_lease_ms, 6000);
        // One of many.
        let mut times = vec![1; 500];
        times.push(200);
        assert_eq!(report(&times).least_lease_ms, 4000);
        assert_eq!(report(&times).renewals_per_second, 250);
        assert!(
            report(&[100])
                .text(false)
                .unwrap()
                .contains("lease: 6s or more; the usual 15s are fine")
        );
        assert!(
            report(&[300])
                .text(false)
                .unwrap()
                .contains("18s or more; the usual 15s are too short")
        );
    }
}
