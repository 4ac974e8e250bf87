//! The cases of the frontend with each bug, on the memory provider in both disciplines and as a store with
//! cheap reads, in virtual time, until one fails.

use std::{sync::Arc, time::Duration};

use dlock_core::provider::{Admin, Capabilities, Discipline, Durability};
use dlock_mutants::Bug;
use dlock_core_cases::CASES;
use dlock_testkit::{
    Case, Fixture,
    memory::{MemoryProvider, MemoryStore},
    runner::{self, Shared},
};

use crate::{Part, panicked};

pub(crate) const PART: Part = Part {
    name: "frontend",
    // All bugs except the queue's, and those that only the cancellation harness sees.
    plays: |bug| !bug.of_queue && (bug.case.is_some() || !bug.cancelling),
    alone,
    play,
};

/// A case that takes longer than this spins, since its time is virtual.
const REAL_LIMIT: Duration = Duration::from_secs(20);

struct Memory<const STORE_CLOCK: bool, const CHEAP_READS: bool>(MemoryStore);

impl<const STORE_CLOCK: bool, const CHEAP_READS: bool> Memory<STORE_CLOCK, CHEAP_READS> {
    const DISCIPLINE: Discipline = if STORE_CLOCK {
        Discipline::StoreClock
    } else {
        Discipline::Observer
    };
}

impl<const STORE_CLOCK: bool, const CHEAP_READS: bool> Fixture
    for Memory<STORE_CLOCK, CHEAP_READS>
{
    type Provider = MemoryProvider;

    const CAPABILITIES: Capabilities = Capabilities::new("memory", Self::DISCIPLINE)
        .closing(true)
        .marks(true)
        .watch(true)
        .cheap_reads(CHEAP_READS)
        .batch(true)
        .durability(Durability::Volatile);
    const PAUSED: bool = true;

    async fn start() -> Self {
        Self(MemoryStore::new(Self::DISCIPLINE))
    }

    async fn provider(&self) -> MemoryProvider {
        MemoryProvider::new(&self.0).cheap_reads(CHEAP_READS)
    }

    fn admin(provider: &MemoryProvider) -> Option<Arc<dyn Admin>> {
        Some(Arc::new(provider.clone()))
    }
}

/// The cases that fail without a bug.
fn alone() -> Vec<String> {
    let fails = |case| {
        let why = caught(case)?;
        Some(format!("{} fails without a bug: {why}", case.name))
    };
    CASES.iter().filter_map(fails).collect()
}

/// The bug's own case runs first, which saves the search.
fn play(bug: &Bug) -> Result<(), String> {
    let is_first = |case: &&Case| Some(case.name) == bug.case.as_deref();
    let first = CASES.iter().filter(is_first);
    let rest = CASES.iter().filter(|case| !is_first(case));
    let failed = first.chain(rest).find_map(caught);
    failed.map(drop).ok_or_else(|| "survives".to_owned())
}

/// The panic of the case in either discipline, or where reads are cheap, if there was one.
fn caught(case: &'static Case) -> Option<String> {
    run::<Memory<true, false>>(case)
        .or_else(|| run::<Memory<false, false>>(case))
        .or_else(|| run::<Memory<false, true>>(case))
}

fn run<F: Fixture>(case: &'static Case) -> Option<String> {
    static UNUSED: Shared = Shared::new();
    panicked(REAL_LIMIT, || runner::run::<F>(&UNUSED, CASES, case.name))
}
