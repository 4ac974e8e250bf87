//! Tests a program with the store in memory, in paused time.

use dlock_book_snippets::patterns::report::report;

// ANCHOR: tests
use std::time::Duration;

use dlock::{DLock, Error, memory::MemoryStore};

/// The lock of one process, which has its own client.
fn lock(store: &MemoryStore) -> DLock {
    let lock = DLock::builder()
        .name("report")
        .duration(Duration::from_secs(15));
    lock.provider(store.client()).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn one_of_two_writes_it() {
    let store = MemoryStore::store_clock();
    let (ours, theirs) = (lock(&store), lock(&store));
    let (mut a, mut b) = (Vec::new(), Vec::new());
    let done = tokio::join!(report(&ours, &mut a), report(&theirs, &mut b));
    assert!(done.0.unwrap());
    assert!(!done.1.unwrap());
    assert_eq!((a, b), (vec![1, 2, 3], vec![]));
}

#[tokio::test(start_paused = true)]
async fn a_report_whose_lease_is_lost_is_not_finished() {
    let store = MemoryStore::store_clock();
    let ours = lock(&store);
    let mut pages = Vec::new();
    let loss = async {
        tokio::time::sleep(Duration::from_secs(90)).await;
        store.wipe();
    };
    let (answer, ()) = tokio::join!(report(&ours, &mut pages), loss);
    assert!(matches!(answer, Err(Error::Lost(_))));
    assert_eq!(pages, [1]);
}
// ANCHOR_END: tests
