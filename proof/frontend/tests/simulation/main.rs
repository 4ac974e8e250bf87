//! The frontend in a simulated world, over many seeds and in both disciplines, in virtual time.
//!
//! ```sh
//! cargo test -p dlock-proof --test simulation                                    # some seconds
//! DLOCK_SIMULATION_SEEDS=100000 cargo test --release -p dlock-proof --test simulation   # hours
//! DLOCK_SIMULATION_SEED=7 cargo test -p dlock-proof --test simulation no_seed    # one seed
//! ```
//!
//! A seed that fails is reduced to the faults it needs; its history is kept (in `DLOCK_HISTORIES`, or else in the
//! folder for temporary files), and the path is printed. With `DLOCK_SIMULATION_NOTES` set, one seed also prints
//! everything that its monitor saw.

use std::{
    env,
    fmt::Write as _,
    panic::resume_unwind,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use dlock_core::provider::Discipline;
use dlock_proof::{
    history::{Invariant, folder, keep},
    simulation::{Figures, Plan, Run},
};

const DISCIPLINES: [Discipline; 2] = [Discipline::StoreClock, Discipline::Observer];

/// How many seeds every test run plays; `.ci/run` plays more.
const SEEDS: u64 = 50;
/// One in this many of them is played twice, see `one_seed_gives_one_history`.
const TWICE: u64 = 25;

#[test]
fn no_seed_breaks_a_promise() {
    if let Some(seed) = number("DLOCK_SIMULATION_SEED") {
        return DISCIPLINES
            .into_iter()
            .for_each(|discipline| replay(seed, discipline));
    }
    let (figures, failed) = play(seeds());
    println!(
        "{} seeds in {} disciplines: {figures:#?}",
        seeds(),
        DISCIPLINES.len()
    );
    let reports: Vec<String> = failed.iter().take(3).map(report).collect();
    assert!(
        failed.is_empty(),
        "{} of {} seeds fail: {:?}\n{}",
        failed.len(),
        seeds(),
        failed
            .iter()
            .map(|plan| (plan.seed, plan.discipline))
            .collect::<Vec<_>>(),
        reports.join("\n")
    );
    bites(&figures);
}

#[test]
fn one_seed_gives_one_history() {
    for seed in 0..seeds() / TWICE {
        for discipline in DISCIPLINES {
            let play = move || text(&Plan::from_seed(seed, discipline).run());
            let first = play();
            // On another thread: nothing of the runtime's may leak into a run.
            let second = thread::spawn(play)
                .join()
                .unwrap_or_else(|panic| resume_unwind(panic));
            let differs = first
                .lines()
                .zip(second.lines())
                .position(|(one, two)| one != two);
            assert!(
                first == second,
                "seed {seed}, {discipline:?}: two histories, from line {differs:?} on"
            );
        }
    }
}

#[test]
fn fault_that_is_left_out_does_not_strike() {
    let plan = Plan::from_seed(3, Discipline::StoreClock);
    assert!(!plan.faults.is_empty());
    let quiet = plan.with_faults(&[]).run();
    assert!(quiet.violations.is_empty() && quiet.figures.faults.is_empty());
    assert!(quiet.figures.grants > 0, "{:?}", quiet.figures);
    assert_eq!(
        plan.shrink(),
        plan,
        "there is nothing to cut down in a plan that breaks nothing"
    );
}

/// Plays the first seeds, two at a time. Returns the plans that failed, in order.
fn play(seeds: u64) -> (Figures, Vec<Plan>) {
    let next = AtomicU64::new(0);
    let result = Mutex::new((Figures::default(), Vec::new()));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds {
                        return;
                    }
                    for discipline in DISCIPLINES {
                        let plan = Plan::from_seed(seed, discipline);
                        let run = plan.run();
                        let mut result = result.lock().unwrap_or_else(PoisonError::into_inner);
                        result.0 += run.figures;
                        if !run.violations.is_empty() {
                            result.1.push(plan);
                        }
                    }
                }
            });
        }
    });
    let (figures, mut failed) = result.into_inner().unwrap_or_else(PoisonError::into_inner);
    failed.sort_by_key(|plan: &Plan| (plan.seed, plan.discipline == Discipline::Observer));
    (figures, failed)
}

