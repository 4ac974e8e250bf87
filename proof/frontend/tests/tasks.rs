//! The workers of the queue in a simulated world, over many seeds, in virtual time.
//!
//! ```sh
//! cargo test -p dlock-proof --test tasks                                    # some seconds
//! DLOCK_TASKS_SEEDS=100000 cargo test --release -p dlock-proof --test tasks # hours
//! DLOCK_TASKS_SEED=7 cargo test -p dlock-proof --test tasks                 # one seed
//! ```

use std::{
    env,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use dlock_proof::tasks::simulation::{Figures, Plan};

/// How many seeds every test run plays.
const SEEDS: u64 = 150;

fn number(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is no number")),
    )
}

fn play(seed: u64) -> Result<Figures, String> {
    let run = Plan::from_seed(seed).run();
    match run.violations.first() {
        None => Ok(run.figures),
        Some(_) => Err(format!(
            "seed {seed}: {:#?}\nagain: DLOCK_TASKS_SEED={seed} cargo test -p dlock-proof --test tasks",
            run.violations
        )),
    }
}

#[test]
fn no_seed_breaks_a_rule() {
    if let Some(seed) = number("DLOCK_TASKS_SEED") {
        println!("{:#?}", Plan::from_seed(seed));
        match play(seed) {
            Ok(figures) => println!("{figures:#?}"),
            Err(failed) => panic!("{failed}"),
        }
        return;
    }
    let seeds = number("DLOCK_TASKS_SEEDS").unwrap_or(SEEDS);
    let next = AtomicU64::new(0);
    let (all, failures) = (Mutex::new(Figures::default()), Mutex::new(Vec::new()));
    let threads = thread::available_parallelism().map_or(2, Into::into);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds {
                        return;
                    }
                    match play(seed) {
                        Ok(figures) => {
                            *all.lock().unwrap_or_else(PoisonError::into_inner) += figures;
                        }
                        Err(failed) => failures
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .push(failed),
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(
        failures.is_empty(),
        "{} of {seeds} seeds: {}",
        failures.len(),
        failures[..failures.len().min(5)].join("\n")
    );
    let figures = all.into_inner().unwrap();
    println!("{figures:#?}");
    enough(&figures, seeds);
}

/// No event may cease to happen unnoticed.
fn enough(figures: &Figures, seeds: u64) {
    for (what, is, each) in [
        ("grants", figures.grants, 1),
        ("takeovers", figures.takeovers, 4),
        ("losses", figures.losses, 10),
        ("timeouts", figures.timeouts, 20),
        ("panics", figures.panics, 10),
        ("given back", figures.given_back, 20),
        ("claims repeated", figures.claims_repeated, 4),
        ("endings repeated", figures.endings_repeated, 10),
        ("endings refused", figures.endings_refused, 20),
        ("checkpoints found", figures.checkpoints_found, 10),
        ("crashes", figures.crashes, 4),
        ("drops", figures.drops, 10),
        ("stops", figures.stops, 1),
        ("cancelled", figures.cancelled, 10),
        ("dead", figures.dead, 10),
        ("succeeded", figures.succeeded, 1),
        ("ticks", figures.ticks, 4),
        ("grants in lanes", figures.in_lanes, 1),
        ("lanes taken over", figures.lanes_taken_over, 4),
        ("waits for a lane", figures.waits_for_a_lane, 1),
        ("waits for a place", figures.waits_for_a_place, 1),
        ("calls that were struck", figures.struck, 1),
        ("looks", figures.looks, 1),
    ] {
        assert!(is >= seeds / each, "{what}: {is} in {seeds} seeds");
    }
}

#[test]
fn seed_repeats_itself() {
    for seed in 0..5 {
        assert_eq!(
            Plan::from_seed(seed).run(),
            Plan::from_seed(seed).run(),
            "{seed}"
        );
    }
}

#[test]
fn worker_that_is_dropped_leaves_nothing_behind() {
    let tally = dlock_proof::tasks::cancelling::worker();
    println!("{tally:?}");
    assert!(tally.dropped > 300, "{tally:?}");
}

#[test]
fn call_that_is_dropped_is_applied_as_a_whole_or_not_at_all() {
    let tally = dlock_proof::tasks::cancelling::calls();
    println!("{tally:?}");
    assert!(tally.dropped > 40, "{tally:?}");
}
