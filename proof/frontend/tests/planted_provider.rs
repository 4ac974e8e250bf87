//! Every case catches a planted bug, and every planted bug is caught by exactly the cases that say
//! so: each case of a provider's calls against each flaw, in paused time. Cases of whole locks catch at
//! least the flaws that they name. The cases of the frontend have bugs of their own, in `proof/mutants`.

use std::{collections::BTreeSet, panic, sync::Mutex, thread};

use dlock_core::provider::Discipline;
use dlock_proof::planted::{Flaw, caught, caught_by_locks};
use dlock_testkit::{CASES, Case};

#[test]
fn every_flaw_is_caught_by_exactly_its_cases() {
    // Thousands of expected panics.
    panic::set_hook(Box::new(|_| {}));
    let complaints = Mutex::new(Vec::new());
    let flaws = Mutex::new(Flaw::ALL.iter());
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                loop {
                    let Some(flaw) = flaws.lock().unwrap().next() else {
                        return;
                    };
                    complaints.lock().unwrap().extend(judge(*flaw));
                }
            });
        }
    });
    drop(panic::take_hook());
    let bugs = Flaw::ALL.len();
    println!("figures: {{\"planted\": \"in a provider\", \"bugs\": {bugs}}}");
    let complaints = complaints.into_inner().unwrap();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn every_case_has_a_flaw_that_it_catches() {
    let catching: BTreeSet<&str> = Flaw::ALL
        .iter()
        .flat_map(|flaw| flaw.caught_by())
        .copied()
        .collect();
    let idle: Vec<&str> = of_calls()
        .map(|case| case.name)
        .filter(|name| !catching.contains(name))
        .collect();
    assert!(idle.is_empty(), "cases that no planted bug needs: {idle:?}");
    let unknown: Vec<&&str> = catching
        .iter()
        .filter(|name| !CASES.iter().any(|case| case.name == **name))
        .collect();
    assert!(
        unknown.is_empty(),
        "flaws name cases that do not exist: {unknown:?}"
    );
}

#[test]
fn without_a_flaw_every_case_passes() {
    for discipline in [Discipline::StoreClock, Discipline::Observer] {
        for case in CASES {
            assert_eq!(caught(None, discipline, case), Ok(()), "{}", case.name);
        }
    }
}

#[test]
fn every_case_of_whole_locks_catches_the_flaws_that_it_names() {
    let locks: Vec<&Case> = CASES.iter().filter(|case| is_of_locks(case)).collect();
    let named: Vec<&str> = caught_by_locks().iter().map(|(name, _)| *name).collect();
    let all: Vec<&str> = locks.iter().map(|case| case.name).collect();
    assert_eq!(named, all);
    let mut survive = Vec::new();
    for (case, (name, flaws)) in locks.into_iter().zip(caught_by_locks()) {
        assert!(!flaws.is_empty(), "{name} names no flaw");
        let survivors = flaws
            .iter()
            .filter(|flaw| caught(Some(**flaw), flaw.discipline(), case).is_ok());
        survive.extend(survivors.map(|flaw| format!("{flaw:?} survives {name}")));
    }
    assert!(survive.is_empty(), "{survive:?}");
}

fn of_calls() -> impl Iterator<Item = &'static Case> {
    CASES.iter().filter(|case| !is_of_locks(case))
}

fn is_of_locks(case: &Case) -> bool {
    case.module == "locks"
}

fn judge(flaw: Flaw) -> Option<String> {
    let expected: BTreeSet<&str> = flaw.caught_by().iter().copied().collect();
    let failed: Vec<(&str, String)> = of_calls()
        .filter_map(|case| {
            Some((
                case.name,
                caught(Some(flaw), flaw.discipline(), case).err()?,
            ))
        })
        .collect();
    let actual: BTreeSet<&str> = failed.iter().map(|(name, _)| *name).collect();
    if failed.is_empty() {
        return Some(format!("{flaw:?} survives: {}", flaw.what()));
    }
    (expected != actual).then(|| {
        let names: Vec<&str> = failed.iter().map(|(name, _)| *name).collect();
        let missed: Vec<_> = expected.difference(&actual).collect();
        let unlisted: Vec<_> = failed.iter().filter(|(name, _)| !expected.contains(name)).collect();
        format!(
            "{flaw:?}: {}\n  listed, but passed: {missed:?}\n  failed, but not listed: {unlisted:#?}\n  caught by: {}",
            flaw.what(),
            names.join(" ")
        )
    })
}
