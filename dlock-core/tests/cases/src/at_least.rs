//! B4: once per period. A release before its time leaves the name closed: to strangers, to the client's own waiters,
//! over lost replies; and a name is closed only where work has ended.

use std::time::Duration;

use dlock_core::{ReleaseEnd, TryAcquire};
use dlock_testkit::{
    Bench,
    faults::{Fault, Op},
};
use tokio::task::yield_now;

use super::harness::{
    BY_HAND, Harness, acquired, held, joined, lock, ok, poll_once, rounds, settle, soon, trying,
    waiting,
};

const SECOND: Duration = Duration::from_secs(1);
const TEN_MINUTES: Duration = Duration::from_mins(10);

/// For how long the last release sent closes the name.
fn closed_for(harness: &Harness) -> Option<Duration> {
    let releases = harness.releases();
    let last = releases.last();
    last.and_then(|release| release.closing)
        .map(|closing| closing.lasts())
}

pub(crate) async fn early_release_closes_the_name_until_its_time(bench: Bench) {
    rounds(bench, |round| async move {
        for label in ["released", "dropped", "with"] {
            let (harness, hand) = round.by_hand().await;
            let rival = harness.rival().await;
            let lock = lock!(harness, label, at_least = TEN_MINUTES);
            let began = hand.clone();
            match label {
                "with" => {
                    let work = async move { began.advance(5 * SECOND).await };
                    ok(soon("the work", lock.with(|_| work)).await);
                }
                _ => {
                    let lease = acquired(lock.try_acquire().await);
                    hand.advance(5 * SECOND).await;
                    if label == "released" {
                        let ended = ok(soon("the release", lease.release()).await);
                        assert_eq!(ended, ReleaseEnd::Released);
                    } else {
                        drop(lease);
                    }
                }
            }
            soon("the release", lock.idle()).await;
            assert_eq!(
                closed_for(&harness),
                Some(TEN_MINUTES - 5 * SECOND),
                "{label}"
            );
            // Its own client is refused like strangers; and neither holds it.
            for lock in [&lock, &lock!(rival, label)] {
                let holder = held(lock.try_acquire().await);
                assert!(holder.record.is_closed(), "{label}: {holder:?}");
                assert!(!holder.ours, "{label}: {holder:?}");
            }
        }
    })
    .await;
}

pub(crate) async fn closed_name_is_handed_to_no_waiter(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        let lock = lock!(harness, "", at_least = TEN_MINUTES);
        let lease = acquired(lock.try_acquire().await);
        let waiter = waiting(&lock);
        harness.sent(Op::Acquire, 2).await;
        settle().await;
        ok(soon("the release", lease.release()).await);
        settle().await;
        assert!(!waiter.is_finished(), "its own client's waiter got it");
        assert!(closed_for(&harness).is_some());
        waiter.abort();
    })
    .await;
}

pub(crate) async fn client_does_not_claim_what_it_is_about_to_close(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let lock = lock!(harness, "", at_least = TEN_MINUTES);
        let lease = acquired(lock.try_acquire().await);
        let uuid = lease.uuid();
        harness.store.next(Op::Release, Fault::HoldRequest);
        let release = crate::spawn(lease.release());
        harness.sent(Op::Release, 1).await;
        // G4 would: the term has ended.
        let holder = held(lock.try_acquire().await);
        assert_eq!(holder.record.uuid, uuid);
        harness.store.deliver().await;
        assert_eq!(ok(hand.passes_until(release).await), ReleaseEnd::Released);
        assert!(held(lock.try_acquire().await).record.is_closed());
        // The term was not released: its promise has ended nevertheless.
        let lock = lock!(harness, "unanswered", at_least = 2 * BY_HAND);
        let lease = acquired(lock.try_acquire().await);
        let uuid = lease.uuid();
        harness.store.always(Op::Release, Fault::UNKNOWN_BEFORE);
        let release = crate::spawn(lease.release());
        assert_eq!(
            ok(hand.passes_until_within(release, BY_HAND).await),
            ReleaseEnd::Unconfirmed
        );
        hand.advance(2 * BY_HAND).await;
        let next = joined(trying(&lock)).await;
        assert!(
            matches!(&next, Ok(TryAcquire::Acquired(lease)) if lease.uuid() != uuid),
            "{next:?}"
        );
    })
    .await;
}

pub(crate) async fn release_after_its_time_frees_the_name(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let lock = lock!(harness, "", at_least = 10 * SECOND);
        let lease = acquired(lock.try_acquire().await);
        hand.advance(10 * SECOND).await;
        ok(soon("the release", lease.release()).await);
        assert_eq!(closed_for(&harness), None);
        let subject = harness.subject().await;
        assert!(subject.record(&harness.name("")).await.released);
        // Released an instant before its time, the name is closed nevertheless.
        let lease = acquired(lock.try_acquire().await);
        hand.advance(10 * SECOND - Duration::from_millis(3)).await;
        ok(soon("the release", lease.release()).await);
        assert_eq!(closed_for(&harness), Some(Duration::from_millis(100)));
    })
    .await;
}

