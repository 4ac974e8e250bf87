//! The table of checks in `GUIDE.md`: every check has a row that names a test.

use std::{fs, path::Path};

/// The number of checks.
const CHECKS: u32 = 17;

#[test]
fn every_check_has_a_row_that_names_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let guide = fs::read_to_string(root.join("GUIDE.md")).unwrap();
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

    for row in rows {
        let named = row.rsplit('|').nth(1).unwrap();
        assert!(named.contains('`'), "no test: {row}");
    }
}
