//! G4: the remains of our own ended tries and leases do not block us.

use std::time::Duration;

use dlock_core::{DLock, Lease, provider::Acquire};
use dlock_testkit::{
    Bench,
    faults::{Fault, Op},
};

use super::harness::{
    Hand, Harness, acquired, eventually, held, joined, lock, ok, poll_once, rounds, settle, soon,
    trying,
};

const SECOND: Duration = Duration::from_secs(1);

pub(crate) async fn late_copy_of_a_try_given_up_does_not_block_its_client(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let lock = lock!(harness, "");
        let ended = give_up(&harness, &hand, &lock).await;
        enters_past(&harness, &lock, &ended).await;
    })
    .await;
}

pub(crate) async fn late_copy_of_a_refused_try_does_not_block_its_client(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        let lock = lock!(harness, "");
        let (subject, other) = harness.taken_by_another("").await;
        held(lock.try_acquire().await);
        let ended = last(&harness);
        subject.releases(&other, None).await;
        enters_past(&harness, &lock, &ended).await;
    })
    .await;
}

pub(crate) async fn late_copy_of_a_spent_try_does_not_block_its_client(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let lock = lock!(harness, "");
        let (ended, lease) = spend(&harness, &hand, &lock).await;
        ok(soon("the release", lease.release()).await);
        enters_past(&harness, &lock, &ended).await;
    })
    .await;
}

pub(crate) async fn late_copy_of_a_late_grants_try_does_not_block_its_client(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let lock = lock!(harness, "");
        harness
            .interceptor
            .after(Op::Acquire, hand.jumping(48 * SECOND));
        let lease = acquired(soon("the lock", lock.try_acquire()).await);
        let ended = harness.acquires().remove(0);
        assert_ne!(ended.new, lease.uuid());
        // The late grant's own release first: it would release the orphan, too.
        harness.sent(Op::Release, 1).await;
        settle().await;
        ok(soon("the release", lease.release()).await);
        enters_past(&harness, &lock, &ended).await;
    })
    .await;
}

pub(crate) async fn late_copy_of_a_grant_nobody_took_does_not_block_its_client(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        let lock = lock!(harness, "");
        let mut absent = Box::pin(lock.acquire());
        harness.store.next(Op::Acquire, Fault::HoldRequest);
        assert!(poll_once(absent.as_mut()).is_pending());
        harness.sent(Op::Acquire, 1).await;
        harness.store.deliver().await;
        settle().await;
        drop(absent);
        harness.sent(Op::Release, 1).await;
        settle().await;
        let ended = last(&harness);
        // Another term, so that the copy is not a repeat of the record's own.
        let (subject, other) = harness.taken_by_another("").await;
        subject.releases(&other, None).await;
        enters_past(&harness, &lock, &ended).await;
    })
    .await;
}

pub(crate) async fn late_copy_of_a_released_leases_try_does_not_block_its_client(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        let lock = lock!(harness, "");
        let lease = acquired(lock.try_acquire().await);
        let ended = last(&harness);
        ok(soon("the release", lease.release()).await);
        let (subject, other) = harness.taken_by_another("").await;
        subject.releases(&other, None).await;
        enters_past(&harness, &lock, &ended).await;
    })
    .await;
}

pub(crate) async fn unreleased_lease_of_ours_does_not_block_its_client(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        let lock = lock!(harness, "");
        let lease = acquired(lock.try_acquire().await);
        harness.store.always(Op::Release, Fault::LoseRequest);
        drop(lease);
        harness.sent(Op::Release, 1).await;
        let next = acquired(soon("the lock", lock.try_acquire()).await);
        assert_eq!(harness.acquires().len(), 3);
        assert!(next.is_valid());
    })
    .await;
}

pub(crate) async fn last_eight_are_remembered_for_two_leases(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let lock = lock!(harness, "");
        let (subject, other) = harness.taken_by_another("").await;
        // The try that looks past the orphan is the eighth.
        for _ in 0..7 {
            held(lock.try_acquire().await);
        }
        let first = harness.acquires().remove(0);
        subject.releases(&other, None).await;
        hand.jump(2 * harness.lease - Duration::from_millis(1));
        enters_past(&harness, &lock, &first).await;
    })
    .await;
}

