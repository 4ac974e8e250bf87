//! Every frontend case catches a planted bug, and every planted bug is caught by exactly the cases
//! that say so: each case against each bug, on the memory provider in both disciplines and as a store
//! with cheap reads, in paused time. Built only with `--cfg dlock_planted`:
//!
//! ```sh
//! RUSTFLAGS="--cfg dlock_planted" CARGO_TARGET_DIR=target/planted \
//!     cargo test -p dlock-testkit --test planted_frontend
//! ```

#![cfg(dlock_planted)]

mod table;

use std::{
    collections::BTreeSet,
    panic::{self, catch_unwind},
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use dlock_core::{Admin, Bug, Capabilities, Discipline, Durability, plant};
use dlock_testkit::{
    CASES, Case, Fixture,
    memory::{MemoryProvider, MemoryStore},
    runner::{self, Shared},
};

use self::table::CAUGHT;

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

// One test: the switch is the whole process's.
#[test]
fn every_bug_is_caught_by_exactly_its_cases() {
    // Thousands of expected panics.
    panic::set_hook(Box::new(|_| {}));
    plant(None);
    let mut complaints = Vec::new();
    for case in frontend() {
        complaints
            .extend(caught(case).map(|why| format!("{} fails without a bug: {why}", case.name)));
    }
    for bug in Bug::ALL {
        complaints.extend(judge(*bug));
    }
    drop(panic::take_hook());
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn table_has_every_bug_once_and_every_case() {
    for bug in Bug::ALL {
        let lines = CAUGHT.iter().filter(|(listed, _)| listed == bug).count();
        assert_eq!(lines, 1, "{bug:?} has {lines} lines in the table");
    }
    let catching: BTreeSet<&str> = CAUGHT
        .iter()
        .flat_map(|(_, cases)| cases.split_whitespace())
        .collect();
    let idle: Vec<&str> = frontend()
        .map(|case| case.name)
        .filter(|name| !catching.contains(name))
        .collect();
    assert!(idle.is_empty(), "cases that no planted bug needs: {idle:?}");
    let known: BTreeSet<&str> = frontend().map(|case| case.name).collect();
    let unknown: Vec<_> = catching.difference(&known).collect();
    assert!(unknown.is_empty(), "the table names no cases: {unknown:?}");
}

fn frontend() -> impl Iterator<Item = &'static Case> {
    CASES.iter().filter(|case| case.is_of_the_frontend())
}

fn judge(bug: Bug) -> Option<String> {
    let listed = CAUGHT.iter().find(|(listed, _)| *listed == bug);
    let expected: BTreeSet<&str> = listed
        .map_or("", |(_, cases)| cases)
        .split_whitespace()
        .collect();
    plant(Some(bug));
    let failed: Vec<(&str, String)> = frontend()
        .filter_map(|case| Some((case.name, caught(case)?)))
        .collect();
    plant(None);
    let actual: BTreeSet<&str> = failed.iter().map(|(name, _)| *name).collect();
    if failed.is_empty() {
        return Some(format!("{bug:?} survives"));
    }
    (expected != actual).then(|| {
        let missed: Vec<_> = expected.difference(&actual).collect();
        let unlisted: Vec<_> = failed.iter().filter(|(name, _)| !expected.contains(name)).collect();
        let names: Vec<&str> = failed.iter().map(|(name, _)| *name).collect();
        format!(
            "{bug:?}:\n  listed, but passed: {missed:?}\n  failed, but not listed: {unlisted:#?}\n  caught by: {}",
            names.join(" ")
        )
    })
}

/// What the case panicked with in either discipline, or where reads are cheap, if it did.
fn caught(case: &'static Case) -> Option<String> {
    run::<Memory<true, false>>(case)
        .or_else(|| run::<Memory<false, false>>(case))
        .or_else(|| run::<Memory<false, true>>(case))
}

fn run<F: Fixture>(case: &'static Case) -> Option<String> {
    static UNUSED: Shared = Shared::new();
    let (done, ended) = mpsc::channel();
    let worker = thread::spawn(move || {
        let answer = catch_unwind(|| runner::run::<F>(&UNUSED, case.name));
        drop(done.send(answer.err().map(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            text.or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("a panic without words")
                .to_owned()
        })));
    });
    match ended.recv_timeout(REAL_LIMIT) {
        Ok(answer) => {
            drop(worker.join());
            answer
        }
        // The thread is left behind; the process ends soon enough.
        Err(_) => Some(format!("spins for {REAL_LIMIT:?}")),
    }
}
