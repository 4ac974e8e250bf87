//! The cancellation harness with each bug that leaves something behind when a caller disappears: the harness must fail.

use std::time::Duration;

use dlock_core::provider::Discipline;
use dlock_mutants::Bug;
use dlock_proof::cancelling;
use dlock_testkit::memory::{MemoryProvider, MemoryStore};
use tokio::runtime::Builder;

use crate::{Part, panicked};

pub(crate) const PART: Part = Part {
    name: "cancelling",
    plays: |bug| bug.cancelling,
    alone: || left_behind().into_iter().collect(),
    play,
};

/// A case that takes longer than this spins, since its time is virtual.
const REAL_LIMIT: Duration = Duration::from_secs(60);

fn play(_: &Bug) -> Result<(), String> {
    let failed = left_behind().map(drop);
    failed.ok_or_else(|| "survives".to_owned())
}

/// The harness's panic in either discipline, if there was one.
fn left_behind() -> Option<String> {
    [Discipline::StoreClock, Discipline::Observer]
        .into_iter()
        .find_map(|discipline| panicked(REAL_LIMIT, move || everywhere(discipline)))
}

fn everywhere(discipline: Discipline) {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap_or_else(|error| panic!("no runtime: {error}"));
    runtime.block_on(async {
        let store = MemoryStore::new(discipline);
        cancelling::everywhere(|| MemoryProvider::new(&store)).await;
    });
}
