//! H1 to H6, within one client: a lease that its holder gives back goes to the client's next waiter, in one
//! write; where that hand-over fails, the lease is released all the same.

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

use super::harness::{
    Harness, acquired, eventually, joined, lock, ok, poll_once, rounds, settle, soon, waiting,
};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

/// H5: the most hand-overs in a row.
const MOST_PASSES: usize = 16;

pub(in crate::cases) async fn released_lock_goes_to_the_next_waiter_in_one_write(bench: Bench) {
    rounds(bench, |round| async move {
        for how in ["released", "dropped", "with"] {
            let (harness, _hand) = round.by_hand().await;
            harness.deafen();
            let lock = lock!(harness, how, poll_every = HOUR);
            let mut first = acquired(lock.try_acquire().await);
            ok(soon("the renewal", first.renew()).await);
            let (uuid, token) = (first.uuid(), first.token());
            let waiter = head(&harness, &lock).await;
            harness.store.forget_calls();
            match how {
                "released" => {
                    let ended = soon("the release", first.release()).await;
                    assert_eq!(ok(ended), ReleaseEnd::Released);
                }
                "dropped" => drop(first),
                _ => drop(first.keep_alive()),
            }
            let next = ok(joined(waiter).await);
            assert!(next.is_valid());
            assert_ne!(
                next.uuid(),
                uuid,
                "the next term has an identity of its own"
            );
            assert!(next.token() > token, "tokens grow (I3)");
            let sent = harness.acquires();
            assert_eq!(sent.len(), 1, "one write: {sent:?}");
            let prev = sent[0].prev.map(|prev| (prev.uuid, prev.renewals));
            assert_eq!(
                prev,
                Some((uuid, 1)),
                "it claims the term that was given up"
            );
            settle().await;
            assert_eq!(harness.releases().len(), 0, "there is nothing to release");
        }
    })
    .await;
}

pub(in crate::cases) async fn lock_is_handed_on_past_a_renewal_under_way(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        harness.deafen();
        let lock = lock!(harness, "", poll_every = HOUR);
        let mut first = acquired(lock.try_acquire().await);
        // It raised the number, and nobody here knows.
        harness.store.next(Op::Renew, Fault::UNKNOWN_AFTER);
        assert!(soon("the renewal", first.renew()).await.is_err());
        let waiter = head(&harness, &lock).await;
        harness.store.forget_calls();
        let ended = soon("the release", first.release()).await;
        assert_eq!(ok(ended), ReleaseEnd::Released);
        assert!(ok(joined(waiter).await).is_valid());
        let numbers: Vec<_> = harness.acquires().iter().map(|sent| sent.prev).collect();
        let numbers: Vec<_> = numbers.into_iter().flatten().map(|p| p.renewals).collect();
        assert_eq!(numbers, [0, 1], "refused once, and at once granted");
    })
    .await;
}

pub(in crate::cases) async fn giver_has_stopped_before_the_next_is_asked_for(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        harness.deafen();
        let lock = lock!(harness, "", poll_every = HOUR);
        let first = acquired(lock.try_acquire().await);
        let waiter = head(&harness, &lock).await;
        let expired = first.expired();
        harness.store.next(Op::Acquire, Fault::HoldRequest);
        let mut release = Box::pin(first.release());
        assert!(poll_once(release.as_mut()).is_pending());
        assert!(
            poll_once(Box::pin(expired).as_mut()).is_ready(),
            "valid after its release began"
        );
        eventually("the waiter's try", || harness.store.held() == 1).await;
        harness.store.deliver().await;
        assert_eq!(ok(soon("the release", release).await), ReleaseEnd::Released);
        assert!(ok(joined(waiter).await).is_valid());
    })
    .await;
}

