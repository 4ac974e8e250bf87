//! What a lock keeps in its record.

use dlock_core::DLock;
use dlock_testkit::Bench;

use super::bed::{acquired, held, lock, ok, rounds, soon};

pub(in crate::cases) async fn lock_keeps_what_it_was_built_with(bench: Bench) {
    rounds(bench, |round| async move {
        let (bed, _hand) = round.by_hand().await;
        let rich = lock!(bed, "", owner = "worker-7", data = b"page 4".to_vec());
        let other = ok(rich.named(bed.name("other").as_str()));
        for lock in [&rich, &other] {
            let lease = acquired(soon("the lock", lock.try_acquire()).await);
            let record = ok(lock.read().await);
            let Some(record) = record else {
                panic!("no record of {:?}", lock.name())
            };
            assert_eq!(record.owner, "worker-7");
            assert_eq!(record.data.as_deref(), Some(&b"page 4"[..]));
            assert_eq!((record.uuid, record.token), (lease.uuid(), lease.token()));
            assert_eq!(record.duration, bed.lease);
            let rival = bed.rival().await;
            let shown = held(ok_named(&rival, lock).try_acquire().await);
            assert_eq!(shown.record.data, record.data, "a refusal shows the data");
            ok(soon("the release", lease.release()).await);
        }
        // The next term has its own, or none.
        let plain = lock!(bed, "");
        let _lease = acquired(soon("the lock", plain.try_acquire()).await);
        let record = ok(plain.read().await);
        assert_eq!(record.map(|record| record.data), Some(None));
    })
    .await;
}

/// The same name in another process.
fn ok_named(bed: &super::bed::Bed, lock: &DLock) -> DLock {
    ok(lock!(bed, "unused").named(lock.name()))
}
