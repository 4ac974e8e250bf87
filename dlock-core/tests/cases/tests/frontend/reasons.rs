//! The text of an error, for people, about a store that did not do what was requested.

#![expect(clippy::unwrap_used, reason = "a test panics where it fails")]

use std::time::Duration;

use dlock_core::{Client, Clock, DLock};
use dlock_testkit::{
    faults::{Fault, Faulty, Op},
    memory::{MemoryProvider, MemoryStore},
};

/// A lock of 60 s, for as long as the tests wait.
fn lock(store: &Faulty<MemoryProvider>) -> DLock {
    DLock::builder()
        .name("door")
        .provider(Client::with_clock(store.clone(), Clock::tokio(1.0)))
        .duration(Duration::from_secs(60))
        .build()
        .unwrap()
}

async fn reason(store: &Faulty<MemoryProvider>) -> String {
    let error = lock(store).acquire_timeout(Duration::from_secs(3)).await;
    format!("{:?}", error.unwrap_err())
}

/// The limit of the caller cuts the second attempt short, which then has no reason to report.
#[tokio::test(start_paused = true)]
async fn attempt_that_is_cut_short_hides_no_reason() {
    let store = Faulty::new(MemoryProvider::new(&MemoryStore::store_clock()));
    store.next(Op::Acquire, Fault::THROTTLED);
    store.always(Op::Acquire, Fault::LoseRequest);
    let reason = reason(&store).await;
    assert_eq!(store.count(Op::Acquire), 2);
    assert!(reason.contains("a fault refused the call"), "{reason}");
}

#[tokio::test(start_paused = true)]
async fn newest_reason_is_told() {
    let store = Faulty::new(MemoryProvider::new(&MemoryStore::store_clock()));
    store.next(Op::Acquire, Fault::THROTTLED);
    store.always(Op::Acquire, Fault::UNKNOWN_AFTER);
    let reason = reason(&store).await;
    assert!(reason.contains("a fault lost the reply"), "{reason}");
}
