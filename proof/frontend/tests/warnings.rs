//! The warnings: that a release was lost with its runtime, as with a guard that is dropped when `main` returns; and
//! that a caller waits for a lock that its own process holds.

use std::{sync::OnceLock, time::Duration};

use dlock_core::{Client, Clock, DLock, Guard};
use dlock_proof::traces::Seen;
use dlock_testkit::memory::{MemoryProvider, MemoryStore};
use tokio::runtime::{Builder, Runtime};

fn runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap_or_else(|error| panic!("{error}"))
}

/// The traces of this process, from all tests here.
fn seen() -> &'static Seen {
    static SEEN: OnceLock<Seen> = OnceLock::new();
    SEEN.get_or_init(|| Seen::install("dlock_core").unwrap_or_else(|error| panic!("{error}")))
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
    let told = || seen().names().contains("release_cut_off");
    assert!(!told());
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
    // No runtime drives the release that the drop begins.
    drop(guard);
    assert!(!told(), "the runtime is here yet");
    drop(runtime);
    assert!(told());
}

#[tokio::test(start_paused = true)]
async fn waiting_for_ones_own_lock_is_told() {
    let told = || seen().names().contains("held_by_this_process");
    let client = Client::with_clock(
        MemoryProvider::new(&MemoryStore::store_clock()),
        Clock::tokio(1.0),
    );
    let lease = Duration::from_secs(10);
    let lock = DLock::builder().name("door").provider(client);
    let lock = lock.duration(lease).build();
    let lock = lock.unwrap_or_else(|error| panic!("{error}"));
    let guard = lock.hold().await.unwrap_or_else(|error| panic!("{error}"));
    assert!(lock.acquire_timeout(lease * 9 / 10).await.is_err());
    assert!(!told(), "another task may give it back yet");
    assert!(lock.acquire_timeout(lease * 3).await.is_err());
    assert!(told());
    drop(guard);
    lock.client().close().await;
}
