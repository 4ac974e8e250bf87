//! The matrix: every bug of `mutants.toml` against the checks, at least one of which must fail. It is
//! built in the copy of the workspace that contains the bugs; `scripts/mutants` makes that copy and runs it.
//!
//! `matrix PART.. [BUG..]`: each part plays all of its bugs, or the named ones. No other
//! argument, variable or filter makes it play fewer.

mod cancelling;
mod frontend;
mod simulation;
mod tasks;
mod wire;

use std::{
    env,
    panic::{self, AssertUnwindSafe, catch_unwind},
    process::ExitCode,
    sync::mpsc,
    thread,
    time::Duration,
};

use dlock_core::plant;
use dlock_mutants::{Bug, Mutants};

/// A part: the bugs that it plays, and how.
struct Part {
    name: &'static str,
    /// Whether the part plays this bug.
    plays: fn(&Bug) -> bool,
    /// The checks that fail without a bug.
    alone: fn() -> Vec<String>,
    /// Plays a bug, which is on. An error says why no check has caught it.
    play: fn(&Bug) -> Result<(), String>,
}

const PARTS: [Part; 5] = [
    frontend::PART,
    simulation::PART,
    cancelling::PART,
    wire::PART,
    tasks::PART,
];

fn main() -> ExitCode {
    let bugs = Mutants::listed().bugs;
    let (parts, only): (Vec<_>, Vec<_>) = env::args()
        .skip(1)
        .partition(|word| PARTS.iter().any(|part| part.name == word));
    if let Some(unknown) = only
        .iter()
        .find(|name| bugs.iter().all(|bug| bug.name != **name))
    {
        eprintln!(
            "{unknown} is neither a part (frontend, simulation, cancelling, wire, tasks) nor a bug"
        );
        return ExitCode::from(2);
    }
    // Silences thousands of expected panics.
    panic::set_hook(Box::new(|_| {}));
    let mut complaints = 0;
    for part in PARTS
        .iter()
        .filter(|part| parts.is_empty() || parts.iter().any(|name| name == part.name))
    {
        let of_part = || bugs.iter().filter(|bug| (part.plays)(bug));
        let asked = |bug: &&Bug| only.is_empty() || only.contains(&bug.name);
        plant(None);
        let mut wrong = (part.alone)();
        let mut played = 0;
        for bug in of_part().filter(asked) {
            plant(Some(&bug.name));
            wrong.extend(
                (part.play)(bug)
                    .err()
                    .map(|why| format!("{}: {why}", bug.name)),
            );
            plant(None);
            played += 1;
        }
        for why in &wrong {
            println!("{}: {why}", part.name);
        }
        println!(
            "{}: {played} of {} bugs played, {} complaints",
            part.name,
            of_part().count(),
            wrong.len()
        );
        complaints += wrong.len();
    }
    ExitCode::from(u8::from(complaints > 0))
}

/// The panic of a check that may spin, if there was one.
fn panicked(limit: Duration, check: impl FnOnce() + Send + 'static) -> Option<String> {
    let (done, ended) = mpsc::channel();
    let worker = thread::spawn(move || {
        let answer = catch_unwind(AssertUnwindSafe(check));
        drop(done.send(answer.err().map(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            text.or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("a panic without words")
                .to_owned()
        })));
    });
    match ended.recv_timeout(limit) {
        Ok(answer) => {
            drop(worker.join());
            answer
        }
        // The thread stays behind; the process ends soon enough.
        Err(_) => Some(format!("spins for {limit:?}")),
    }
}
