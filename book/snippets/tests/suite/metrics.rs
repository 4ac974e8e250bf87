//! The metrics that the book names are those of `METRICS.md`.

use std::{fs, path::Path};

fn page(below: &str) -> String {
    fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .join(below),
    )
    .unwrap()
}

#[test]
fn the_metrics_that_the_book_names_exist() {
    let there = page("dlock-core/METRICS.md") + &page("layers/election/METRICS.md");
    let pages = page("book/src/watching.md") + &page("book/src/losing.md");
    let named: Vec<&str> = pages
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.starts_with("dlock_"))
        // The suffixes that Prometheus adds to a histogram.
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
