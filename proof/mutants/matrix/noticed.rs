//! One change, and all checks until one fails.

use std::{env, panic, process::ExitCode};

use crate::{cancelling, frontend, simulation};

/// So many seeds of the simulation, in both disciplines.
const SEEDS: u64 = 16;

/// The arguments are the cases to begin with; prints the one that failed.
pub(crate) fn main() -> ExitCode {
    // Each failure is one that was hoped for.
    panic::set_hook(Box::new(|_| {}));
    let first: Vec<String> = env::args().skip(2).collect();
    if let Some(case) = frontend::noticed_by(&first) {
        println!("case {case}");
        return ExitCode::FAILURE;
    }
    let noticed = cancelling::left_behind().is_some()
        || (0..SEEDS).any(|seed| simulation::first_of(seed).is_some());
    ExitCode::from(u8::from(noticed))
}
