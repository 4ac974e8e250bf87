//! What was measured of queues, as tables.

use super::{Acks, QUEUES};
use crate::{
    medians::Medians,
    results::Results,
    systems::Store,
    table::{Table, count, number},
};

/// A table of one kind of load.
struct Section {
    title: &'static str,
    experiment: &'static str,
    /// The head of a column for the cases, or none.
    case: Option<&'static str>,
    columns: &'static [(&'static str, &'static str)],
}

const SECTIONS: &[Section] = &[
    Section {
        title: "Tasks that do nothing: how many in a second, and what each costs the server",
        experiment: "tasks: throughput",
        case: Some("workers"),
        columns: &[
            ("enqueued/s", "enqueued_per_second"),
            ("run/s", "run_per_second"),
            ("log, bytes a task", "wal_bytes"),
            ("of it to enqueue", "enqueue_wal_bytes"),
            ("statements a task", "statements"),
        ],
    },
    Section {
        title: "From the enqueueing of a task to its start (ms)",
        experiment: "tasks: latency",
        case: Some("load"),
        columns: &[("p50", "p50_ms"), ("p99", "p99_ms")],
    },
    Section {
        title: "800 tasks a second while an old snapshot is open: the first tenth of the time, and the last (ms)",
        experiment: "tasks: old snapshot",
        case: None,
        columns: &[
            ("run of the offered, at the end", "of_offered"),
            ("to start p50, first", "start_p50_ms"),
            ("last", "end_p50_ms"),
            ("p99, first", "start_p99_ms"),
            ("last", "end_p99_ms"),
            ("claim p99, first", "claim_start_p99_ms"),
            ("last", "claim_end_p99_ms"),
        ],
    },
    Section {
        title: "An idle worker",
        experiment: "tasks: idle",
        case: None,
        columns: &[
            ("statements/s", "statements_per_second"),
            ("log, bytes/s", "wal_bytes_per_second"),
        ],
    },
    Section {
        title: "After kill -9 of a worker, lease of 3 s (ms)",
        experiment: "tasks: crash",
        case: None,
        columns: &[("its task begins again after", "after_kill_ms")],
    },
    Section {
        title: "A claim of ten tasks, by the number of tasks in the queue (µs)",
        experiment: "tasks: backlog",
        case: Some("tasks"),
        columns: &[
            ("p50", "claim_p50_us"),
            ("p99", "claim_p99_us"),
            ("the first", "claim_first_us"),
        ],
    },
    Section {
        title: "A claim and two heartbeats of each task: updates that touch no index",
        experiment: "tasks: updates",
        case: Some("fillfactor"),
        columns: &[("share", "hot_share"), ("updates", "updates")],
    },
    Section {
        title: "A claim of ten tasks behind dead entries that a snapshot keeps (µs)",
        experiment: "tasks: dead entries",
        case: Some("dead entries"),
        columns: &[
            ("from the beginning", "claim_from_the_beginning_us"),
            ("after the last claim, p50", "claim_p50_us"),
        ],
    },
    Section {
        title: "A claim of ten tasks, by priorities (µs)",
        experiment: "tasks: priorities",
        case: Some("tasks"),
        columns: &[("p50", "claim_p50_us"), ("of an empty queue", "empty_us")],
    },
];

/// The tables; empty if no queue was measured.
pub(crate) fn render(results: &Results) -> String {
    let medians = Medians::of(results);
    let mut text = String::new();
    for section in SECTIONS {
        let table = section.table(&medians);
        if !table.is_empty() {
            let words = 2 + usize::from(section.case.is_some());
            text.push_str(&format!(
                "\n### {}\n\n{}",
                section.title,
                table.render(words)
            ));
        }
    }
    text
}

impl Section {
    fn table(&self, medians: &Medians) -> Table {
        let mut head = vec!["store", "queue"];
        head.extend(self.case);
        head.extend(self.columns.iter().map(|(name, _)| *name));
        let mut table = Table::new(head);
        let mut cases: Vec<&str> = QUEUES
            .iter()
            .flat_map(|queue| medians.cases(self.experiment, queue.store, queue.name))
            .collect();
        // Numbers by size, words by the alphabet.
        cases.sort_by_key(|case| (case.parse::<u64>().unwrap_or(0), *case));
        cases.dedup();
        for case in cases {
            for queue in QUEUES {
                let get =
                    |figure| medians.get(self.experiment, queue.store, queue.name, case, figure);
                let values: Vec<Option<f64>> =
                    self.columns.iter().map(|(_, figure)| get(figure)).collect();
                if values.iter().all(Option::is_none) {
                    continue;
                }
                let name = match (queue.acks, queue.store) {
                    (Acks::Together, _) => format!("{} *", queue.name),
                    (Acks::Each, _) => queue.name.to_owned(),
                };
                let mut cells = vec![queue.store.to_string(), name];
                if self.case.is_some() {
                    cells.push(case.parse().map_or(case.to_owned(), count));
                }
                cells.extend(values.into_iter().map(number));
                table.row(cells);
            }
        }
        table
    }
}

/// Whether a sample is one of a queue.
pub(crate) fn is_of_a_queue(experiment: &str) -> bool {
    experiment.starts_with("tasks: ")
}

/// The queues on a store that somebody else made.
pub(crate) fn peers(store: Store) -> impl Iterator<Item = &'static super::Entry> {
    use crate::systems::Kind;
    let all = QUEUES.iter();
    all.filter(move |queue| queue.kind == Kind::Peer && queue.store == store)
}
