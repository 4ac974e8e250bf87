//! H4, S3, within one client: a lease that its holder releases goes to the client's next waiter after its release,
//! where its term does not continue.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use dlock_core::{DLock, FencingToken, Lease, ReleaseEnd};
use dlock_testkit::{
    Bench,
    faults::{Fault, Op},
};
use tokio::task::{JoinHandle, yield_now};
use uuid::Uuid;

use super::harness::{acquired, eventually, lock, ok, poll_once, rounds, settle, soon};

const HOUR: Duration = Duration::from_secs(3600);

pub(crate) async fn giver_is_not_stale_when_its_own_client_was_faster(bench: Bench) {
    rounds(bench, |round| async move {
        // A try claims a retired term while its release is in flight.
        let (harness, _hand) = round.by_hand().await;
        harness.deafen();
        let lock = lock!(harness, "claimed", poll_every = HOUR);
        let first = acquired(lock.try_acquire().await);
        harness.store.next(Op::Release, Fault::HoldRequest);
        let mut release = Box::pin(first.release());
        assert!(poll_once(release.as_mut()).is_pending());
        eventually("the release", || harness.store.held() == 1).await;
        let next = acquired(soon("the claim", lock.try_acquire()).await);
        harness.store.deliver().await;
        assert_eq!(ok(soon("the release", release).await), ReleaseEnd::Released);
        assert!(next.is_valid());

        // The claiming term ended too, and a stranger came, before the first term's release arrived.
        let (harness, _hand) = round.by_hand().await;
        harness.deafen();
        let lock = lock!(harness, "passed on", poll_every = HOUR);
        let first = acquired(lock.try_acquire().await);
        harness.store.next(Op::Release, Fault::HoldRequest);
        let mut release = Box::pin(first.release());
        assert!(poll_once(release.as_mut()).is_pending());
        eventually("the release", || harness.store.held() == 1).await;
        let next = acquired(soon("the claim", lock.try_acquire()).await);
        let ended = soon("the claimant's release", next.release()).await;
        assert_eq!(ok(ended), ReleaseEnd::Released);
        harness.taken_by_another("passed on").await;
        harness.store.deliver().await;
        assert_eq!(ok(soon("the release", release).await), ReleaseEnd::Released);

        // Before it arrived, more terms of its client followed than a client remembers (G4).
        let (harness, _hand) = round.by_hand().await;
        harness.deafen();
        let lock = lock!(harness, "long ago", poll_every = HOUR);
        let first = acquired(lock.try_acquire().await);
        harness.store.next(Op::Release, Fault::HoldRequest);
        let mut release = Box::pin(first.release());
        assert!(poll_once(release.as_mut()).is_pending());
        eventually("the release", || harness.store.held() == 1).await;
        for _ in 0..10 {
            let next = acquired(soon("the claim", lock.try_acquire()).await);
            let ended = soon("the claimant's release", next.release()).await;
            assert_eq!(ok(ended), ReleaseEnd::Released);
        }
        harness.store.deliver().await;
        assert_eq!(ok(soon("the release", release).await), ReleaseEnd::Released);
    })
    .await;
}

/// S3: none of their terms continues, and each is released before the next is requested.
pub(crate) async fn waiters_with_locks_of_their_own_are_served_in_order(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness.deafen();
        let lock = lock!(harness, "", poll_every = HOUR);
        let first = acquired(lock.try_acquire().await);
        let order = Arc::new(Mutex::new(Vec::new()));
        let crowd: Vec<_> = (0..5)
            .map(|place| in_line(&ok(lock.owned_by(format!("task {place}"))), place, &order))
            .collect();
        harness.sent(Op::Acquire, 2).await;
        settle().await;
        harness.store.forget_calls();
        let mut token = first.token();
        ok(soon("the release", first.release()).await);
        for member in crowd {
            // Each may leave an instant to others (N7).
            let (_, next) = hand.passes_until(member).await;
            assert!(next > token, "tokens grow (I3)");
            token = next;
        }
        let order = order.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(order.is_sorted(), "served in the order {order:?}");
        let claims: Vec<_> = harness.acquires().iter().map(|sent| sent.prev).collect();
        assert!(claims.iter().all(Option::is_none), "{claims:?}");
        assert_eq!(harness.releases().len(), 6);
    })
    .await;
}

/// A waiter that is in line now: tasks may start in a different order from the one in which they were spawned.
pub(super) fn queued(lock: &DLock) -> JoinHandle<Result<Lease, dlock_core::Error>> {
    let lock = lock.clone();
    let mut acquire = Box::pin(async move { lock.acquire().await });
    assert!(poll_once(acquire.as_mut()).is_pending());
    crate::spawn(acquire)
}

/// A waiter that is in line now, and that works for long enough for the others to act before it releases the lock.
pub(super) fn in_line(
    lock: &DLock,
    place: usize,
    order: &Arc<Mutex<Vec<usize>>>,
) -> JoinHandle<(Uuid, FencingToken)> {
    let (lock, order) = (lock.clone(), Arc::clone(order));
    let mut acquire = Box::pin(async move { lock.acquire().await });
    assert!(poll_once(acquire.as_mut()).is_pending());
    crate::spawn(async move {
        let lease = ok(acquire.await);
        order
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(place);
        let named = (lease.uuid(), lease.token());
        for _ in 0..20 {
            yield_now().await;
        }
        ok(lease.release().await);
        named
    })
}
