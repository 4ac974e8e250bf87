//! Runs searches by hand: `all` configurations, those whose names contain a word, or the `traps`.

use std::process::ExitCode;

use dlock_model::{Trap, search, shortest, suite};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        None => {
            eprintln!(
                "usage: dlock-model all | traps [NAME..] | WORD..  (configurations so named)"
            );
            ExitCode::FAILURE
        }
        Some("traps") => traps(&words[1..]),
        Some("all") => configurations(&[]),
        Some(_) => configurations(&words),
    }
}

/// The configurations whose names contain all these words.
fn configurations(words: &[String]) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for entry in suite() {
        if !words.iter().all(|word| entry.name.contains(word)) {
            continue;
        }
        let outcome = search(&entry.config, &entry.name);
        println!("{}: {outcome}", entry.name);
        for event in entry.sees {
            if !outcome.seen().has(event) {
                println!("  never seen: {event:?}");
                code = ExitCode::FAILURE;
            }
        }
        if let Some(trace) = outcome.trace() {
            println!("{trace}");
            code = ExitCode::FAILURE;
        }
    }
    code
}

/// Prints the counter-example of each trap.
fn traps(names: &[String]) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for trap in Trap::all() {
        let name = format!("{trap:?}");
        if !names.is_empty() && !names.contains(&name) {
            continue;
        }
        let control = trap.control();
        let outcome = shortest(&control.config, control.property);
        println!("{name}: {outcome}");
        if let Some(trace) = outcome.trace() {
            println!("{trace}");
        } else {
            println!("  no counter-example\n");
            code = ExitCode::FAILURE;
        }
    }
    code
}
