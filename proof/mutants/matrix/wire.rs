//! Wire cases with bugs of the frontend, over a real socket and in real time: those that the file lists
//! fail, and no others are played.

#[path = "../../../../dlock-testkit/tests/own/tcp/mod.rs"]
mod tcp;

use std::{
    panic::resume_unwind,
    thread::{self, ScopedJoinHandle},
};

use dlock_mutants::Bug;
use dlock_testkit::wire::{CASES, caught};

use self::tcp::Tcp;
use crate::Part;

pub(crate) const PART: Part = Part {
    name: "wire",
    of: "frontend",
    plays: |bug| !bug.wire.is_empty(),
    // The suite itself runs among the tests of dlock-testkit.
    alone: Vec::new,
    play,
};

fn play(bug: &Bug) -> Result<(), String> {
    let survives = |name: &str| {
        let Some(case) = CASES.iter().find(|case| case.name == name) else {
            return Some(format!("{name} is no wire case"));
        };
        let ended = caught(Tcp::with(None), case);
        ended.is_ok().then(|| format!("survives {name}"))
    };
    let survived: Vec<String> = thread::scope(|scope| {
        let cases: Vec<_> = bug
            .wire
            .split_whitespace()
            .map(|name| scope.spawn(move || survives(name)))
            .collect();
        let ended = cases.into_iter().map(ScopedJoinHandle::join);
        ended
            .filter_map(|case| case.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    });
    if survived.is_empty() {
        Ok(())
    } else {
        Err(survived.join(", "))
    }
}
