//! G4: what is left of our own ended tries and leases does not stand in our own way.

use std::time::Duration;

use dlock_core::{DLock, Lease, provider::Acquire};
use dlock_testkit::{
    Bench,
    faults::{Fault, Op},
};

use super::bed::{
    Bed, Hand, acquired, held, joined, lock, ok, poll_once, rounds, settle, soon, trying,
};

const SECOND: Duration = Duration::from_secs(1);

pub(in crate::cases) async fn late_copy_of_a_try_given_up_does_not_block_its_client(bench: Bench) {
    rounds(bench, |round| async move {
        let (bed, hand) = round.by_hand().await;
        let lock = lock!(bed, "");
        let ended = give_up(&bed, &hand, &lock).await;
        enters_past(&bed, &lock, &ended).await;
    })
    .await;
}

pub(in crate::cases) async fn late_copy_of_a_refused_try_does_not_block_its_client(bench: Bench) {
    rounds(bench, |round| async move {
        let (bed, _hand) = round.by_hand().await;
        let lock = lock!(bed, "");
        let (subject, other) = bed.taken_by_another("").await;
        held(lock.try_acquire().await);
        let ended = last(&bed);
        subject.releases(&other, None).await;
        enters_past(&bed, &lock, &ended).await;
    })
    .await;
}

pub(in crate::cases) async fn late_copy_of_a_spent_try_does_not_block_its_client(bench: Bench) {
    rounds(bench, |round| async move {
        let (bed, hand) = round.by_hand().await;
        let lock = lock!(bed, "");
        let (ended, lease) = spend(&bed, &hand, &lock).await;
        ok(soon("the release", lease.release()).await);
        enters_past(&bed, &lock, &ended).await;
    })
    .await;
}

pub(in crate::cases) async fn late_copy_of_a_late_grants_try_does_not_block_its_client(
    bench: Bench,
) {
    rounds(bench, |round| async move {
        let (bed, hand) = round.by_hand().await;
        let lock = lock!(bed, "");
        bed.meddler.after(Op::Acquire, hand.jumping(48 * SECOND));
        let lease = acquired(soon("the lock", lock.try_acquire()).await);
        let ended = bed.acquires().remove(0);
        assert_ne!(ended.new, lease.uuid());
        // The late grant's own release first: it would give the ghost back, too.
        bed.sent(Op::Release, 1).await;
        settle().await;
        ok(soon("the release", lease.release()).await);
        enters_past(&bed, &lock, &ended).await;
    })
    .await;
}

pub(in crate::cases) async fn late_copy_of_a_grant_nobody_took_does_not_block_its_client(
    bench: Bench,
) {
    rounds(bench, |round| async move {
        let (bed, _hand) = round.by_hand().await;
        let lock = lock!(bed, "");
        let mut absent = Box::pin(lock.acquire());
        bed.store.next(Op::Acquire, Fault::HoldRequest);
        assert!(poll_once(absent.as_mut()).is_pending());
        bed.sent(Op::Acquire, 1).await;
        bed.store.deliver().await;
        settle().await;
        drop(absent);
        bed.sent(Op::Release, 1).await;
        settle().await;
        let ended = last(&bed);
        // Another term, so that the copy is no repeat of the record's own.
        let (subject, other) = bed.taken_by_another("").await;
        subject.releases(&other, None).await;
        enters_past(&bed, &lock, &ended).await;
    })
    .await;
}

pub(in crate::cases) async fn late_copy_of_a_released_leases_try_does_not_block_its_client(
    bench: Bench,
) {
    rounds(bench, |round| async move {
        let (bed, _hand) = round.by_hand().await;
        let lock = lock!(bed, "");
        let lease = acquired(lock.try_acquire().await);
        let ended = last(&bed);
        ok(soon("the release", lease.release()).await);
        let (subject, other) = bed.taken_by_another("").await;
        subject.releases(&other, None).await;
        enters_past(&bed, &lock, &ended).await;
    })
    .await;
}

pub(in crate::cases) async fn unreleased_lease_of_ours_does_not_block_its_client(bench: Bench) {
    rounds(bench, |round| async move {
        let (bed, _hand) = round.by_hand().await;
        let lock = lock!(bed, "");
        let lease = acquired(lock.try_acquire().await);
        bed.store.always(Op::Release, Fault::LoseRequest);
        drop(lease);
        bed.sent(Op::Release, 1).await;
        let next = acquired(soon("the lock", lock.try_acquire()).await);
        assert_eq!(bed.acquires().len(), 3);
        assert!(next.is_valid());
    })
    .await;
}

