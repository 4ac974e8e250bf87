//! Runs as tables: the short one of `BENCHMARKS.md`, and full ones with every figure.

use anyhow::{Context as _, Result};
use clap::ValueEnum as _;

use crate::{
    loads::{Line, Load},
    medians::{Medians, Row},
    results::Results,
    systems::{Kind, Store},
    table::{Table, number},
};

/// The short table of a page stands between these lines.
const PLACE: [&str; 2] = ["<!-- figures: begin -->\n", "<!-- figures: end -->\n"];

/// Appended to a figure of a system in which a waiter got nothing.
const STARVES: &str = "*";

/// The page, with its short table replaced by that of these runs.
pub(crate) fn insert(runs: &[Results], page: &str) -> Result<String> {
    let place = || format!("the page has no lines {PLACE:?}");
    let (before, rest) = page.split_once(PLACE[0]).with_context(place)?;
    let (_, after) = rest.split_once(PLACE[1]).with_context(place)?;
    let [begin, end] = PLACE;
    let table = short(&Medians::of(runs));
    Ok(format!(
        "{before}{begin}\n{}\n{table}\n{end}{after}",
        heads(runs)
    ))
}

/// All tables.
pub(crate) fn render(runs: &[Results]) -> String {
    let medians = Medians::of(runs);
    let mut text = format!("{}\n{}", heads(runs), short(&medians));
    for load in Load::value_variants() {
        text.push_str(&detail(&medians, *load));
    }
    let mut failures = runs.iter().flat_map(|results| &results.failures).peekable();
    if failures.peek().is_some() {
        text.push_str("\n### Failures\n\n");
        for failure in failures {
            text.push_str(&format!("- {failure}\n"));
        }
    }
    text
}

/// Where and when each run was measured.
fn heads(runs: &[Results]) -> String {
    let head = |results: &Results| {
        let machine = &results.machine;
        format!(
            "- {}: {} processors ({}), Linux {}; {}; {}; {}; commit {}; {} runs in {} s; load at the start {}.\n",
            results.date,
            machine.processors,
            machine.processor,
            machine.kernel,
            machine.redis.split(" sha=").next().unwrap_or_default(),
            machine.postgres,
            machine.rustc,
            machine.commit,
            results.runs,
            results.took_seconds,
            machine.load,
        )
    };
    runs.iter().map(head).collect()
}

/// One figure a load: ours, the raw calls, the best of the others.
fn short(medians: &Medians) -> String {
    let mut table = Table::new([
        "store",
        "what",
        "dlock",
        "raw calls",
        "best of the others",
        "which is",
    ]);
    for store in Store::value_variants() {
        for load in Load::value_variants() {
            for line in load.page().lines {
                let Some(ours) = medians.ours(*load, line.case, *store) else {
                    continue;
                };
                let cell =
                    |row: Option<&Row>| row.map_or_else(|| number(None), |row| line.cell(row));
                let best = line.best(medians.of_case(*load, line.case, *store));
                table.row([
                    store.to_string(),
                    line.what.to_owned(),
                    line.cell(ours),
                    cell(medians.raw(*load, line.case, *store)),
                    cell(best),
                    best.map_or("", |row| &row.system).to_owned(),
                ]);
            }
        }
    }
    table.render(2)
}

impl Line {
    /// The figure, with a mark if a waiter got nothing.
    fn cell(&self, row: &Row) -> String {
        let starves = row.get("most_by_least").is_some_and(f64::is_infinite);
        format!(
            "{}{}",
            number(row.get(self.figure)),
            if starves { STARVES } else { "" }
        )
    }

    /// The best of the handwritten locks and of the peers.
    fn best<'a>(&self, rows: impl Iterator<Item = &'a Row>) -> Option<&'a Row> {
        let figure = |row: &&Row| row.get(self.figure).unwrap_or(f64::NAN);
        let others = rows.filter(|row| matches!(row.kind, Kind::Hand | Kind::Peer));
        let by = |a: &&Row, b: &&Row| figure(a).total_cmp(&figure(b));
        if self.more {
            others.max_by(by)
        } else {
            others.min_by(by)
        }
    }
}

/// Every figure of a load; empty if it was not measured.
fn detail(medians: &Medians, load: Load) -> String {
    let page = load.page();
    let heads = page.columns.iter().map(|(head, _)| *head);
    let mut table = Table::new(["store", "case", "system"].into_iter().chain(heads));
    for row in medians.of_load(load) {
        let words = [row.store.to_string(), row.case.clone(), row.system.clone()];
        let figures = page
            .columns
            .iter()
            .map(|(_, figure)| number(row.get(figure)));
        table.row(words.into_iter().chain(figures));
    }
    if table.is_empty() {
        return String::new();
    }
    format!("\n### {}\n\n{}", page.title, table.render(3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::results;

    fn runs() -> [Results; 1] {
        let pair = |system, kind, value| (Load::Pair, "", system, kind, "pair_p50_us", value);
        [results(&[
            pair("dlock", Kind::Ours, 31.0),
            pair("dlock, polling", Kind::Ours, 12.0),
            pair("raw compare-and-set", Kind::Raw, 13.0),
            pair("SELECT FOR UPDATE, by hand", Kind::Hand, 15.0),
            pair("advisory lock, by hand", Kind::Hand, 14.0),
        ])]
    }

    #[test]
    fn best_of_the_others_is_neither_ours_nor_the_raw_calls() {
        let text = short(&Medians::of(&runs()));
        let row = text.lines().nth(2).unwrap_or_default();
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(
            cells[2..],
            ["31.0", "13.0", "14.0", "advisory lock, by hand"]
        );
    }

    #[test]
    fn table_replaces_the_one_between_the_marks() -> Result<()> {
        let [begin, end] = PLACE;
        // Measured once: they have the load of the machine.
        let runs = runs();
        let once = insert(&runs, &format!("a\n{begin}old\n{end}z\n"))?;
        assert!(once.starts_with("a\n") && once.ends_with("z\n") && !once.contains("old"));
        assert_eq!(insert(&runs, &once)?, once);
        assert!(insert(&runs, "no marks").is_err());
        Ok(())
    }
}
