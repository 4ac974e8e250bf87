//! Runs of the simulation with each bug, until one breaks a rule.

use std::{
    panic::{self, catch_unwind},
    thread,
};

use dlock_core::provider::Discipline;
use dlock_mutants::Bug;
use dlock_proof::simulation::Plan;

use crate::Part;

pub(crate) const PART: Part = Part {
    name: "simulation",
    plays: |bug| bug.seed.is_some() && !bug.of_queue,
    // Another test plays more seeds without a bug.
    alone: Vec::new,
    play,
};

/// A bug that this many seeds do not reveal survives.
const SEEDS: u64 = 300;

fn play(bug: &Bug) -> Result<(), String> {
    // The seed that revealed the bug before saves the search.
    let mut seeds = bug.seed.into_iter().chain(0..SEEDS);
    let caught = seeds.find_map(|seed| Some((seed, first_of(seed)?)));
    let Some((seed, (rule, what))) = caught else {
        return Err(format!("survives {SEEDS} seeds"));
    };
    println!("{}: {rule}, seed {seed}: {what}", bug.name);
    Ok(())
}

/// The first violation of a seed in either discipline; both are played at once.
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
