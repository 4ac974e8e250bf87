//! `RELIABILITY.md` points only to tests that exist, and answers every invariant.

#![expect(clippy::expect_used, reason = "in a test, that is how it fails")]

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use dlock_proof::cases;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("the crate lies in a workspace")
        .to_owned()
}

fn page() -> String {
    fs::read_to_string(root().join("RELIABILITY.md")).expect("the page exists")
}

/// Words of the page in code type that look like the name of a test.
fn named(page: &str) -> BTreeSet<&str> {
    page.split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| {
            word.contains('_')
                && word
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        })
        .collect()
}

/// Adds the names of all functions below a folder.
fn functions(folder: &Path, names: &mut BTreeSet<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() {
            if name != "target" && name != ".git" {
                functions(&path, names)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path)?;
            names.extend(
                text.split("fn ")
                    .skip(1)
                    .filter_map(|rest| rest.split(['(', '<']).next())
                    .map(str::to_owned),
            );
        }
    }
    Ok(())
}

#[test]
fn every_test_that_the_page_names_exists() {
    let mut names: BTreeSet<String> = dlock_testkit::CASES
        .iter()
        .chain(cases::CASES)
        .map(|case| case.name.to_owned())
        .collect();
    functions(&root(), &mut names).expect("the sources can be read");
    let page = page();
    let named = named(&page);
    assert!(named.len() > 80, "the page names only {}", named.len());
    let gone: Vec<_> = named
        .iter()
        .filter(|name| !names.contains(**name))
        .collect();
    assert!(gone.is_empty(), "tests that are gone: {gone:?}");
}

#[test]
fn every_invariant_has_its_line() {
    let page = page();
    for number in 1..=18 {
        let line = page
            .lines()
            .find(|line| line.starts_with(&format!("| I{number} |")))
            .unwrap_or_else(|| panic!("I{number} has no line"));
        assert!(!named(line).is_empty(), "no test answers I{number}");
    }
}
