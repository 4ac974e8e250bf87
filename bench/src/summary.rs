//! What to expect on a store, in a table for readers: one figure a load, beside the raw calls and the best of the others.

use crate::{
    medians::Medians,
    systems::{Entry, Kind, SYSTEMS, Store},
    table::{Table, number},
};

/// A line of the table: one figure of one load.
struct Line {
    what: &'static str,
    experiment: &'static str,
    case: &'static str,
    figure: &'static str,
    /// Of two figures the higher is the better one.
    more: bool,
}

const LINES: [Line; 6] = [
    Line {
        what: "acquire and release a free lock, µs",
        experiment: "uncontended",
        case: "",
        figure: "pair_p50_us",
        more: false,
    },
    Line {
        what: "the same, 0.25 ms away, µs",
        experiment: "network",
        case: "",
        figure: "pair_p50_us",
        more: false,
    },
    Line {
        what: "8 tasks of a process, one lock, 0 ms each: grants/s",
        experiment: "contended, one process",
        case: "0 ms",
        figure: "grants_per_second",
        more: true,
    },
    Line {
        what: "8 processes, one lock, 5 ms each: grants/s",
        experiment: "contended, 8 processes",
        case: "5 ms",
        figure: "grants_per_second",
        more: true,
    },
    Line {
        what: "from a release to the next process's grant, ms",
        experiment: "hand-off",
        case: "",
        figure: "p50_ms",
        more: false,
    },
    Line {
        what: "takeover after kill -9, lease of 3 s, ms",
        experiment: "takeover",
        case: "",
        figure: "after_last_renewal_ms",
        more: false,
    },
];

/// Set behind a figure of a system in which somebody got nothing.
const STARVES: &str = "*";

/// Empty if nothing of it was measured.
pub(crate) fn render(medians: &Medians) -> String {
    let mut table = Table::new([
        "store",
        "what",
        "dlock",
        "raw calls",
        "best of the others",
        "which is",
    ]);
    for store in Store::ALL {
        for line in &LINES {
            let of = |entry: Option<&Entry>| entry.and_then(|entry| line.cell(medians, entry));
            let Some(ours) = of(store.ours()) else {
                continue;
            };
            let missing = || number(None);
            let best = line.best(medians, store);
            table.row([
                store.to_string(),
                line.what.to_owned(),
                ours,
                of(store.raw()).unwrap_or_else(missing),
                of(best).unwrap_or_else(missing),
                best.map_or("", |entry| entry.name).to_owned(),
            ]);
        }
    }
    if table.is_empty() {
        return String::new();
    }
    table.render(2)
}

impl Line {
    fn get(&self, medians: &Medians, entry: &Entry) -> Option<f64> {
        self.figure(medians, entry, self.figure)
    }

    fn figure(&self, medians: &Medians, entry: &Entry, figure: &str) -> Option<f64> {
        medians.get(self.experiment, entry.store, entry.name, self.case, figure)
    }

    /// The figure, with a mark if somebody got nothing.
    fn cell(&self, medians: &Medians, entry: &Entry) -> Option<String> {
        let figure = number(Some(self.get(medians, entry)?));
        let starves = self
            .figure(medians, entry, "most_by_least")
            .is_some_and(f64::is_infinite);
        Some(format!("{figure}{}", if starves { STARVES } else { "" }))
    }

    /// The best of what one writes by hand and of the peers.
    fn best(&self, medians: &Medians, store: Store) -> Option<&'static Entry> {
        let others = SYSTEMS
            .iter()
            .filter(|entry| entry.store == store && matches!(entry.kind, Kind::Hand | Kind::Peer));
        others
            .filter_map(|entry| Some((entry, self.get(medians, entry)?)))
            .reduce(|best, other| {
                let better = if self.more {
                    other.1 > best.1
                } else {
                    other.1 < best.1
                };
                if better { other } else { best }
            })
            .map(|(entry, _)| entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        machine::Machine,
        results::{Results, Sample, figures},
        sizes::Sizes,
    };

    fn medians(samples: Vec<Sample>) -> Medians {
        Medians::of(&Results {
            command: String::new(),
            began: 0,
            took_seconds: 1,
            machine: Machine::here(),
            sizes: Sizes::quick(),
            failures: Vec::new(),
            samples,
        })
    }

    fn processes(system: &str, grants: f64, least: f64) -> Sample {
        Sample {
            run: 1,
            experiment: "contended, 8 processes".to_owned(),
            store: Store::Postgres,
            system: system.to_owned(),
            case: "5 ms".to_owned(),
            figures: figures([
                ("grants_per_second", grants),
                ("least_grants", least),
                ("most_grants", 40.0),
            ]),
        }
    }

    fn pair(system: &str, us: f64) -> Sample {
        Sample {
            run: 1,
            experiment: "uncontended".to_owned(),
            store: Store::Postgres,
            system: system.to_owned(),
            case: String::new(),
            figures: figures([("pair_p50_us", us)]),
        }
    }

    #[test]
    fn best_of_the_others_is_neither_ours_nor_the_raw_calls() {
        let text = render(&medians(vec![
            pair("dlock", 31.0),
            pair("dlock, polling", 12.0),
            pair("raw compare-and-set", 13.0),
            pair("SELECT FOR UPDATE, by hand", 15.0),
            pair("advisory lock, by hand", 14.0),
            processes("dlock", 141.0, 0.0),
            processes("SELECT FOR UPDATE, by hand", 151.0, 39.0),
            processes("advisory lock, by hand", 163.0, 0.0),
            processes("sqlx advisory lock", 152.0, 39.0),
        ]));
        let rows: Vec<Vec<&str>> = text
            .lines()
            .skip(2)
            .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
            .collect();
        let [pair, processes] = rows.as_slice() else {
            panic!("{text}");
        };
        let figures = |row: &[&str]| row[2..].join(" | ");
        assert_eq!(figures(pair), "31.0 | 13.0 | 14.0 | advisory lock, by hand");
        assert_eq!(
            figures(processes),
            "141* | – | 163* | advisory lock, by hand"
        );
    }

    #[test]
    fn nothing_measured_is_no_table() {
        assert!(render(&medians(Vec::new())).is_empty());
    }
}