/// A run with too few events proves nothing.
fn bites(figures: &Figures) {
    let runs = figures.runs;
    for (what, count, at_least) in [
        ("grants", figures.grants, runs * 8),
        ("takeovers", figures.takeovers, runs / 2),
        ("renewals", figures.renewals, runs * 15),
        ("renewals sent in batches", figures.batched, runs * 3),
        ("losses", figures.losses, runs / 2),
        ("refused renewals", figures.refused, runs / 20),
        ("late renewals", figures.late_renewals, runs / 5),
        ("late grants", figures.late_grants, runs / 50),
        ("spent tries", figures.spent, runs / 50),
        ("leases of terms that continued", figures.went_on, runs * 4),
        ("tickets", figures.tickets, runs / 2),
        ("hints", figures.hints, runs * 5),
        ("cancellations", figures.cancellations, runs / 2),
        ("calls of unknown outcome", figures.unknown, runs * 5),
        ("writes refused by a fence", figures.stale_writes, runs / 10),
        ("updates lost without one", figures.lost_updates, runs / 10),
    ] {
        assert!(
            count >= at_least,
            "only {count} {what} in {runs} runs: {figures:?}"
        );
    }
    // A quarter of what the first 150 seeds give.
    for (invariant, at_least) in [
        (Invariant::I8, runs / 2),
        (Invariant::I10, runs / 60),
        (Invariant::I15, runs / 3),
        (Invariant::I17, runs * 12),
    ] {
        let count = figures.bounds.get(&invariant).copied().unwrap_or_default();
        assert!(
            count >= at_least,
            "only {count} bounds of {invariant} were judged in {runs} runs: {figures:?}"
        );
    }
    for kind in KINDS {
        let count = figures.faults.get(kind).copied().unwrap_or_default();
        assert!(
            count * 100 >= runs,
            "only {count} {kind} in {runs} runs: {figures:?}"
        );
    }
}

/// Every kind of fault.
const KINDS: [&str; 21] = [
    "broken channels",
    "clock steps",
    "crashes",
    "delayed replies",
    "delayed requests",
    "doubtful",
    "duplicates",
    "forced releases",
    "lost hints",
    "lost replies",
    "lost requests",
    "purges",
    "read-only spells",
    "refused",
    "requests to give back",
    "revokes",
    "rollbacks",
    "spent tries",
    "stale reads",
    "standstills",
    "throttled",
];

/// Plays one seed, and prints everything about it.
fn replay(seed: u64, discipline: Discipline) {
    let plan = Plan::from_seed(seed, discipline);
    let explained = plan.explain();
    if env::var_os("DLOCK_SIMULATION_NOTES").is_some() {
        println!("{plan:#?}\n{}", explained.notes.join("\n"));
    }
    println!("{discipline:?}: {:#?}", explained.figures);
    assert!(explained.violations.is_empty(), "{}", report(&plan));
}

/// The violations, the faults they need, and where the history is kept.
fn report(plan: &Plan) -> String {
    let small = plan.shrink();
    let run = small.run();
    let mut text = format!("seed {} on {:?}:\n", plan.seed, plan.discipline);
    for violation in &run.violations {
        let _infallible = writeln!(text, "  {violation}");
    }
    let _infallible = writeln!(
        text,
        "with {} of {} faults:",
        small.faults.len(),
        plan.faults.len()
    );
    for fault in &small.faults {
        let _infallible = writeln!(text, "  {fault:?}");
    }
    let name = format!("simulation-{}-{:?}", plan.seed, plan.discipline);
    let kept = keep(folder(), &name, &run.history);
    let _infallible = match kept {
        Ok(kept) => writeln!(text, "{kept}"),
        Err(error) => writeln!(text, "its history could not be kept: {error}"),
    };
    text
}

fn text(run: &Run) -> String {
    run.history.iter().map(|line| format!("{line}\n")).collect()
}

/// How many seeds this run plays.
fn seeds() -> u64 {
    number("DLOCK_SIMULATION_SEEDS").unwrap_or(SEEDS)
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|error| panic!("{variable}={text}: {error}")))
}
