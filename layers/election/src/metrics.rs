//! The metrics of elections: one table of names, units and labels. The metrics of the underlying locks are in
//! [`dlock_core::metrics`], with the election's name as `group`.
//!
//! `observe` records them.
#![doc = include_str!("../METRICS.md")]

use dlock_core::metrics::{Metric, Unit};

/// 1 while this instance leads, 0 otherwise, as of its last check.
pub const IS_LEADER: Metric = Metric::gauge(
    "dlock_election_is_leader",
    Unit::Count,
    &["election"],
    "1 if this instance led when it last looked, else 0",
);

/// The instant until which this instance leads without a further renewal: an instant, since it passes without an
/// update.
pub const LEADER_UNTIL: Metric = Metric::gauge(
    "dlock_election_leader_until_timestamp_seconds",
    Unit::Seconds,
    &["election"],
    "Until when this instance leads without a further renewal, in unix time; 0 if it does not",
);

/// The last good renewal of the leadership.
pub const RENEWED: Metric = Metric::gauge(
    "dlock_election_renewed_timestamp_seconds",
    Unit::Seconds,
    &["election"],
    "When the last good renewal of this instance's leadership left, in unix time",
);

/// The lease of the election.
pub const LEASE: Metric = Metric::gauge(
    "dlock_election_lease_seconds",
    Unit::Seconds,
    &["election"],
    "The lease of the election, as this instance was configured",
);

/// The transitions of this instance's leadership.
pub const TRANSITIONS: Metric = Metric::counter(
    "dlock_election_transitions_total",
    &["election", "transition", "reason"],
    "Changes of this instance's leadership, by transition (gained, unsure, recovered, lost, resigned, \
     ineligible) and reason",
);

/// Runs of a periodic task.
pub const TASK: Metric = Metric::histogram(
    "dlock_election_task_seconds",
    Unit::Seconds,
    &["election", "task", "outcome"],
    "How long runs of a periodic task took, by outcome (finished, panicked, cancelled)",
);

/// The instant at which a run of a periodic task last finished.
pub const TASK_FINISHED: Metric = Metric::gauge(
    "dlock_election_task_finished_timestamp_seconds",
    Unit::Seconds,
    &["election", "task"],
    "When a run of a periodic task last finished on this instance, in unix time; 0 if none has",
);

/// The period of a periodic task.
pub const TASK_PERIOD: Metric = Metric::gauge(
    "dlock_election_task_period_seconds",
    Unit::Seconds,
    &["election", "task"],
    "The period of a periodic task, as this instance was configured",
);

/// Every metric of this crate.
pub const ALL: &[Metric] = &[
    IS_LEADER,
    LEADER_UNTIL,
    RENEWED,
    LEASE,
    TRANSITIONS,
    TASK,
    TASK_FINISHED,
    TASK_PERIOD,
];

/// Passes the unit and the help text of every metric in [`ALL`] to the recorder. Call it once, after the recorder was
/// installed; nothing else depends on it.
pub fn describe() {
    for metric in ALL {
        metric.describe();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dlock_core::metrics::Kind;

    /// The chapter above has the same rows as the table.
    #[test]
    fn chapter_and_table_agree() {
        let chapter = include_str!("../METRICS.md");
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
