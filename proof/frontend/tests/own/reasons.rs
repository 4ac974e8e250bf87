//! What an error tells people about a store that did not do what it was asked.

use std::time::Duration;

use dlock_core::{Client, Clock, DLock};
use dlock_testkit::{
    faults::{Fault, Faulty, Op},
    memory::{MemoryProvider, MemoryStore},
};

/// The limit of the caller cuts the second attempt short, which has nothing to tell then.
#[tokio::test(start_paused = true)]
async fn attempt_that_is_cut_short_hides_no_reason() {
    let store = Faulty::new(MemoryProvider::new(&MemoryStore::store_clock()));
    let lock = DLock::builder()
        .name("door")
        .provider(Client::with_clock(store.clone(), Clock::tokio(1.0)))
        .duration(Duration::from_secs(60))
        .build()
        .unwrap();
    store.next(Op::Acquire, Fault::THROTTLED);
    store.always(Op::Acquire, Fault::LoseRequest);
    let error = lock.acquire_timeout(Duration::from_secs(3)).await;
    assert_eq!(store.count(Op::Acquire), 2);
    let error = format!("{:?}", error.unwrap_err());
    assert!(error.contains("a fault refused the call"), "{error}");
}