pub(in crate::cases) async fn last_eight_are_remembered_for_two_leases(bench: Bench) {
    rounds(bench, |round| async move {
        let (bed, hand) = round.by_hand().await;
        let lock = lock!(bed, "");
        let (subject, other) = bed.taken_by_another("").await;
        // The try that asks past the ghost is the eighth.
        for _ in 0..7 {
            held(lock.try_acquire().await);
        }
        let first = bed.acquires().remove(0);
        subject.releases(&other, None).await;
        hand.jump(2 * bed.lease - Duration::from_millis(1));
        enters_past(&bed, &lock, &first).await;
    })
    .await;
}

pub(in crate::cases) async fn live_lease_of_ours_is_never_claimed(bench: Bench) {
    rounds(bench, |round| async move {
        let (bed, _hand) = round.by_hand().await;
        let lock = lock!(bed, "", owner = "worker-7");
        let lease = acquired(lock.try_acquire().await);
        let holder = held(lock.try_acquire().await);
        assert!(holder.ours, "this process holds it, and should be told");
        assert_eq!(holder.record.uuid, lease.uuid());
        assert_eq!(bed.acquires().len(), 2, "one try");
        assert!(bed.acquires().iter().all(|sent| sent.prev.is_none()));
        assert!(lease.is_valid());
        settle().await;
        assert_eq!(bed.releases().len(), 0, "a refused try gave the lease back");
        // To another process it is not.
        let rival = bed.rival().await;
        assert!(!held(lock!(rival, "", owner = "worker-7").try_acquire().await).ours);
    })
    .await;
}

/// The newest acquire that was sent.
fn last(bed: &Bed) -> Acquire {
    let mut acquires = bed.acquires();
    acquires
        .pop()
        .unwrap_or_else(|| panic!("no acquire was sent"))
}

/// A try of this client that no answer reached; its clean-up found nothing.
async fn give_up(bed: &Bed, hand: &Hand, lock: &DLock) -> Acquire {
    bed.store.next(Op::Acquire, Fault::LoseRequest);
    bed.store.next(Op::Acquire, Fault::LoseRequest);
    let trying = trying(lock);
    bed.sent(Op::Acquire, 1).await;
    hand.advance(10 * SECOND).await;
    hand.advance(SECOND).await;
    bed.sent(Op::Acquire, 2).await;
    hand.advance(10 * SECOND).await;
    let answer = joined(trying).await;
    assert!(
        matches!(answer, Err(dlock_core::Error::Provider(_))),
        "{answer:?}"
    );
    bed.sent(Op::Release, 1).await;
    settle().await;
    last(bed)
}

/// A try of this client that ended `Spent`, and the lease that followed at once.
pub(super) async fn spend(bed: &Bed, hand: &Hand, lock: &DLock) -> (Acquire, Lease) {
    // Applied, the reply lost, and over before it is repeated.
    bed.store.next(Op::Acquire, Fault::LoseReply);
    let trying = trying(lock);
    bed.sent(Op::Acquire, 1).await;
    settle().await;
    let spent = last(bed);
    bed.subject().await.releases(&spent, None).await;
    hand.advance(10 * SECOND).await;
    hand.advance(SECOND).await;
    let lease = acquired(joined(trying).await);
    assert_eq!(
        bed.acquires().len(),
        3,
        "the try, its repeat, and a fresh one at once"
    );
    (spent, lease)
}

/// A late copy of the ended try takes the free lock; the client that sent it enters all the same,
/// with one more try.
async fn enters_past(bed: &Bed, lock: &DLock, ended: &Acquire) {
    let subject = bed.subject().await;
    let ghost = subject.grants(ended).await;
    bed.store.forget_calls();
    let lease = acquired(soon("the lock", lock.try_acquire()).await);
    assert!(lease.token() > ghost, "tokens grow (I3)");
    let sent = bed.acquires();
    assert_eq!(
        sent.len(),
        2,
        "refused by the ghost, then granted: {sent:?}"
    );
    assert_ne!(
        sent[0].new, sent[1].new,
        "each try has an identity of its own"
    );
    assert_eq!(sent[1].prev.map(|prev| prev.uuid), Some(ended.new));
}