pub(in crate::cases) async fn hand_over_that_is_refused_is_followed_by_the_release(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        harness.deafen();
        let lock = lock!(harness, "", poll_every = HOUR);
        let first = acquired(lock.try_acquire().await);
        let term = harness.acquires().remove(0);
        let waiter = head(&harness, &lock).await;
        // Somebody else has it by now.
        harness.subject().await.releases(&term, None).await;
        let (_subject, other) = harness.taken_by_another("").await;
        match ok(soon("the release", first.release()).await) {
            ReleaseEnd::NotHeld(Some(record)) => assert_eq!(record.uuid, other.new),
            ended => panic!("{ended:?}"),
        }
        assert_eq!(harness.releases().len(), 1);
        settle().await;
        assert!(!waiter.is_finished(), "it waits on");
        waiter.abort();
    })
    .await;
}

pub(in crate::cases) async fn hand_over_without_an_answer_is_followed_by_the_release(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness.deafen();
        let lock = lock!(harness, "", poll_every = HOUR);
        let first = acquired(lock.try_acquire().await);
        let waiter = head(&harness, &lock).await;
        harness.store.forget_calls();
        harness.store.next(Op::Acquire, Fault::LoseRequest);
        let release = tokio::spawn(first.release());
        harness.sent(Op::Acquire, 1).await;
        settle().await;
        assert_eq!(harness.releases().len(), 0);
        // Its try is repeated for longer; the release does not wait for that.
        hand.advance(SECOND).await;
        hand.advance(10 * SECOND).await;
        assert_eq!(ok(joined(release).await), ReleaseEnd::Released);
        assert_eq!(harness.releases().len(), 1);
        hand.advance(SECOND).await;
        assert!(ok(joined(waiter).await).is_valid());
    })
    .await;
}

pub(in crate::cases) async fn waiter_that_leaves_takes_no_hand_over_along(bench: Bench) {
    rounds(bench, |round| async move {
        for followers in [0, 1] {
            let (harness, _hand) = round.by_hand().await;
            harness.deafen();
            let lock = lock!(harness, followers.to_string(), poll_every = HOUR);
            let first = acquired(lock.try_acquire().await);
            let uuid = first.uuid();
            let mut leaves = Box::pin(lock.acquire());
            assert!(poll_once(leaves.as_mut()).is_pending());
            harness.sent(Op::Acquire, 2).await;
            settle().await;
            let follower = (followers > 0).then(|| waiting(&lock));
            settle().await;
            let mut release = Box::pin(first.release());
            let begun = poll_once(release.as_mut());
            drop(leaves);
            // No time passes. On a busy machine it may have ended in that poll, on other threads.
            let ended = match begun {
                std::task::Poll::Ready(ended) => ended,
                std::task::Poll::Pending => soon("the release", release).await,
            };
            assert_eq!(ok(ended), ReleaseEnd::Released);
            match follower {
                Some(follower) => assert!(ok(joined(follower).await).is_valid()),
                None => {
                    eventually("the lock is free", || {
                        // Its own release, or that of the grant which nobody took.
                        harness.releases().iter().any(|sent| {
                            let last = harness.acquires().pop().map(|sent| sent.new);
                            sent.uuid == uuid || Some(sent.uuid) == last
                        })
                    })
                    .await;
                }
            }
        }
    })
    .await;
}

