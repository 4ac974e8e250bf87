//! The list in `mutants.toml` matches the sources and the checks of this workspace.

use std::{collections::BTreeSet, path::Path};

use dlock_core_cases::CASES;
use dlock_mutants::{Bug, Mutants, write_copy};
use dlock_testkit::wire;

fn bugs() -> Vec<Bug> {
    Mutants::listed().bugs
}

#[test]
fn every_edit_finds_its_place_once() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = tempfile::tempdir().unwrap();
    write_copy(&workspace, folder.path(), &Mutants::listed()).unwrap_or_else(|why| panic!("{why}"));
    let switches =
        std::fs::read_to_string(folder.path().join("dlock-core/src/planted.rs")).unwrap();
    assert!(switches.contains("\"NoMargin\""), "{switches}");
    let old = folder.path().join("dlock-core/src/gone.rs");
    std::fs::write(&old, "").unwrap();
    write_copy(&workspace, folder.path(), &Mutants::listed()).unwrap();
    assert!(!old.exists(), "a source that is gone stays in the copy");
}

#[test]
fn every_bug_has_a_name_and_edits_of_its_own() {
    let bugs = bugs();
    let names: BTreeSet<&str> = bugs.iter().map(|bug| bug.name.as_str()).collect();
    assert_eq!(names.len(), bugs.len(), "two bugs have one name");
    for bug in &bugs {
        assert!(!bug.edits.is_empty(), "{} changes nothing", bug.name);
    }
}

#[test]
fn bugs_name_cases_that_exist() {
    for bug in bugs() {
        if let Some(name) = bug.case {
            let known = CASES.iter().any(|case| case.name == name);
            assert!(known, "{}: {name} is no case of the frontend", bug.name);
        }
        if let Some(name) = bug.wire {
            let known = wire::CASES.iter().any(|case| case.name == name);
            assert!(known, "{}: {name} is no wire case", bug.name);
        }
    }
}
