//! Runs of the queue's simulation with each of its bugs, until one breaks a rule.

use std::{sync::mpsc, time::Duration};

use dlock_mutants::Bug;
use dlock_proof::tasks::simulation::Plan;

use crate::{Part, panicked};

pub(crate) const PART: Part = Part {
    name: "tasks",
    plays: |bug| bug.of_queue,
    // Another test plays more seeds without a bug.
    alone: Vec::new,
    play,
};

/// A bug that this many seeds do not reveal survives.
const SEEDS: u64 = 300;

/// A run that takes that long never ends.
const LIMIT: Duration = Duration::from_secs(120);

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

/// The first violation of a seed.
fn first_of(seed: u64) -> Option<(String, String)> {
    let (found, first) = mpsc::channel();
    let failed = panicked(LIMIT, move || {
        let run = Plan::from_seed(seed).run();
        drop(found.send(run.violations.into_iter().next()));
    });
    match failed {
        Some(what) => Some(("hang".to_owned(), what)),
        None => {
            let violation = first.try_recv().ok().flatten()?;
            Some((violation.rule.to_owned(), violation.what))
        }
    }
}
