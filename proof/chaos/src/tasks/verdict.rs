//! The outcome of the tasks, and the verdict.

mod claims;
mod lanes;
mod rules;

use std::{collections::BTreeMap, fmt};

use dlock_tasks::State;

use super::{evidence::Evidence, note::What, payload::How};
use crate::nemesis::{BITTEN, strikes_the_wire};

/// The figures of a run, and its faults.
#[derive(Debug, Default)]
pub(super) struct Figures {
    pub(super) seconds: u64,
    pub(super) networked: bool,
    pub(super) blows: BTreeMap<&'static str, u64>,
    /// Single exchanges on the wire that met a fault.
    pub(super) struck: usize,
    pub(super) complaints: Vec<String>,
    /// Why the run proves nothing.
    pub(super) toothless: Vec<String>,
    pub(super) counts: BTreeMap<&'static str, u64>,
}

impl Figures {
    /// Compares the traces of the run.
    pub(super) fn judge(&mut self, evidence: &Evidence) {
        self.counts = counts(evidence);
        self.complaints.extend(rules::broken(evidence));
        self.complaints.extend(claims::broken(evidence));
        self.complaints.extend(lanes::broken(evidence));
        self.toothless = self.lacks();
    }

    pub(super) const fn is_good(&self) -> bool {
        self.complaints.is_empty() && self.toothless.is_empty()
    }

    /// The shortfalls. The floors are far below what a busy machine reaches.
    fn lacks(&self) -> Vec<String> {
        let mut lacks = Vec::new();
        let mut floor = |what: &str, is: u64, least: u64| {
            if is < least {
                lacks.push(format!("{what}: {is}, and {least} would be enough"));
            }
        };
        for (what, least) in [
            ("succeeded", self.seconds.max(10)),
            ("dead", 1),
            ("cancelled", 1),
            ("completed within", self.seconds / 2),
            ("takeovers", 3),
            ("done twice unfenced", 1),
            ("stale writes refused", 1),
            ("late completions refused", 1),
            ("checkpoints found", 1),
            ("given out in lanes", self.seconds / 2),
            ("waited for in lanes", 1),
            ("lanes freed by the end of a lease", 1),
            ("given out under the limit", self.seconds / 2),
            ("at the limit", 1),
            ("places freed by the end of a lease", 1),
            ("looks", 10 * self.seconds),
            ("ticks", self.seconds / 5),
        ] {
            floor(
                what,
                self.counts.get(what).copied().unwrap_or_default(),
                least,
            );
        }
        // A short run has time only for some of them.
        let those = |of: fn(&str) -> bool| {
            let blows = self.blows.iter().filter(|(name, _)| of(name));
            blows.map(|(_, times)| times).sum()
        };
        let mut blows = vec!["worker killed", "worker paused", BITTEN];
        if self.networked {
            floor("faults on the wire", those(strikes_the_wire), 2);
            let store = |name: &str| name.starts_with("store ") || name == "connections killed";
            floor("faults of the store", those(store), 1);
        } else {
            blows.push("file locked");
        }
        for blow in blows {
            floor(blow, self.blows.get(blow).copied().unwrap_or_default(), 1);
        }
        lacks
    }
}

fn counts(evidence: &Evidence) -> BTreeMap<&'static str, u64> {
    let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
    let mut count = |what, times: usize| counts.insert(what, times as u64);
    let state = |state| {
        let errands = evidence.errands.values();
        errands.filter(|task| task.state == state).count()
    };
    count("succeeded", state(State::Succeeded));
    count("dead", state(State::Dead));
    count("cancelled", state(State::Cancelled));
    let noted = |of: fn(&What) -> bool| {
        let notes = evidence.notes.iter();
        notes.filter(|note| of(&note.what)).count()
    };
    count("attempts", noted(|what| matches!(what, What::Began { .. })));
    count("looks", noted(|what| matches!(what, What::Look { .. })));
    count("completed within", noted(|what| *what == What::Completed));
    count(
        "late completions refused",
        noted(|what| *what == What::Refused),
    );
    count(
        "checkpoints found",
        noted(|what| matches!(what, What::Began { found: 1.., .. })),
    );
    count("ticks", evidence.ticks.len());
    let refused = evidence.writes.iter().filter(|write| !write.accepted);
    count("stale writes refused", refused.count());
    // Those of tasks that needed only one attempt.
    let alone = |id| {
        let task = evidence.errands.get(id);
        task.is_some_and(|task| task.errand.how == How::Succeeds)
    };
    let mut begun: BTreeMap<i64, usize> = BTreeMap::new();
    for note in &evidence.notes {
        if alone(&note.task) && matches!(note.what, What::Began { .. }) {
            *begun.entry(note.task).or_default() += 1;
        }
    }
    count("takeovers", begun.values().map(|times| times - 1).sum());
    let mut written: BTreeMap<i64, usize> = BTreeMap::new();
    for write in &evidence.writes {
        if !write.fenced && alone(&write.task) {
            *written.entry(write.task).or_default() += 1;
        }
    }
    let twice = written.values().filter(|times| **times > 1);
    count("done twice unfenced", twice.count());
    let lanes::Tally {
        in_lanes,
        waited_for,
        limited,
        filled,
        lanes_freed,
        places_freed,
    } = lanes::tally(evidence);
    counts.extend([
        ("given out in lanes", in_lanes),
        ("waited for in lanes", waited_for),
        ("lanes freed by the end of a lease", lanes_freed),
        ("given out under the limit", limited),
        ("at the limit", filled),
        ("places freed by the end of a lease", places_freed),
    ]);
    counts
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, all: &BTreeMap<&str, u64>| {
            for (number, (what, times)) in all.iter().enumerate() {
                let comma = if number == 0 { "" } else { "," };
                write!(f, "{comma} {what} {times}")?;
            }
            Ok(())
        };
        write!(f, "tasks:")?;
        list(f, &self.counts)?;
        write!(f, "\nfaults:")?;
        list(f, &self.blows)?;
        writeln!(f, "; single exchanges struck: {}", self.struck)?;
        for complaint in self.complaints.iter().take(20) {
            writeln!(f, "BROKEN: {complaint}")?;
        }
        if let Some(more) = self.complaints.len().checked_sub(21) {
            writeln!(f, "BROKEN: ... and {} more", more + 1)?;
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
mod tests;
