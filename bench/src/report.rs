//! A run as tables.

mod document;

use std::fmt::Write as _;

pub(crate) use self::document::insert;
use crate::{
    foreign, http, layers,
    medians::Medians,
    results::Results,
    systems::{Entry, SYSTEMS},
    table::{Table, count, number},
    tasks,
};

/// A table of one kind of load: its heading, what it is called in the samples, its columns.
struct Section {
    title: &'static str,
    experiment: &'static str,
    /// A column of its own for the case; otherwise there is none or it is given here.
    case: Case,
    columns: &'static [(&'static str, &'static str)],
}

#[derive(Clone, Copy)]
enum Case {
    /// All cases of the samples, as a column with this head.
    Column(&'static str),
    /// One table for this case.
    Only(&'static str),
}

const CONTENDED: &[(&str, &str)] = &[
    ("grants/s", "grants_per_second"),
    ("of the possible", "possible_share"),
    ("wait p50, ms", "wait_p50_ms"),
    ("p99", "wait_p99_ms"),
    ("worst", "wait_worst_ms"),
    ("worst in cycles", "worst_in_cycles"),
    ("most/least", "most_by_least"),
    ("commands a grant", "commands_per_grant"),
];

const SECTIONS: &[Section] = &[
    Section {
        title: "Uncontended: acquire and release, one task (µs)",
        experiment: "uncontended",
        case: Case::Only(""),
        columns: &[
            ("acquire p50", "acquire_p50_us"),
            ("p99", "acquire_p99_us"),
            ("release p50", "release_p50_us"),
            ("p99", "release_p99_us"),
            ("pair p50", "pair_p50_us"),
            ("p99", "pair_p99_us"),
        ],
    },
    Section {
        title: "The same through a network of 0.25 ms each way (µs)",
        experiment: "network",
        case: Case::Only(""),
        columns: &[
            ("acquire p50", "acquire_p50_us"),
            ("p99", "acquire_p99_us"),
            ("release p50", "release_p50_us"),
            ("p99", "release_p99_us"),
            ("pair p50", "pair_p50_us"),
            ("p99", "pair_p99_us"),
        ],
    },
    Section {
        title: "8 waiters of one process, critical section of 0 ms",
        experiment: "contended, one process",
        case: Case::Only("0 ms"),
        columns: CONTENDED,
    },
    Section {
        title: "8 waiters of one process, critical section of 5 ms",
        experiment: "contended, one process",
        case: Case::Only("5 ms"),
        columns: CONTENDED,
    },
    Section {
        title: "8 processes, critical section of 0 ms",
        experiment: "contended, 8 processes",
        case: Case::Only("0 ms"),
        columns: CONTENDED,
    },
    Section {
        title: "8 processes, critical section of 5 ms",
        experiment: "contended, 8 processes",
        case: Case::Only("5 ms"),
        columns: CONTENDED,
    },
    Section {
        title: "Hand-off between two processes, from the release to the other's grant (ms)",
        experiment: "hand-off",
        case: Case::Only(""),
        columns: &[
            ("p50", "p50_ms"),
            ("p99", "p99_ms"),
            ("hand-offs a run", "handoffs"),
        ],
    },
    Section {
        title: "Takeover after kill -9, lease of 3 s (ms)",
        experiment: "takeover",
        case: Case::Only(""),
        columns: &[("after the last renewal", "after_last_renewal_ms")],
    },
    Section {
        title: "An idle waiter",
        experiment: "idle waiter",
        case: Case::Only(""),
        columns: &[("calls in a poll interval", "calls_per_poll")],
    },
    Section {
        title: "More waiters of one process on one name, critical section of 0 ms",
        experiment: "waiters",
        case: Case::Column("waiters"),
        columns: &[
            ("grants/s", "grants_per_second"),
            ("wait p50, ms", "wait_p50_ms"),
            ("worst", "wait_worst_ms"),
            ("commands a grant", "commands_per_grant"),
        ],
    },
    Section {
        title: "Renewing a thousand leases, through the provider (µs a lease)",
        experiment: "renewing 1,000 leases",
        case: Case::Column("how"),
        columns: &[("µs", "us_per_lease")],
    },
    Section {
        title: "Leases that renew themselves, lease of 15 s, every 5 s",
        experiment: "renewals",
        case: Case::Column("leases"),
        columns: &[
            ("least to spare, ms", "least_spare_ms"),
            ("cores of ours", "cores_of_ours"),
            ("µs of ours a renewal", "us_of_ours_per_renewal"),
            ("cores of the store", "cores_of_the_store"),
            ("µs of the store", "us_of_the_store_per_renewal"),
            ("bytes a lease", "bytes_per_lease"),
            ("taken/s", "taken_per_second"),
        ],
    },
    Section {
        title: "More names in the table: acquire and release of any of them (µs)",
        experiment: "growth",
        case: Case::Column("names"),
        columns: &[
            ("acquire p50", "acquire_p50_us"),
            ("release p50", "release_p50_us"),
            ("pair p99", "pair_p99_us"),
            ("bytes a name", "bytes_per_name"),
        ],
    },
    Section {
        title: "Log of Postgres (bytes an operation)",
        experiment: "costs",
        case: Case::Only(""),
        columns: &[
            ("acquire", "acquire_wal_bytes"),
            ("renewal", "renew_wal_bytes"),
            ("refused", "refused_wal_bytes"),
            ("release", "release_wal_bytes"),
        ],
    },
    Section {
        title: "Capacity of DynamoDB, as the compatible store accounts for it (units an operation)",
        experiment: "costs",
        case: Case::Only(""),
        columns: &[
            ("acquire", "acquire_units"),
            ("renewal", "renew_units"),
            ("read", "read_units"),
            ("release", "release_units"),
        ],
    },
];

/// The whole run.
pub(crate) fn render(results: &Results) -> String {
    let mut text = if results.parts().locks {
        render_locks(results)
    } else {
        head(results)
    };
    text.push_str(&tasks::report::render(results));
    text.push_str(&http::report::render(results));
    text.push_str(&foreign::report::render(results));
    if !results.failures.is_empty() {
        text.push_str("\n### What failed\n\n");
        for failure in &results.failures {
            text.push_str(&format!("- {failure}\n"));
        }
    }
    text
}

fn render_locks(results: &Results) -> String {
    let medians = Medians::of(results);
    let mut text = head(results);
    for section in SECTIONS {
        let table = section.table(&medians);
        if !table.is_empty() {
            let words = 2 + usize::from(matches!(section.case, Case::Column(_)));
            text.push_str(&format!(
                "\n### {}\n\n{}",
                section.title,
                table.render(words)
            ));
        }
        if section.experiment == "network" {
            text.push_str(&layers::render(&medians));
            text.push_str(&throughput(&medians, &results.sizes.tasks));
        }
    }
    text.push_str(&crate::mixes::render(results));
    text.push_str(&crate::paper::render(results));
    text
}

impl Section {
    fn table(&self, medians: &Medians) -> Table {
        let mut head = vec!["store", "system"];
        if let Case::Column(name) = self.case {
            head.push(name);
        }
        head.extend(self.columns.iter().map(|(name, _)| *name));
        let mut table = Table::new(head);
        for entry in SYSTEMS {
            let cases = match self.case {
                Case::Only(case) => vec![case],
                Case::Column(_) => {
                    let mut cases = medians.cases(self.experiment, entry.store, entry.name);
                    cases.sort_by_key(|case| case.parse::<u64>().unwrap_or(0));
                    cases
                }
            };
            for case in cases {
                self.row(&mut table, medians, entry, case);
            }
        }
        table
    }

    fn row(&self, table: &mut Table, medians: &Medians, entry: &Entry, case: &str) {
        let (experiment, store, name) = (self.experiment, entry.store, entry.name);
        let get = |figure| medians.get(experiment, store, name, case, figure);
        let values: Vec<Option<f64>> = self.columns.iter().map(|(_, figure)| get(figure)).collect();
        if values.iter().all(Option::is_none) {
            return;
        }
        let mut cells = vec![store.to_string(), name.to_owned()];
        if let Case::Column(_) = self.case {
            cells.push(case.parse().map_or(case.to_owned(), count));
        }
        cells.extend(values.into_iter().map(number));
        table.row(cells);
    }
}

/// Tasks side by side.
fn throughput(medians: &Medians, tasks: &[usize]) -> String {
    let heads = tasks.iter().map(|tasks| format!("{tasks} tasks"));
    let mut table = Table::new(
        ["store", "system"]
            .map(str::to_owned)
            .into_iter()
            .chain(heads),
    );
    for entry in SYSTEMS {
        let get = |tasks: &usize| {
            let case = format!("{tasks} tasks");
            medians.get(
                "throughput",
                entry.store,
                entry.name,
                &case,
                "pairs_per_second",
            )
        };
        let values: Vec<Option<f64>> = tasks.iter().map(get).collect();
        if values.iter().any(Option::is_some) {
            let cells = values.into_iter().map(number);
            let words = [entry.store.to_string(), entry.name.to_owned()];
            table.row(words.into_iter().chain(cells));
        }
    }
    if table.is_empty() {
        return String::new();
    }
    format!(
        "\n### Throughput: acquire and release on names of their own (pairs/s)\n\n{}",
        table.render(2)
    )
}

fn head(results: &Results) -> String {
    let machine = &results.machine;
    let mut text = String::new();
    // Where nothing of them was measured, they do not matter.
    let mut others = String::new();
    for (version, measured) in [
        (&machine.etcd, results.parts().servers),
        (&machine.go, results.has_foreign()),
        (&machine.java, results.has_foreign()),
    ] {
        if measured && !version.is_empty() {
            others.push_str(&format!("{version}; "));
        }
    }
    let _fits = writeln!(
        text,
        "{} processors ({}), {} MiB, Linux {}; {}; {}; {others}{}; commit {}. \
         {} runs in {} s; load at the start {}.",
        machine.processors,
        machine.processor,
        machine.memory_mib,
        machine.kernel,
        machine.redis,
        machine.postgres,
        machine.rustc,
        machine.commit,
        results.sizes.runs,
        results.took_seconds,
        machine.load,
    );
    text
}
