//! A wire case with each of some bugs of the frontend, over a real socket and in real time: the case must fail.

#[path = "../../../../dlock-testkit/tests/own/tcp/mod.rs"]
mod tcp;

use dlock_mutants::Bug;
use dlock_testkit::wire::{CASES, caught};

use self::tcp::Tcp;
use crate::Part;

pub(crate) const PART: Part = Part {
    name: "wire",
    plays: |bug| bug.wire.is_some(),
    // The suite itself runs among the tests of dlock-testkit.
    alone: Vec::new,
    play,
};

fn play(bug: &Bug) -> Result<(), String> {
    let name = bug.wire.as_deref().unwrap_or_default();
    let case = CASES.iter().find(|case| case.name == name);
    let case = case.ok_or_else(|| format!("{name} is no wire case"))?;
    match caught(Tcp::with(None), case) {
        Ok(()) => Err(format!("survives {name}")),
        Err(_) => Ok(()),
    }
}