pub(crate) async fn live_lease_of_ours_is_never_claimed(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        let lock = lock!(harness, "", owner = "worker-7");
        let lease = acquired(lock.try_acquire().await);
        let holder = held(lock.try_acquire().await);
        assert!(holder.ours, "this process holds it, and should learn that");
        assert_eq!(holder.record.uuid, lease.uuid());
        assert_eq!(harness.acquires().len(), 2, "one try");
        assert!(harness.acquires().iter().all(|sent| sent.prev.is_none()));
        assert!(lease.is_valid());
        settle().await;
        assert_eq!(
            harness.releases().len(),
            0,
            "a refused try gave the lease back"
        );
        // For another process it is not.
        let rival = harness.rival().await;
        assert!(!held(lock!(rival, "", owner = "worker-7").try_acquire().await).ours);
    })
    .await;
}

/// The newest acquire that was sent.
fn last(harness: &Harness) -> Acquire {
    let mut acquires = harness.acquires();
    acquires
        .pop()
        .unwrap_or_else(|| panic!("no acquire was sent"))
}

/// A try of this client that received no answer; its clean-up found nothing.
async fn give_up(harness: &Harness, hand: &Hand, lock: &DLock) -> Acquire {
    harness.store.next(Op::Acquire, Fault::LoseRequest);
    harness.store.next(Op::Acquire, Fault::LoseRequest);
    let trying = trying(lock);
    harness.sent(Op::Acquire, 1).await;
    hand.advance(10 * SECOND).await;
    hand.advance(SECOND).await;
    harness.sent(Op::Acquire, 2).await;
    hand.advance(10 * SECOND).await;
    let answer = joined(trying).await;
    assert!(
        matches!(answer, Err(dlock_core::Error::Provider(_))),
        "{answer:?}"
    );
    harness.sent(Op::Release, 1).await;
    settle().await;
    last(harness)
}

/// A try of this client that ended `Spent`, and the lease that followed at once.
pub(super) async fn spend(harness: &Harness, hand: &Hand, lock: &DLock) -> (Acquire, Lease) {
    // Applied, the reply lost, and ended before it is repeated.
    harness.store.next(Op::Acquire, Fault::LoseReply);
    let trying = trying(lock);
    harness.sent(Op::Acquire, 1).await;
    settle().await;
    let spent = last(harness);
    harness.subject().await.releases(&spent, None).await;
    hand.advance(10 * SECOND).await;
    hand.advance(SECOND).await;
    let lease = acquired(joined(trying).await);
    assert_eq!(
        harness.acquires().len(),
        3,
        "the try, its repeat, and a fresh one at once"
    );
    (spent, lease)
}

pub(crate) async fn try_whose_caller_has_gone_is_not_made_anew(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let lock = lock!(harness, "");
        let ended = give_up(&harness, &hand, &lock).await;
        let _orphan = harness.subject().await.grants(&ended).await;
        harness.store.forget_calls();
        harness.store.next(Op::Acquire, Fault::HoldRequest);
        let mut absent = Box::pin(lock.try_acquire());
        assert!(poll_once(absent.as_mut()).is_pending());
        eventually("the try", || harness.store.held() == 1).await;
        drop(absent);
        settle().await;
        // It was refused by a term that the client could claim.
        harness.store.deliver().await;
        settle().await;
        assert_eq!(harness.acquires().len(), 1, "no caller waits for another");
    })
    .await;
}

/// A late copy of the ended try takes the free lock; the client that sent it enters nevertheless, with one more try.
async fn enters_past(harness: &Harness, lock: &DLock, ended: &Acquire) {
    let subject = harness.subject().await;
    let orphan = subject.grants(ended).await;
    harness.store.forget_calls();
    let lease = acquired(soon("the lock", lock.try_acquire()).await);
    assert!(lease.token() > orphan, "tokens grow (I3)");
    let sent = harness.acquires();
    assert_eq!(
        sent.len(),
        2,
        "refused by the orphan, then granted: {sent:?}"
    );
    assert_ne!(
        sent[0].new, sent[1].new,
        "each try has an identity of its own"
    );
    assert_eq!(sent[1].prev.map(|prev| prev.uuid), Some(ended.new));
}