pub(crate) async fn lost_lease_closes_nothing(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let lock = lock!(harness, "", at_least = TEN_MINUTES);
        let lease = acquired(lock.try_acquire().await);
        hand.advance(BY_HAND).await;
        assert!(!lease.is_valid());
        drop(lease);
        soon("the release", lock.idle()).await;
        assert_eq!(harness.releases().len(), 1);
        assert_eq!(closed_for(&harness), None, "the work did not end");
    })
    .await;
}

pub(crate) async fn work_that_was_not_done_closes_nothing(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        let lock = lock!(harness, "", at_least = TEN_MINUTES);
        let lease = acquired(lock.try_acquire().await);
        ok(soon("the release", lease.release_open()).await);
        let guard = ok(soon("the lock", lock.hold()).await);
        ok(soon("the release", guard.release_open()).await);
        assert_eq!(harness.releases().len(), 2);
        assert!(harness.releases().iter().all(|sent| sent.closing.is_none()));
        drop(acquired(lock.try_acquire().await));
    })
    .await;
}

pub(crate) async fn grant_that_nobody_took_closes_nothing(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        let lock = lock!(harness, "", at_least = TEN_MINUTES);
        // Not before the first poll has ended, however fast the store is.
        let reply = Fault::DelayReply(Duration::from_millis(50));
        harness.store.next(Op::Acquire, reply);
        let mut acquire = Box::pin(lock.acquire());
        assert!(poll_once(acquire.as_mut()).is_pending());
        // The lock is granted, and on offer.
        harness.sent(Op::Acquire, 1).await;
        settle().await;
        drop(acquire);
        soon("the release", lock.idle()).await;
        assert_eq!(harness.releases().len(), 1);
        assert_eq!(closed_for(&harness), None, "no work has begun");
        yield_now().await;
    })
    .await;
}

pub(crate) async fn repeated_release_closes_the_name_once(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let lock = lock!(harness, "", at_least = TEN_MINUTES);
        let lease = acquired(lock.try_acquire().await);
        harness.store.next(Op::Release, Fault::UNKNOWN_AFTER);
        let release = crate::spawn(lease.release());
        harness.sent(Op::Release, 1).await;
        assert_eq!(ok(hand.passes_until(release).await), ReleaseEnd::Released);
        let releases = harness.releases();
        let closings: Vec<_> = releases.iter().filter_map(|sent| sent.closing).collect();
        assert_eq!(closings.len(), 2, "{releases:?}");
        assert_eq!(closings[0].uuid(), closings[1].uuid());
        assert!(closings[0].lasts() > closings[1].lasts(), "{closings:?}");
        let subject = harness.subject().await;
        let record = subject.record(&harness.name("")).await;
        assert_eq!(
            (record.uuid, record.duration),
            (closings[0].uuid(), TEN_MINUTES)
        );
    })
    .await;
}

pub(crate) async fn closing_that_somebody_overtook_is_told(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let lock = lock!(harness, "", at_least = TEN_MINUTES);
        let lease = acquired(lock.try_acquire().await);
        harness.store.next(Op::Release, Fault::UNKNOWN_BEFORE);
        let release = crate::spawn(lease.release());
        harness.sent(Op::Release, 1).await;
        // Without the lease's end no client could take it, except after a jump of a clock or by an operator.
        let subject = harness.subject().await;
        let seen = subject.record(&harness.name("")).await;
        let rival = harness
            .bench()
            .term(&harness.name(""))
            .prev(Some(seen.version()));
        subject.grants(&rival).await;
        assert_eq!(
            ok(hand.passes_until(release).await),
            ReleaseEnd::Unconfirmed
        );
        assert_eq!(subject.record(&harness.name("")).await.uuid, rival.new);
    })
    .await;
}

pub(crate) async fn client_opens_its_own_closing_when_it_is_over(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let lock = lock!(harness, "", at_least = TEN_MINUTES);
        let lease = acquired(lock.try_acquire().await);
        ok(soon("the release", lease.release()).await);
        // No client has looked since: the client that closed the name has seen it closed.
        hand.advance(TEN_MINUTES).await;
        let token = acquired(lock.try_acquire().await).token();
        assert!(token.get() > 0);
        assert_eq!(harness.acquires().len(), 2, "{:?}", harness.acquires());
    })
    .await;
}

pub(crate) async fn ticket_carries_what_is_left_to_be_closed(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let (rival, its_hand) = round.by_hand().await;
        let lease = acquired(
            lock!(harness, "", at_least = TEN_MINUTES)
                .try_acquire()
                .await,
        );
        hand.advance(5 * SECOND).await;
        let ticket = ok(ok(lease.hand_over()).to_string().parse());
        // Redeemed by a lock that does not have this setting.
        let redeemed = acquired(lock!(rival, "").redeem(&ticket).once().await);
        its_hand.advance(20 * SECOND).await;
        ok(soon("the release", redeemed.release()).await);
        assert_eq!(closed_for(&rival), Some(TEN_MINUTES - 25 * SECOND));
    })
    .await;
}
