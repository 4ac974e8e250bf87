//! The figures that the book shows are those of the page that owns them, `BENCHMARKS.md`, and the metrics that it
//! names are those of `METRICS.md`.

use std::{fs, path::Path};

/// A table of the page, by its heading: the cells of each row.
fn table(page: &str, heading: &str) -> Vec<Vec<String>> {
    let (_, rest) = page.split_once(&format!("### {heading}")).unwrap();
    let rows = rest
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .skip(2);
    rows.take_while(|line| line.starts_with('|'))
        .map(|line| {
            line.trim_matches('|')
                .split('|')
                .map(|cell| cell.trim().to_owned())
                .collect()
        })
        .collect()
}

/// The cell of this row, of a store and a system, below this number of a column.
fn cell(table: &[Vec<String>], store: &str, system: &str, column: usize) -> String {
    let row = table.iter().find(|row| row[0] == store && row[1] == system);
    row.unwrap_or_else(|| panic!("no {system} on {store}"))[column].clone()
}

fn page(below: &str) -> String {
    fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .join(below),
    )
    .unwrap()
}

/// As the book writes them: 1410 is 1,410.
fn thousands(number: &str) -> String {
    let digits = number.replace(',', "");
    match digits.len() {
        4.. => format!(
            "{},{}",
            &digits[..digits.len() - 3],
            &digits[digits.len() - 3..]
        ),
        _ => digits,
    }
}

#[test]
fn the_page_on_stores_shows_what_was_measured() {
    let (stores, benchmarks) = (page("book/src/stores.md"), page("BENCHMARKS.md"));
    let pairs = table(&benchmarks, "Uncontended");
    let throughput = table(&benchmarks, "Throughput");
    let hand_off = table(&benchmarks, "Hand-off between two processes");
    let takeover = table(&benchmarks, "Takeover after kill -9");
    for (store, shown) in [
        ("SQLite", "SQLite"),
        ("Postgres", "PostgreSQL"),
        ("Redis", "Redis"),
        ("DynamoDB-compatible", "DynamoDB-compatible store"),
    ] {
        let seconds: f64 = cell(&takeover, store, "dlock", 2).parse().unwrap();
        let row = format!(
            "| {shown} | {} µs | {} | {} ms | {:.2} s |",
            thousands(&cell(&pairs, store, "dlock", 6)),
            thousands(&cell(&throughput, store, "dlock", 4)),
            thousands_or_as_it_is(&cell(&hand_off, store, "dlock", 2)),
            seconds / 1000.0
        );
        assert!(stores.contains(&row), "the page on stores lacks {row}");
    }
}

#[test]
fn the_pages_that_compare_a_pair_show_what_was_measured() {
    let pairs = table(&page("BENCHMARKS.md"), "Uncontended");
    let round = |store, system| {
        format!(
            "{:.0}",
            cell(&pairs, store, system, 6).parse::<f64>().unwrap()
        )
    };
    let (redis, redis_by_hand) = (
        round("Redis", "dlock"),
        round("Redis", "SET NX + Lua, by hand"),
    );
    let (postgres, advisory) = (
        round("Postgres", "dlock"),
        round("Postgres", "advisory lock, by hand"),
    );
    let stores = page("book/src/stores.md").replace('\n', " ");
    assert!(stores.contains(&format!(
        "takes {redis_by_hand} µs where dlock takes {redis}"
    )));
    assert!(stores.contains(&format!(
        "advisory lock of PostgreSQL {advisory} µs where dlock takes {postgres}"
    )));
    let moving = page("book/src/moving/advisory.md").replace('\n', " ");
    assert!(moving.contains(&format!(
        "{advisory} µs for a pair where dlock takes {postgres}"
    )));
}

#[test]
fn the_metrics_that_the_book_names_exist() {
    let there = page("dlock-core/METRICS.md") + &page("dlock-election/METRICS.md");
    let pages = page("book/src/watching.md") + &page("book/src/losing.md");
    let named: Vec<&str> = pages
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.starts_with("dlock_"))
        // What Prometheus makes of a histogram.
        .map(|word| {
            word.trim_end_matches("_sum")
                .trim_end_matches("_count")
                .trim_end_matches("_bucket")
        })
        .collect();
    assert!(named.len() > 5, "{named:?}");
    for metric in named {
        assert!(
            there.contains(&format!("`{metric}`")),
            "no metric is called {metric}"
        );
    }
}

fn thousands_or_as_it_is(number: &str) -> String {
    match number.contains('.') {
        true => number.to_owned(),
        false => thousands(number),
    }
}
