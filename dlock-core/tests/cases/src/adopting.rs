//! Terms that the store granted to a request of the caller's own, adopted as leases.

use std::time::Duration;

use dlock_core::{DLock, Grant, Lease, ReleaseEnd};
use dlock_testkit::{Bench, faults::Op};

use super::harness::{Hand, Harness, eventually, held, lock, ok, rounds, soon};

const SECOND: Duration = Duration::from_secs(1);

/// The caller calls the store itself; the answer takes this long.
async fn adopted(harness: &Harness, lock: &DLock, answer: Option<(&Hand, Duration)>) -> Lease {
    let request = harness.bench().term(lock.name());
    let sent = harness.client.sent();
    let token = harness.subject().await.grants(&request).await;
    if let Some((hand, takes)) = answer {
        hand.jump(takes);
    }
    let lease = lock.adopt(Grant::new(request.new, token, sent));
    assert_eq!((lease.uuid(), lease.token()), (request.new, token));
    lease
}

pub(crate) async fn adopted_lease_counts_from_its_request(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let lease = adopted(&harness, &lock!(harness, "a"), Some((&hand, 5 * SECOND))).await;
        assert_eq!(lease.remaining(), 43 * SECOND, "48 s from the request");
        let late = adopted(&harness, &lock!(harness, "b"), Some((&hand, 48 * SECOND))).await;
        assert!(!late.is_valid(), "valid after its deadline");
    })
    .await;
}

pub(crate) async fn adopted_lease_is_renewed_and_given_back(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let lock = lock!(harness, "");
        let guard = adopted(&harness, &lock, None).await.keep_alive();
        held(lock.try_acquire().await);
        for renewal in 1..=3 {
            hand.advance(20 * SECOND).await;
            harness.sent(Op::Renew, renewal).await;
        }
        let numbers: Vec<u64> = harness.renewals().iter().map(|renewal| renewal.n).collect();
        assert_eq!(numbers, [1, 2, 3]);
        assert!(guard.is_valid());
        let end = ok(soon("the release", guard.release()).await);
        assert_eq!(end, ReleaseEnd::Released);
    })
    .await;
}

pub(crate) async fn adopted_lease_that_is_dropped_is_given_back(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        let lease = adopted(&harness, &lock!(harness, ""), None).await;
        let term = lease.uuid();
        drop(lease);
        eventually("the release", || {
            harness
                .releases()
                .iter()
                .any(|release| release.uuid == term)
        })
        .await;
    })
    .await;
}
