//! For every planted bug of a task store, a case fails, and every case catches one.

use dlock_proof::planted::{TaskFlaw, caught_of_tasks, survivors};
use dlock_testkit::tasks::{TASK_CASES, TaskCase};

#[test]
#[ignore = "each flaw, until a case fails: scripts/proof"]
fn every_flaw_is_caught() {
    let is_caught = |flaw: &TaskFlaw| {
        let fails = |case: &TaskCase| caught_of_tasks(Some(*flaw), case).is_err();
        TASK_CASES.iter().any(fails)
    };
    let survivors = survivors(TaskFlaw::ALL, is_caught);
    assert!(survivors.is_empty(), "no case fails for {survivors:?}");
}

#[test]
#[ignore = "each case against each flaw, until it fails: scripts/proof"]
fn every_case_catches_a_flaw() {
    let bites = |case: &TaskCase| {
        let fails = |flaw: &TaskFlaw| caught_of_tasks(Some(*flaw), case).is_err();
        TaskFlaw::ALL.iter().any(fails)
    };
    let idle = survivors(TASK_CASES, bites);
    assert!(idle.is_empty(), "cases that no flaw fails: {idle:?}");
}

#[test]
fn without_a_flaw_every_case_passes() {
    for case in TASK_CASES {
        assert_eq!(caught_of_tasks(None, case), Ok(()), "{}", case.name);
    }
}
