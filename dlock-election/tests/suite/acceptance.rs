//! The table of checks in `GUIDE.md`: every check has a row, and every test that a row names is there.

use std::{collections::BTreeSet, fs, path::Path};

/// How many checks there are.
const CHECKS: u32 = 17;

#[test]
fn every_check_has_a_row_and_its_tests_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let guide = fs::read_to_string(root.join("dlock-election/GUIDE.md")).unwrap();
    let rows: Vec<&str> = guide
        .lines()
        .filter(|line| line.starts_with("| 002-"))
        .collect();
    let ids: Vec<&str> = rows
        .iter()
        .map(|row| row.split(' ').nth(1).unwrap())
        .collect();
    let wanted: Vec<String> = (1..=CHECKS).map(|number| format!("002-{number}")).collect();
    assert_eq!(ids, wanted);

    let there = tests_of(root);
    for row in rows {
        let named = row.rsplit('|').nth(1).unwrap();
        let named: Vec<&str> = named.split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty(), "no test: {row}");
        for test in named {
            assert!(there.contains(test), "no test of this name: {test}");
        }
    }
}

/// The names of all functions in the folders where tests and stories are.
fn tests_of(root: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut folders = vec![
        root.join("dlock-election/tests"),
        root.join("dlock-dynamodb/tests"),
        root.join("proof/frontend/src/election"),
        root.join("examples/tests"),
    ];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                names.extend(functions(&fs::read_to_string(&path).unwrap()));
            }
        }
    }
    names
}

/// `fn name(`, and `name: ` where a macro makes a test of each line.
fn functions(text: &str) -> Vec<String> {
    let named = |line: &str| {
        let line = line.trim();
        let (_, rest) = line.split_once("fn ").unwrap_or(("", line));
        let name = rest.split(['(', ':']).next().unwrap_or_default();
        name.to_owned()
    };
    text.lines().map(named).collect()
}
