//! The cancellation harness bites: each of these bugs, planted in the frontend, leaves something
//! behind that it finds. Built only with `--cfg dlock_planted`:
//!
//! ```sh
//! RUSTFLAGS="--cfg dlock_planted" CARGO_TARGET_DIR=target/planted \
//!     cargo test -p dlock-testkit --test planted_cancelling
//! ```

#![cfg(dlock_planted)]

use std::{
    panic::{self, catch_unwind},
    sync::mpsc,
    thread,
    time::Duration,
};

use dlock_core::{Bug, Discipline, plant};
use dlock_testkit::{
    cancelling,
    memory::{MemoryProvider, MemoryStore},
};
use tokio::runtime::Builder;

/// Virtual time that takes longer than this spins.
const REAL_LIMIT: Duration = Duration::from_secs(60);

/// The bugs that leave something behind when somebody goes away, and what each leaves.
const CAUGHT: &[(Bug, &str)] = &[
    (Bug::DropForgets, "leases left in nobody's hands"),
    (Bug::CancelForgets, "leases left in nobody's hands"),
    (Bug::AbandonedWaits, "who has gone away was served first"),
    (Bug::OwnLeaseClaimed, "who has gone away was served first"),
    (Bug::CloseDoesNotWait, "left behind"),
    (Bug::RenewalUnbounded, "left behind"),
    (Bug::ReleaseBelieves, "valid after its release began"),
    (Bug::NobodyRenews, "Expired"),
    (Bug::AcquireUnbounded, "does not end within two leases"),
    (Bug::TryNeverGivenUp, "does not end within two leases"),
    (Bug::UuidReused, "not free for another client"),
    (Bug::WakeupIgnored, "not free for another client"),
];

// One test: the switch is the whole process's.
#[test]
fn every_bug_that_leaves_something_is_caught() {
    panic::set_hook(Box::new(|_| {}));
    let mut complaints = Vec::new();
    for (bug, what) in CAUGHT {
        plant(Some(*bug));
        match left_behind() {
            None => complaints.push(format!("{bug:?} survives")),
            Some(why) if !why.contains(what) => complaints.push(format!("{bug:?}: {why}")),
            Some(_) => {}
        }
    }
    plant(None);
    drop(panic::take_hook());
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// What the harness panicked with in either discipline, if it did.
fn left_behind() -> Option<String> {
    [Discipline::StoreClock, Discipline::Observer]
        .into_iter()
        .find_map(in_time)
}

fn in_time(discipline: Discipline) -> Option<String> {
    let (done, ended) = mpsc::channel();
    let worker = thread::spawn(move || drop(done.send(run(discipline))));
    match ended.recv_timeout(REAL_LIMIT) {
        Ok(answer) => {
            drop(worker.join());
            answer
        }
        // The thread is left behind; the process ends soon enough.
        Err(_) => Some(format!("spins for {REAL_LIMIT:?}")),
    }
}

fn run(discipline: Discipline) -> Option<String> {
    let played = catch_unwind(|| {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap_or_else(|error| panic!("no runtime: {error}"));
        runtime.block_on(async {
            let store = MemoryStore::new(discipline);
            cancelling::everywhere(|| MemoryProvider::new(&store)).await;
        });
    });
    let panic = played.err()?;
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    Some(text.unwrap_or("a panic without words").to_owned())
}
