//! The figures of a run, and the verdict.

use std::{collections::BTreeMap, fmt};

use dlock_proof::history::{
    Invariant, Line,
    checker::{Counts, Report, check},
};

use crate::nemesis::BITTEN;

/// The figures of a run, and its faults.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub(crate) seconds: u64,
    /// The workers reached the store over a wire.
    pub(crate) networked: bool,
    /// The blows of the nemesis, by name.
    pub(crate) blows: BTreeMap<&'static str, u64>,
    /// Single exchanges on the wire that met a fault.
    pub(crate) struck: usize,
    /// The faults of the lock, in words; [`Figures::judge`] adds whatever the history shows.
    pub(crate) complaints: Vec<String>,
    pub(crate) report: Report,
    /// Why the run proves nothing.
    pub(crate) toothless: Vec<String>,
}

impl Figures {
    /// Checks the history.
    pub(crate) fn judge(&mut self, lines: &[Line]) {
        self.report = check(lines);
        self.complaints.extend(wrongs(&self.report));
        self.toothless = self.lacks();
    }

    /// Nothing is broken, and enough was tried to say so.
    pub(crate) const fn is_good(&self) -> bool {
        self.complaints.is_empty() && self.toothless.is_empty()
    }

    /// The shortfalls. The floors are far below what a busy machine reaches.
    fn lacks(&self) -> Vec<String> {
        let counts = &self.report.counts;
        let mut lacks = Vec::new();
        let mut floor = |what: &str, is: u64, least: u64| {
            if is < least {
                lacks.push(format!("{what}: {is}, and {least} would be enough"));
            }
        };
        floor("grants", counts.grants, self.seconds.max(10));
        floor("renewals", counts.renewals, 10);
        floor("takeovers", counts.takeovers, 3);
        floor(
            "writes to fenced storage",
            counts.fenced.accepted,
            self.seconds.max(10),
        );
        floor("stale writes refused", counts.fenced.refused, 1);
        floor(
            "lost updates on unfenced storage",
            counts.unfenced.lost_updates,
            1,
        );
        // A quarter of the fewest that 35 s gave on any store.
        for (invariant, each) in [
            (Invariant::I8, 17),
            (Invariant::I10, 35),
            (Invariant::I15, 17),
            (Invariant::I17, 35),
        ] {
            let what = format!("bounds of {invariant} that were judged");
            floor(&what, counts.bounds(invariant), self.seconds / each);
        }
        let mut blows = vec!["worker killed", "worker paused", BITTEN];
        if self.networked {
            floor("unknown outcomes", counts.unknown, 1);
            floor("faults on the wire", self.struck as u64, 1);
            blows.extend(["store killed", "store frozen", "partition"]);
        } else {
            blows.push("file locked");
        }
        for blow in blows {
            floor(blow, self.blows.get(blow).copied().unwrap_or_default(), 1);
        }
        lacks
    }
}

/// The faults of the lock that the history shows.
fn wrongs(report: &Report) -> Vec<String> {
    let mut wrongs: Vec<String> = report
        .violations
        .iter()
        .take(10)
        .map(ToString::to_string)
        .collect();
    let more = report.violations.len().saturating_sub(10);
    if more > 0 {
        wrongs.push(format!("... and {more} more violations"));
    }
    let Counts { fenced, calls, .. } = &report.counts;
    if fenced.lost_updates > 0 {
        let lost = fenced.lost_updates;
        wrongs.push(format!(
            "fenced storage, reads included, lost {lost} updates"
        ));
    }
    for (call, times) in calls {
        // A retry helped, so `Fatal` was wrong.
        if call.ends_with(" fatal") {
            wrongs.push(format!(
                "{call}: {times} times, on a store that only failed for a while"
            ));
        }
    }
    wrongs
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = &self.report.counts;
        let operations: u64 = counts.calls.values().sum();
        writeln!(
            f,
            "{operations} operations, {} grants, {} takeovers, {} renewals, {} losses, {} unknown outcomes",
            counts.grants, counts.takeovers, counts.renewals, counts.losses, counts.unknown
        )?;
        write!(f, "faults:")?;
        for (number, (blow, times)) in self.blows.iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            write!(f, "{comma} {blow} {times}")?;
        }
        writeln!(f, "; single exchanges struck: {}", self.struck)?;
        writeln!(
            f,
            "fenced storage: {} writes, {} stale ones refused, {} lost updates",
            counts.fenced.accepted, counts.fenced.refused, counts.fenced.lost_updates
        )?;
        writeln!(
            f,
            "unfenced storage: {} writes, {} stale ones among them, {} lost updates",
            counts.unfenced.accepted, counts.unfenced.stale, counts.unfenced.lost_updates
        )?;
        for (invariant, judgements) in &counts.judgements {
            writeln!(f, "judged: {invariant} {judgements:?}")?;
        }
        for complaint in &self.complaints {
            writeln!(f, "BROKEN: {complaint}")?;
        }
        for lack in &self.toothless {
            writeln!(f, "TOOTHLESS: {lack}")?;
        }
        f.write_str(
            match (self.complaints.is_empty(), self.toothless.is_empty()) {
                (false, _) => "verdict: broken",
                (true, false) => "verdict: the run proves nothing",
                (true, true) => "verdict: good",
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_that_no_retry_helps_is_wrong_where_one_helped() {
        let mut report = Report::default();
        report.counts.calls.insert("renew ok".into(), 7);
        assert_eq!(wrongs(&report), [""; 0]);
        report.counts.calls.insert("renew fatal".into(), 1);
        report.counts.fenced.lost_updates = 1;
        assert_eq!(wrongs(&report).len(), 2);
    }
}
