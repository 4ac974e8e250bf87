//! The metrics of locks: one table of names, units and labels.
//!
//! `measure` derives them from events.
#![doc = include_str!("../../METRICS.md")]

use ::metrics::{Key, Label, Level, Metadata, Recorder, with_recorder};
pub use ::metrics::{SharedString, Unit};

use crate::emit::{self, log};

/// One metric: a row of a table such as [`ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metric {
    /// Its name, as Prometheus wants it: the unit at its end, and `_total` for a counter.
    pub name: &'static str,
    /// The kind of its value.
    pub kind: Kind,
    /// The unit of its value.
    pub unit: Unit,
    /// Its labels; every series has all of them.
    pub labels: &'static [&'static str],
    /// Its meaning, in one sentence.
    pub help: &'static str,
}

/// The kinds of metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the facade has these three")]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts how often each value was seen.
    Histogram,
}

/// How long calls for a lock took, and how they ended: calls that waited, and calls that tried once.
pub const ACQUIRE: Metric = Metric::histogram(
    "dlock_acquire_seconds",
    Unit::Seconds,
    &["backend", "group", "call", "outcome"],
    "How long calls for a lock took, queueing included, by call (wait, try) and outcome",
);

/// Tries for a lock. The refused ones are the contention.
pub const TRIES: Metric = Metric::counter(
    "dlock_tries_total",
    &["backend", "group", "outcome"],
    "Tries for a lock, by outcome (granted, held, spent, late, given_up, fatal)",
);

/// Grants that took a lock over from a holder that had let its lease run out.
pub const TAKEOVERS: Metric = Metric::counter(
    "dlock_takeovers_total",
    &["backend", "group"],
    "Grants of a lock whose last holder had let its lease run out",
);

/// How long leases were held.
pub const HOLD: Metric = Metric::histogram(
    "dlock_hold_seconds",
    Unit::Seconds,
    &["backend", "group", "end"],
    "How long leases were held, by their end (released, handed_over, expired, refused, held_too_long)",
);

/// Leases that ended before their holders released them.
pub const LOSSES: Metric = Metric::counter(
    "dlock_losses_total",
    &["backend", "group", "cause"],
    "Leases that ended before they were released, by cause (expired, refused, held_too_long)",
);

/// Renewals, one for each lease and attempt, even if many travel together.
pub const RENEWALS: Metric = Metric::counter(
    "dlock_renewals_total",
    &["backend", "group", "outcome"],
    "Renewals of leases, by outcome (renewed, late, refused, not_applied, unknown, fatal)",
);

/// How close a lease had come to its end when its renewal was answered.
pub const RENEWAL_MARGIN: Metric = Metric::histogram(
    "dlock_renewal_margin_ratio",
    Unit::Count,
    &["backend", "group"],
    "Remainder of a lease when its renewal was answered, as a fraction of its duration",
);

/// Releases, including those of tries that may have left a term.
pub const RELEASES: Metric = Metric::counter(
    "dlock_releases_total",
    &["backend", "group", "outcome"],
    "Releases, by outcome (released, handed_on, not_held, unconfirmed, failed)",
);

/// Calls to the store and how long they took.
pub const STORE_CALL: Metric = Metric::histogram(
    "dlock_store_call_seconds",
    Unit::Seconds,
    &["backend", "group", "operation", "outcome"],
    "How long calls to the store took, by operation (acquire, renew, renew_many, release, read, watch) \
     and outcome (answered, not_applied, unknown, fatal)",
);

/// Requests that the store may or may not have applied.
pub const UNKNOWN_OUTCOMES: Metric = Metric::counter(
    "dlock_unknown_outcomes_total",
    &["backend", "group", "operation"],
    "Requests that the store may have applied without an answer, by operation",
);

/// Every metric of this crate.
pub const ALL: &[Metric] = &[
    ACQUIRE,
    TRIES,
    TAKEOVERS,
    HOLD,
    LOSSES,
    RENEWALS,
    RENEWAL_MARGIN,
    RELEASES,
    STORE_CALL,
    UNKNOWN_OUTCOMES,
];

/// Describes every metric in [`ALL`] to the recorder, with its unit and help text. Call it once, after the
/// recorder was installed; nothing else depends on it.
pub fn describe() {
    for metric in ALL {
        metric.describe();
    }
}

