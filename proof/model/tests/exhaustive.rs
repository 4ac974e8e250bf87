//! Every reachable state of every configuration of the suite, to the end.

use std::sync::{Mutex, PoisonError};

use dlock_model::{Entry, search, suite};

/// One search at a time: each uses as many threads as help it, and much memory.
static TURN: Mutex<()> = Mutex::new(());

fn exhaust(entries: impl Iterator<Item = Entry>) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for entry in entries {
        let outcome = search(&entry.config, &entry.name);
        println!("{}: {outcome}", entry.name);
        assert!(
            outcome.violation.is_none(),
            "{}: {}",
            entry.name,
            outcome.trace().unwrap_or_default()
        );
        for event in entry.sees {
            assert!(outcome.seen().has(event), "{}: no {event:?}", entry.name);
        }
    }
}

#[test]
#[ignore = "a minute or two for both: .ci/run"]
fn no_state_of_the_store_clock_discipline_violates_anything() {
    exhaust(quick("store clock"));
}

#[test]
#[ignore = "a minute or two for both: .ci/run"]
fn no_state_of_the_observer_discipline_violates_anything() {
    exhaust(quick("observer"));
}

#[test]
#[ignore = "takes the better part of an hour and several gigabytes"]
fn no_state_of_the_long_configurations_violates_anything() {
    exhaust(suite().into_iter().filter(|entry| entry.long));
}

fn quick(discipline: &'static str) -> impl Iterator<Item = Entry> {
    suite()
        .into_iter()
        .filter(move |entry| !entry.long && entry.name.starts_with(discipline))
}
