//! W1: clones of one provider find the same client; other providers do not. The contents that a lock gives its record.

use dlock_core::{DLock, Provider};
use std::sync::Arc;

use super::harness::{acquired, held, lock, ok, rounds, soon};
use dlock_testkit::{Bench, faults::Faulty};

pub(crate) async fn clones_of_a_provider_share_a_client(bench: Bench) {
    let name = bench.name("");
    let lock = |provider: Arc<dyn Provider>| {
        ok(DLock::builder()
            .name(name.as_str())
            .provider(provider)
            .build())
    };
    let mut clones = bench.clones(1_000).await;
    let locks: Vec<DLock> = clones.drain(1..).map(lock).collect();
    let lease = acquired(soon("the lock", locks[0].try_acquire()).await);
    for index in [1, 500, locks.len() - 1] {
        let holder = held(soon("an answer", locks[index].try_acquire()).await);
        assert!(holder.ours, "clone {index} has a client of its own");
    }
    // A separate provider, and a wrapper, are other processes.
    let stranger = lock(bench.provider().await);
    assert!(!held(soon("an answer", stranger.try_acquire()).await).ours);
    let wrapped = lock(Arc::new(Faulty::new(clones.remove(0))));
    assert!(
        !held(soon("an answer", wrapped.try_acquire()).await).ours,
        "a wrapper forwards its client"
    );
    ok(soon("the release", lease.release()).await);
}

pub(crate) async fn lock_keeps_what_it_was_built_with(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        let rich = lock!(harness, "", owner = "worker-7", data = b"page 4".to_vec());
        let other = ok(rich.named(harness.name("other").as_str()));
        for lock in [&rich, &other] {
            let lease = acquired(soon("the lock", lock.try_acquire()).await);
            let record = ok(lock.read().await);
            let Some(record) = record else {
                panic!("no record of {:?}", lock.name())
            };
            assert_eq!(record.owner, "worker-7");
            assert_eq!(record.data.as_deref(), Some(&b"page 4"[..]));
            assert_eq!((record.uuid, record.token), (lease.uuid(), lease.token()));
            assert_eq!(record.duration, harness.lease);
            let rival = harness.rival().await;
            let shown = held(ok_named(&rival, lock).try_acquire().await);
            assert_eq!(shown.record.data, record.data, "a refusal shows the data");
            ok(soon("the release", lease.release()).await);
        }
        // Another owner or other data for one use of the lock.
        let other = ok(rich.owned_by("worker-8"));
        let page = ok(rich.carrying("page 5"));
        for (lock, owner, data) in [
            (&other, "worker-8", "page 4"),
            (&page, "worker-7", "page 5"),
        ] {
            let lease = acquired(soon("the lock", lock.try_acquire()).await);
            let refused = held(soon("an answer", rich.try_acquire()).await);
            assert!(refused.ours, "it is not the same lock");
            assert_eq!(refused.record.owner, owner);
            assert_eq!(refused.record.data.as_deref(), Some(data.as_bytes()));
            assert_eq!(refused.record.uuid, lease.uuid());
            ok(soon("the release", lease.release()).await);
        }
        // The next term has its own, or none.
        let plain = lock!(harness, "");
        let _lease = acquired(soon("the lock", plain.try_acquire()).await);
        let record = ok(plain.read().await);
        assert_eq!(record.map(|record| record.data), Some(None));
    })
    .await;
}

/// The same name in another process.
fn ok_named(harness: &super::harness::Harness, lock: &DLock) -> DLock {
    ok(lock!(harness, "unused").named(lock.name()))
}
