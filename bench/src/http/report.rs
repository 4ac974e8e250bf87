//! What was measured of servers, as tables.

use super::{CROWD, OURS, PAIRS, crowd::Case, etcd::Way};
use crate::{
    medians::Medians,
    results::Results,
    systems::{Kind, SYSTEMS, Store},
    table::{Table, count, number},
};

/// A column: its head, and the figure.
type Column = (&'static str, &'static str);

const PAIRS_TITLE: &str = "Acquire and release on names of their own, through a server and without";
const PAIRS_COLUMNS: &[Column] = &[
    ("pairs/s", "pairs_per_second"),
    ("of direct", "of_direct"),
    ("p50, µs", "p50_us"),
    ("p99", "p99_us"),
    ("µs of the client a pair", "client_us_per_pair"),
    ("µs of the server", "server_us_per_pair"),
];

const CROWD_TITLE: &str = "Clients that wait at one server, or do nothing";
const CROWD_COLUMNS: &[Column] = &[
    ("MiB", "mib"),
    ("bytes a client", "bytes_per_client"),
    ("s to come", "arrival_s"),
    ("s of processor", "arrival_cpu_s"),
    ("cores afterwards", "cores"),
    ("cores of the store", "cores_of_the_store"),
    ("waiting", "waiting"),
    ("refused/s", "refused_per_second"),
    ("broken", "broken"),
];

const KEPT_TITLE: &str = "64 leases of 3 s that are renewed through the same server meanwhile (ms)";
const KEPT_COLUMNS: &[Column] = &[
    ("renewals", "renewals"),
    ("p50", "renewal_p50_ms"),
    ("p99", "renewal_p99_ms"),
    ("worst", "renewal_worst_ms"),
    ("least to spare", "least_spare_ms"),
    ("lost", "lost"),
];

/// Those that take turns, in the order of the tables.
pub(super) fn rivals() -> Vec<(Store, &'static str)> {
    let mut rivals = Vec::new();
    for store in [Store::Postgres, Store::SQLite] {
        let ours = SYSTEMS.iter().filter(|one| one.kind == Kind::Ours);
        let direct = ours.filter(|one| one.store == store);
        rivals.extend(direct.map(|one| (store, one.name)));
        rivals.push((store, OURS));
    }
    rivals.extend(Way::ALL.map(|way| (Store::Etcd, way.name())));
    rivals
}

/// The tables; empty if no server was measured.
pub(crate) fn render(results: &Results) -> String {
    let medians = Medians::of(results);
    let sizes = &results.sizes.http;
    let mut pairs = table(["store", "system", "clients"], PAIRS_COLUMNS);
    for clients in &sizes.clients {
        for (store, name) in rivals() {
            let get = |figure: &str| medians.get(PAIRS, store, name, &clients.to_string(), figure);
            let words = [store.to_string(), name.to_owned(), count(*clients as f64)];
            row(&mut pairs, words, PAIRS_COLUMNS, get);
        }
    }
    let mut text = titled(PAIRS_TITLE, &pairs, 3);
    for (title, columns) in [(CROWD_TITLE, CROWD_COLUMNS), (KEPT_TITLE, KEPT_COLUMNS)] {
        let mut crowd = table(["store", "clients"], columns);
        for store in [Store::Postgres, Store::SQLite] {
            for case in Case::all(sizes.crowd) {
                let case = case.name();
                let get = |figure: &str| medians.get(CROWD, store, OURS, &case, figure);
                row(&mut crowd, [store.to_string(), case.clone()], columns, get);
            }
        }
        text.push_str(&titled(title, &crowd, 2));
    }
    text
}

fn table<const N: usize>(words: [&str; N], columns: &[Column]) -> Table {
    let heads = columns.iter().map(|(head, _)| *head);
    Table::new(words.into_iter().chain(heads))
}

/// A row of what was measured; none if nothing was.
fn row<const N: usize>(
    table: &mut Table,
    words: [String; N],
    columns: &[Column],
    get: impl Fn(&str) -> Option<f64>,
) {
    let values: Vec<Option<f64>> = columns.iter().map(|(_, figure)| get(figure)).collect();
    if values.iter().any(Option::is_some) {
        let cells = columns.iter().zip(values).map(|((_, figure), value)| {
            match value {
                // These are counted.
                Some(value) if COUNTS.contains(figure) => count(value),
                value => number(value),
            }
        });
        table.row(words.into_iter().chain(cells));
    }
}

const COUNTS: [&str; 5] = ["bytes_per_client", "waiting", "broken", "renewals", "lost"];

fn titled(title: &str, table: &Table, words: usize) -> String {
    if table.is_empty() {
        return String::new();
    }
    format!("\n### {title}\n\n{}", table.render(words))
}