pub(in crate::cases) async fn giver_is_not_stale_when_its_own_client_was_faster(bench: Bench) {
    rounds(bench, |round| async move {
        // The waiter's try is applied, and the waiter is gone before anybody hears of it.
        let (harness, hand) = round.by_hand().await;
        harness.deafen();
        let lock = lock!(harness, "gone", poll_every = HOUR);
        let first = acquired(lock.try_acquire().await);
        let mut leaves = Box::pin(lock.acquire());
        assert!(poll_once(leaves.as_mut()).is_pending());
        harness.sent(Op::Acquire, 2).await;
        settle().await;
        harness.store.next(Op::Acquire, Fault::UNKNOWN_AFTER);
        let release = tokio::spawn(first.release());
        harness.sent(Op::Acquire, 3).await;
        settle().await;
        drop(leaves);
        assert_eq!(ok(hand.passes_until(release).await), ReleaseEnd::Released);

        // A try claims a retired term while its release is under way.
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

        // More terms of its client followed than a client remembers (G4) before it arrived.
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

pub(in crate::cases) async fn lock_goes_back_to_the_store_after_a_row_of_hand_overs(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        harness.deafen();
        let lock = lock!(harness, "", poll_every = HOUR);
        let first = acquired(lock.try_acquire().await);
        let mut served = vec![first.uuid()];
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut crowd = Vec::new();
        for place in 0..MOST_PASSES + 3 {
            crowd.push(in_line(&lock, place, &order));
        }
        harness.sent(Op::Acquire, 2).await;
        settle().await;
        harness.store.forget_calls();
        ok(soon("the release", first.release()).await);
        for member in crowd {
            served.push(joined(member).await.0);
        }
        let order = order.lock().unwrap_or_else(PoisonError::into_inner).clone();
        assert!(order.is_sorted(), "served in the order {order:?}");
        let releases = harness.releases();
        // A term may go on with several of them (S1).
        let ends = |place: &usize| served.get(place + 1) != Some(&served[*place]);
        let back: Vec<_> = (0..served.len())
            .filter(|place| releases.iter().any(|sent| sent.uuid == served[*place]))
            .filter(ends)
            .collect();
        let last = served.len() - 1;
        assert_eq!(
            back,
            [MOST_PASSES, last],
            "the pass budget, and the last waiter"
        );
        // One write a hand-over: nobody asks while it goes from hand to hand.
        let acquires = harness.acquires().len();
        let most = served.len() + 2;
        assert!(
            acquires <= most,
            "{acquires} acquires for {} leases",
            served.len()
        );
    })
    .await;
}

pub(in crate::cases) async fn lock_goes_back_to_the_store_after_a_while_of_hand_overs(
    bench: Bench,
) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness.deafen();
        let lock = lock!(harness, "", poll_every = HOUR);
        let first = acquired(lock.try_acquire().await);
        let waiters = [head(&harness, &lock).await, queued(&lock), queued(&lock)];
        settle().await;
        ok(soon("the release", first.release()).await);
        let [second, third, fourth] = waiters;
        let second = ok(joined(second).await);
        hand.advance(SECOND / 2).await;
        ok(soon("the release", second.release()).await);
        // Were it not handed over, a waiter might leave an instant to others first (F2).
        let third = ok(hand.passes_until(third).await);
        assert_eq!(harness.releases().len(), 0, "handed over twice");
        // Over a second since the first of them.
        hand.advance(SECOND * 6 / 10).await;
        let uuid = third.uuid();
        ok(soon("the release", third.release()).await);
        let sent = harness.releases();
        assert!(sent.iter().any(|sent| sent.uuid == uuid), "{sent:?}");
        // It may leave an instant to others (F2).
        drop(ok(hand.passes_until(fourth).await));
    })
    .await;
}

/// A waiter that contends, and has been refused.
async fn head(harness: &Harness, lock: &DLock) -> JoinHandle<Result<Lease, dlock_core::Error>> {
    let before = harness.questions();
    let waiter = waiting(lock);
    harness.asked(before + 1).await;
    settle().await;
    waiter
}

/// A waiter that is in line now: tasks may start in another order than they were spawned in.
pub(super) fn queued(lock: &DLock) -> JoinHandle<Result<Lease, dlock_core::Error>> {
    let lock = lock.clone();
    let mut acquire = Box::pin(async move { lock.acquire().await });
    assert!(poll_once(acquire.as_mut()).is_pending());
    tokio::spawn(acquire)
}

/// A waiter that is in line now, and that works for so long that the others act before it gives the lock back.
pub(super) fn in_line(
    lock: &DLock,
    place: usize,
    order: &Arc<Mutex<Vec<usize>>>,
) -> JoinHandle<(Uuid, FencingToken)> {
    let (lock, order) = (lock.clone(), Arc::clone(order));
    let mut acquire = Box::pin(async move { lock.acquire().await });
    assert!(poll_once(acquire.as_mut()).is_pending());
    tokio::spawn(async move {
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
