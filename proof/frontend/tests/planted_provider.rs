//! For every planted bug of a provider, a case fails: each flaw runs against the cases of a provider's calls in paused
//! time, until one fails. The bugs of the frontend are in `proof/mutants`.

use dlock_core::provider::Discipline;
use dlock_proof::planted::{Flaw, caught, survivors};
use dlock_testkit::{CASES, Case};

#[test]
fn every_flaw_is_caught() {
    let of_calls: Vec<&Case> = CASES.iter().filter(|case| !is_of_locks(case)).collect();
    let is_caught = |flaw: &Flaw| {
        let fails = |case: &&'static Case| caught(Some(*flaw), flaw.discipline(), case).is_err();
        of_calls.iter().any(fails)
    };
    let survivors = survivors(Flaw::ALL, is_caught);
    assert!(survivors.is_empty(), "no case fails for {survivors:?}");
}

#[test]
#[ignore = "each case against each flaw, until it fails: scripts/proof"]
fn every_case_catches_a_flaw() {
    let bites = |case: &&'static Case| {
        let fails = |flaw: &Flaw| caught(Some(*flaw), flaw.discipline(), case).is_err();
        Flaw::ALL.iter().any(fails)
    };
    let cases: Vec<&'static Case> = CASES.iter().collect();
    let idle = survivors(&cases, bites);
    assert!(idle.is_empty(), "cases that no flaw fails: {idle:?}");
}

#[test]
fn without_a_flaw_every_case_passes() {
    for discipline in [Discipline::StoreClock, Discipline::Observer] {
        for case in CASES {
            assert_eq!(caught(None, discipline, case), Ok(()), "{}", case.name);
        }
    }
}

fn is_of_locks(case: &Case) -> bool {
    case.module == "locks"
}
