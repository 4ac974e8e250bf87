//! A guard that is dropped when `main` returns is not given back, since its runtime ends there. That is
//! said aloud.

use std::time::Duration;

use dlock_core::{DLock, Guard};
use dlock_testkit::{
    memory::{MemoryProvider, MemoryStore},
    traces::Seen,
};
use tokio::runtime::{Builder, Runtime};

fn runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap_or_else(|error| panic!("{error}"))
}

async fn held(store: &MemoryStore) -> (DLock, Guard) {
    let lock = DLock::builder()
        .name("door")
        .provider(MemoryProvider::new(store))
        .duration(Duration::from_secs(60))
        .build()
        .unwrap_or_else(|error| panic!("{error}"));
    let guard = lock.hold().await.unwrap_or_else(|error| panic!("{error}"));
    (lock, guard)
}

#[test]
fn release_that_goes_down_with_its_runtime_is_told() {
    let seen = Seen::install("dlock_core").unwrap_or_else(|error| panic!("{error}"));
    let told = || seen.names().contains("release_cut_off");
    let store = MemoryStore::store_clock();
    runtime().block_on(async {
        let (lock, guard) = held(&store).await;
        drop(guard);
        lock.client().close().await;
    });
    assert!(!told(), "it was closed first");

    let runtime = runtime();
    let guard = runtime.block_on(async {
        let (_lock, guard) = held(&store).await;
        guard
    });
    // Nobody drives what the drop begins.
    drop(guard);
    assert!(!told(), "the runtime is here yet");
    drop(runtime);
    assert!(told());
}