impl Metric {
    /// A counter.
    #[must_use]
    pub const fn counter(
        name: &'static str,
        labels: &'static [&'static str],
        help: &'static str,
    ) -> Self {
        Self::new(Kind::Counter, name, Unit::Count, labels, help)
    }

    /// A gauge.
    #[must_use]
    pub const fn gauge(
        name: &'static str,
        unit: Unit,
        labels: &'static [&'static str],
        help: &'static str,
    ) -> Self {
        Self::new(Kind::Gauge, name, unit, labels, help)
    }

    /// A histogram.
    #[must_use]
    pub const fn histogram(
        name: &'static str,
        unit: Unit,
        labels: &'static [&'static str],
        help: &'static str,
    ) -> Self {
        Self::new(Kind::Histogram, name, unit, labels, help)
    }

    const fn new(
        kind: Kind,
        name: &'static str,
        unit: Unit,
        labels: &'static [&'static str],
        help: &'static str,
    ) -> Self {
        Self {
            name,
            kind,
            unit,
            labels,
            help,
        }
    }

    /// Describes the metric to the recorder, with its unit and help text.
    pub fn describe(&self) {
        let (unit, help) = (Some(self.unit), SharedString::const_str(self.help));
        contained(|recorder| match self.kind {
            Kind::Counter => recorder.describe_counter(self.name.into(), unit, help),
            Kind::Gauge => recorder.describe_gauge(self.name.into(), unit, help),
            Kind::Histogram => recorder.describe_histogram(self.name.into(), unit, help),
        });
    }

    /// Registers the series with these values of its labels, at zero unless it has a value: a series that appears
    /// with its first event has no rate at that event.
    pub fn known<const N: usize>(&self, values: [SharedString; N]) {
        let key = self.key(values);
        contained(|recorder| match self.kind {
            Kind::Counter => recorder.register_counter(&key, &METADATA).increment(0),
            Kind::Gauge => recorder.register_gauge(&key, &METADATA).increment(0.0),
            Kind::Histogram => drop(recorder.register_histogram(&key, &METADATA)),
        });
    }

    /// Adds one to the series with these values of its labels.
    pub fn count<const N: usize>(&self, values: [SharedString; N]) {
        let key = self.key(values);
        contained(|recorder| recorder.register_counter(&key, &METADATA).increment(1));
    }

    /// Sets a gauge.
    pub fn set<const N: usize>(&self, values: [SharedString; N], to: f64) {
        let key = self.key(values);
        contained(|recorder| recorder.register_gauge(&key, &METADATA).set(to));
    }

    /// Records a value.
    pub fn record<const N: usize>(&self, values: [SharedString; N], value: f64) {
        let key = self.key(values);
        contained(|recorder| recorder.register_histogram(&key, &METADATA).record(value));
    }

    /// The series with these values of its labels.
    fn key<const N: usize>(&self, values: [SharedString; N]) -> Key {
        debug_assert_eq!(self.labels.len(), N, "{}", self.name);
        let labels = self.labels.iter().zip(values);
        let labels: Vec<Label> = labels
            .map(|(label, value)| Label::new(*label, value))
            .collect();
        Key::from_parts(self.name, labels)
    }
}

static METADATA: Metadata<'static> = Metadata::new("dlock", Level::INFO, Some("dlock"));

/// Calls the recorder. Its panic ends here: what happens to a lock must not depend on its observers.
fn contained(tell: impl FnOnce(&dyn Recorder)) {
    if emit::contained(|| with_recorder(tell)).is_none() {
        log!(error, name: "recorder_panicked", "the metrics recorder panicked; this report is lost");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of the chapter above are the rows of the table.
    #[test]
    fn chapter_and_table_agree() {
        let chapter = include_str!("../../METRICS.md");
        let rows: Vec<&str> = chapter
            .lines()
            .filter(|line| line.starts_with("| `dlock_"))
            .collect();
        assert_eq!(rows.len(), ALL.len());
        for (metric, row) in ALL.iter().zip(rows) {
            let kind = match metric.kind {
                Kind::Counter => "counter",
                Kind::Gauge => "gauge",
                Kind::Histogram => "histogram",
            };
            let labels: Vec<String> = metric
                .labels
                .iter()
                .map(|label| format!("`{label}`"))
                .collect();
            let begins = format!("| `{}` | {kind} | {} | ", metric.name, labels.join(", "));
            assert!(row.starts_with(&begins), "{row} is not {begins}");
        }
    }
}
