//! `Client::close`, G3.

use std::time::Duration;

use dlock_core::{Error, ReleaseEnd};
use dlock_testkit::{
    Bench,
    faults::{Fault, Op},
};

use super::harness::{acquired, joined, lock, ok, rounds, settle, soon, waiting};

pub(crate) async fn close_ends_waiters_and_later_acquires(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        let (_subject, _other) = harness.taken_by_another("").await;
        let lock = lock!(harness, "");
        let waiters = [waiting(&lock), waiting(&lock)];
        harness.sent(Op::Acquire, 1).await;
        settle().await;
        assert_eq!(soon("closing", harness.client.close()).await, 0);
        for waiter in waiters {
            assert!(matches!(joined(waiter).await, Err(Error::Closed)));
        }
        let sent = harness.acquires().len();
        assert!(matches!(
            soon("an answer", lock.acquire()).await,
            Err(Error::Closed)
        ));
        assert!(matches!(
            soon("an answer", lock.try_acquire()).await,
            Err(Error::Closed)
        ));
        assert_eq!(harness.acquires().len(), sent);
    })
    .await;
}

pub(crate) async fn close_waits_until_everything_is_given_back(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        let lease = acquired(lock!(harness, "").try_acquire().await);
        harness
            .store
            .next(Op::Release, Fault::DelayRequest(Duration::from_millis(150)));
        drop(lease);
        assert_eq!(soon("closing", harness.client.close()).await, 0);
        let record = harness.subject().await.record(&harness.name("")).await;
        assert!(record.released, "{record:?}");
    })
    .await;
}

pub(crate) async fn close_leaves_leases_to_their_holders(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let mut lease = acquired(lock!(harness, "lease").try_acquire().await);
        let guard = ok(lock!(harness, "guard").hold().await);
        assert_eq!(soon("closing", harness.client.close()).await, 2);
        assert!(lease.is_valid() && guard.is_valid());
        ok(lease.renew().await);
        hand.advance(Duration::from_secs(20)).await;
        harness.sent(Op::Renew, 2).await;
        assert_eq!(
            ok(soon("the release", lease.release()).await),
            ReleaseEnd::Released
        );
        assert_eq!(
            ok(soon("the release", guard.release()).await),
            ReleaseEnd::Released
        );
        assert_eq!(soon("closing", harness.client.close()).await, 0);
    })
    .await;
}
