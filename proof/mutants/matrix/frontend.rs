//! Every frontend case against each bug, on the memory provider in both disciplines and as a store with
//! cheap reads, in paused time: exactly the cases that the file lists fail.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use dlock_core::provider::{Admin, Capabilities, Discipline, Durability};
use dlock_mutants::Bug;
use dlock_proof::cases::CASES;
use dlock_testkit::{
    Case, Fixture,
    memory::{MemoryProvider, MemoryStore},
    runner::{self, Shared},
};

use crate::{Part, panicked};

pub(crate) const PART: Part = Part {
    name: "frontend",
    of: "frontend",
    // All but the queue's, and those that only the cancellation harness sees.
    plays: |bug| bug.tasks.is_empty() && (!bug.cases.is_empty() || bug.left_behind.is_none()),
    alone,
    play,
};

/// A case of virtual time that takes longer than this spins.
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

/// Cases that count how often something comes about by chance. Many bugs make it more frequent, now and then by
/// enough: such a case must fail where it is listed, and may elsewhere.
const BY_CHANCE: &[&str] = &[
    "crowded_clients_take_turns",
    "crowded_clients_take_turns_without_hints",
    "lease_that_nobody_picks_up_goes_back_with_its_term",
    "term_that_was_refused_while_on_offer_does_not_go_on",
];

fn play(bug: &Bug) -> Result<(), String> {
    let expected: BTreeSet<&str> = bug.cases.split_whitespace().collect();
    let failed: Vec<(&str, String)> = CASES
        .iter()
        .filter_map(|case| Some((case.name, caught(case)?)))
        .collect();
    let sometimes: BTreeSet<&str> = bug.by_chance.split_whitespace().collect();
    let by_chance = |name: &str| {
        (BY_CHANCE.contains(&name) || sometimes.contains(name)) && !expected.contains(name)
    };
    let actual: BTreeSet<&str> = failed
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| !by_chance(name))
        .collect();
    if failed.is_empty() {
        return Err("survives".to_owned());
    }
    if expected == actual {
        return Ok(());
    }
    let missed: Vec<_> = expected.difference(&actual).collect();
    let unlisted: Vec<_> = failed
        .iter()
        .filter(|(name, _)| !expected.contains(name) && !by_chance(name))
        .collect();
    let names = failed.iter().map(|(name, _)| *name);
    let names: Vec<&str> = names.filter(|name| !by_chance(name)).collect();
    Err(format!(
        "\n  listed, but passed: {missed:?}\n  failed, but not listed: {unlisted:#?}\n  cases = \"\"\"\n{}\n\"\"\"",
        names.join("\n")
    ))
}

/// The first case that fails, those of these names before all others.
pub(crate) fn noticed_by(first: &[String]) -> Option<&'static str> {
    let mut cases: Vec<&Case> = CASES.iter().collect();
    cases.sort_by_key(|case| {
        first
            .iter()
            .position(|name| name == case.name)
            .unwrap_or(first.len())
    });
    let found = cases.into_iter().find(|case| caught(case).is_some())?;
    Some(found.name)
}

/// What the case panicked with in either discipline, or where reads are cheap, if it did.
fn caught(case: &'static Case) -> Option<String> {
    run::<Memory<true, false>>(case)
        .or_else(|| run::<Memory<false, false>>(case))
        .or_else(|| run::<Memory<false, true>>(case))
}

fn run<F: Fixture>(case: &'static Case) -> Option<String> {
    static UNUSED: Shared = Shared::new();
    panicked(REAL_LIMIT, || runner::run::<F>(&UNUSED, CASES, case.name))
}
