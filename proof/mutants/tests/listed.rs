//! What `mutants.toml` lists fits the sources and the checks of this workspace.

use std::{collections::BTreeSet, path::Path};

use dlock_mutants::{Bug, Mutants, write_copy};
use dlock_proof::cases::CASES;
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
        if !bug.tasks.is_empty() {
            assert!(
                bug.rules.is_empty() && bug.unseen.is_none(),
                "{}: a bug of the queue is not played in the frontend's simulation",
                bug.name
            );
            continue;
        }
        assert_ne!(
            bug.rules.is_empty(),
            bug.unseen.is_none(),
            "{}: either rules of the simulation catch it, or it says why none does",
            bug.name
        );
    }
}

#[test]
fn bugs_name_cases_and_every_frontend_case_has_a_bug() {
    let bugs = bugs();
    let listed: BTreeSet<&str> = bugs
        .iter()
        .flat_map(|bug| bug.cases.split_whitespace())
        .collect();
    let known: BTreeSet<&str> = CASES.iter().map(|case| case.name).collect();
    let unknown: Vec<_> = listed.difference(&known).collect();
    assert!(unknown.is_empty(), "no cases of the frontend: {unknown:?}");
    let idle: Vec<_> = known.difference(&listed).collect();
    assert!(idle.is_empty(), "cases that no planted bug needs: {idle:?}");
    let wired = bugs.iter().flat_map(|bug| bug.wire.split_whitespace());
    let known = |name: &&str| wire::CASES.iter().any(|case| case.name == *name);
    let unknown: Vec<_> = wired.filter(|name| !known(name)).collect();
    assert!(unknown.is_empty(), "no wire cases: {unknown:?}");
}
