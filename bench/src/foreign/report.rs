//! What was measured of locks of other languages, as tables.

use super::entries;
use crate::{
    medians::Medians,
    results::Results,
    systems::Store,
    table::{Table, number},
};

/// What the samples of the loads are called.
pub(crate) const UNCONTENDED: &str = "foreign: uncontended";
pub(crate) const ONE_PROCESS: &str = "foreign: one process";
pub(crate) const PROCESSES: &str = "foreign: 8 processes";
pub(crate) const HANDOFF: &str = "foreign: hand-off";

/// A table: its heading, its samples, its columns.
struct Section {
    title: &'static str,
    experiment: &'static str,
    case: &'static str,
    columns: &'static [(&'static str, &'static str)],
}

/// What a foreign process asks is not counted.
const CONTENDED: &[(&str, &str)] = &[
    ("grants/s", "grants_per_second"),
    ("of the possible", "possible_share"),
    ("wait p50, ms", "wait_p50_ms"),
    ("p99", "wait_p99_ms"),
    ("worst", "wait_worst_ms"),
    ("worst in cycles", "worst_in_cycles"),
    ("most/least", "most_by_least"),
];

const SECTIONS: &[Section] = &[
    Section {
        title: "Beside other languages: acquire and release, one task (µs)",
        experiment: UNCONTENDED,
        case: "",
        columns: &[
            ("acquire p50", "acquire_p50_us"),
            ("p99", "acquire_p99_us"),
            ("release p50", "release_p50_us"),
            ("p99", "release_p99_us"),
            ("pair p50", "pair_p50_us"),
            ("p99", "pair_p99_us"),
            ("pairs before", "warm_pairs"),
        ],
    },
    Section {
        title: "Beside other languages: 8 waiters of one process, critical section of 0 ms",
        experiment: ONE_PROCESS,
        case: "0 ms",
        columns: CONTENDED,
    },
    Section {
        title: "Beside other languages: 8 waiters of one process, critical section of 5 ms",
        experiment: ONE_PROCESS,
        case: "5 ms",
        columns: CONTENDED,
    },
    Section {
        title: "Beside other languages: 8 processes, critical section of 0 ms",
        experiment: PROCESSES,
        case: "0 ms",
        columns: CONTENDED,
    },
    Section {
        title: "Beside other languages: 8 processes, critical section of 5 ms",
        experiment: PROCESSES,
        case: "5 ms",
        columns: CONTENDED,
    },
    Section {
        title: "Beside other languages: hand-off between two processes (ms)",
        experiment: HANDOFF,
        case: "",
        columns: &[
            ("p50", "p50_ms"),
            ("p99", "p99_ms"),
            ("hand-offs a run", "handoffs"),
        ],
    },
];

/// The tables; empty if nothing of it was measured.
pub(crate) fn render(results: &Results) -> String {
    let medians = Medians::of(results);
    let mut text = String::new();
    for section in SECTIONS {
        let table = section.table(&medians);
        if !table.is_empty() {
            text.push_str(&format!("\n### {}\n\n{}", section.title, table.render(2)));
        }
    }
    text
}

impl Section {
    fn table(&self, medians: &Medians) -> Table {
        let head = ["store", "system"].into_iter();
        let mut table = Table::new(head.chain(self.columns.iter().map(|(name, _)| *name)));
        for entry in Store::ALL.into_iter().flat_map(entries) {
            let (store, name) = (entry.store, entry.name);
            let get = |figure| medians.get(self.experiment, store, name, self.case, figure);
            let values: Vec<Option<f64>> =
                self.columns.iter().map(|(_, figure)| get(figure)).collect();
            if values.iter().any(Option::is_some) {
                let words = [store.to_string(), name.to_owned()];
                table.row(words.into_iter().chain(values.into_iter().map(number)));
            }
        }
        table
    }
}

/// Whether a sample is one of these loads.
pub(crate) fn is_foreign(experiment: &str) -> bool {
    experiment.starts_with("foreign: ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        machine::Machine,
        results::{Sample, figures},
        sizes::Sizes,
    };

    #[test]
    fn what_is_possible_comes_from_the_raw_pair_of_the_same_load() {
        let sample = |experiment: &str, system: &str, case: &str, figures| Sample {
            run: 1,
            experiment: experiment.to_owned(),
            store: Store::Redis,
            system: system.to_owned(),
            case: case.to_owned(),
            figures,
        };
        let raw = Store::Redis.raw().map_or("", |raw| raw.name);
        let pair = |micros| figures([("acquire_p50_us", micros), ("release_p50_us", micros)]);
        let grants = figures([("grants_per_second", 1000.0), ("section_us", 200.0)]);
        let results = Results {
            command: String::new(),
            began: 0,
            took_seconds: 1,
            machine: Machine::here(),
            sizes: Sizes::quick(),
            failures: Vec::new(),
            samples: vec![
                sample("uncontended", raw, "", pair(400.0)),
                sample(UNCONTENDED, raw, "", pair(150.0)),
                sample(ONE_PROCESS, "redsync (Go)", "0 ms", grants),
            ],
        };
        let medians = Medians::of(&results);
        let share = medians.get(
            ONE_PROCESS,
            Store::Redis,
            "redsync (Go)",
            "0 ms",
            "possible_share",
        );
        assert_eq!(share, Some(0.5));
        assert!(render(&results).contains("redsync (Go)"));
    }
}
