//! Every planted bug of the frontend is caught by the simulation, by an invariant or a rule that says
//! so. Built only with `--cfg dlock_planted`:
//!
//! ```sh
//! RUSTFLAGS="--cfg dlock_planted" CARGO_TARGET_DIR=target/planted \
//!     cargo test -p dlock-testkit --test planted_simulation
//! ```
//!
//! `DLOCK_SIMULATION_BUG=NoMargin` plays one bug only.

#![cfg(dlock_planted)]

mod simulation_table;

use std::{
    panic::{self, catch_unwind},
    thread,
};

use dlock_core::{Bug, Discipline, plant};
use dlock_testkit::simulation::Plan;

use self::simulation_table::{CAUGHT, LATE, UNSEEN};

/// A bug that this many seeds do not show survives. The test that plays seeds without a bug plays
/// more of them.
const SEEDS: u64 = 300;

// One test: the switch is the whole process's.
#[test]
fn every_bug_is_caught_by_a_rule_that_says_so() {
    // Some bugs panic.
    panic::set_hook(Box::new(|_| {}));
    let only = std::env::var("DLOCK_SIMULATION_BUG").ok();
    let mut complaints = Vec::new();
    for (bug, rules) in CAUGHT {
        if only
            .as_ref()
            .is_some_and(|only| *only != format!("{bug:?}"))
        {
            continue;
        }
        plant(Some(*bug));
        // The seed that has shown it before saves the search.
        let known = LATE.iter().find(|(late, _)| late == bug);
        let mut seeds = known.map(|(_, seed)| *seed).into_iter().chain(0..SEEDS);
        let caught = seeds.find_map(|seed| Some((seed, first_of(seed)?)));
        plant(None);
        let Some((seed, (rule, what))) = caught else {
            complaints.push(format!("{bug:?} survives {SEEDS} seeds"));
            continue;
        };
        println!("{bug:?}: {rule}, seed {seed}: {what}");
        if !rules.split_whitespace().any(|listed| listed == rule) {
            complaints.push(format!(
                "{bug:?} is caught by {rule}, and listed for {rules:?}: {what}"
            ));
        }
    }
    drop(panic::take_hook());
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn table_has_every_bug_once() {
    for bug in Bug::ALL {
        let lines = CAUGHT.iter().chain(UNSEEN);
        let lines = lines.filter(|(listed, _)| listed == bug).count();
        assert_eq!(lines, 1, "{bug:?} has {lines} lines in the table");
    }
}

/// The first violation of a seed in either discipline, both played at once.
fn first_of(seed: u64) -> Option<(String, String)> {
    let play = move |discipline| {
        let run = catch_unwind(move || Plan::from_seed(seed, discipline).run());
        match run {
            Ok(run) => run
                .violations
                .first()
                .map(|found| (found.rule.clone(), found.what.clone())),
            Err(_) => Some(("panic".to_owned(), String::new())),
        }
    };
    let other = thread::spawn(move || play(Discipline::Observer));
    let one = play(Discipline::StoreClock);
    let other = other
        .join()
        .unwrap_or_else(|panic| panic::resume_unwind(panic));
    one.or(other)
}
