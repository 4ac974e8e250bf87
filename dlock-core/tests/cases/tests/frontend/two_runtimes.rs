//! N6: runtimes of one process compete for a lock as processes do, and none of them keeps it from the other.

#![expect(clippy::unwrap_used, reason = "a test panics where it fails")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use dlock_core::DLock;
use dlock_testkit::memory::{MemoryProvider, MemoryStore};
use tokio::{runtime::Builder, time::timeout};

/// No poll comes before the test has failed.
const HOUR: Duration = Duration::from_secs(3_600);
/// How long each runtime has for all of its grants.
const PATIENCE: Duration = Duration::from_secs(60);
const GRANTS: usize = 100;

/// Each runtime takes the lock again the moment it has released it, until both have their grants.
#[test]
fn runtimes_of_one_process_take_turns() {
    for wakeups in [true, false] {
        let provider = MemoryProvider::new(&MemoryStore::store_clock()).wakeups(wakeups);
        let lock = DLock::builder()
            .name("door")
            .provider(provider)
            .duration(HOUR)
            .poll_every(HOUR)
            .build()
            .unwrap();
        let behind = Arc::new(AtomicUsize::new(2));
        let runtimes = [(), ()].map(|()| {
            let (lock, behind) = (lock.clone(), Arc::clone(&behind));
            thread::spawn(move || {
                let runtime = Builder::new_current_thread().enable_time().build().unwrap();
                runtime.block_on(async { timeout(PATIENCE, takes(&lock, &behind)).await })
            })
        });
        for runtime in runtimes {
            let grants = runtime.join().unwrap().unwrap();
            assert!(grants >= GRANTS, "{grants}");
        }
    }
}

async fn takes(lock: &DLock, behind: &AtomicUsize) -> usize {
    let mut grants = 0;
    while behind.load(Ordering::SeqCst) > 0 {
        let lease = lock.acquire().await.unwrap();
        tokio::task::yield_now().await;
        lease.release().await.unwrap();
        grants += 1;
        if grants == GRANTS {
            behind.fetch_sub(1, Ordering::SeqCst);
        }
    }
    grants
}
