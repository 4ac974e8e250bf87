//! 14: every planted bug of a store of tasks is caught, by exactly the cases that it names, and every case is needed.

use std::{collections::BTreeSet, panic, sync::Mutex, thread};

use dlock_proof::planted::{TASK_CASES, TaskCase, TaskFlaw, caught_of_tasks};

#[test]
#[ignore = "each flaw against each case: .ci/run"]
fn every_flaw_is_caught_by_exactly_its_cases() {
    // Hundreds of expected panics.
    panic::set_hook(Box::new(|_| {}));
    let complaints = Mutex::new(Vec::new());
    let flaws = Mutex::new(TaskFlaw::ALL.iter());
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
    let bugs = TaskFlaw::ALL.len();
    println!("figures: {{\"planted\": \"in a store of tasks\", \"bugs\": {bugs}}}");
    let complaints = complaints.into_inner().unwrap();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn every_case_has_a_flaw_that_it_catches() {
    let catching: BTreeSet<&str> = TaskFlaw::ALL
        .iter()
        .flat_map(|flaw| flaw.caught_by())
        .collect();
    let all: BTreeSet<&str> = TASK_CASES.iter().map(|case| case.name).collect();
    let idle: Vec<_> = all.difference(&catching).collect();
    assert!(idle.is_empty(), "cases that no planted bug needs: {idle:?}");
    let unknown: Vec<_> = catching.difference(&all).collect();
    assert!(
        unknown.is_empty(),
        "flaws name cases that do not exist: {unknown:?}"
    );
}

#[test]
fn without_a_flaw_every_case_passes() {
    for case in TASK_CASES {
        assert_eq!(caught_of_tasks(None, case), Ok(()), "{}", case.name);
    }
}

fn judge(flaw: TaskFlaw) -> Option<String> {
    let failed = |case: &TaskCase| Some((case.name, caught_of_tasks(Some(flaw), case).err()?));
    let failed: Vec<(&str, String)> = TASK_CASES.iter().filter_map(failed).collect();
    let (expected, actual) = (
        flaw.caught_by(),
        failed.iter().map(|(name, _)| *name).collect(),
    );
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
