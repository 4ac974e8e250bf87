//! The diagrams of the design that this library grew from, and what it promised for the background,
//! message by message (000, 001).

use std::time::Duration;

use dlock_core::{EndCause, Fence, ReleaseEnd, provider::Version};
use dlock_testkit::{
    Bench,
    faults::{Fault, Op},
    unchanged,
};
use tokio::time::Instant;

use super::harness::{BY_HAND, acquired, held, joined, lock, ok, rounds, settle, soon, waiting};

const SECOND: Duration = Duration::from_secs(1);

pub(in crate::cases) async fn contender_is_refused_until_the_holder_releases(bench: Bench) {
    rounds(bench, |round| async move {
        let (a, _hand) = round.by_hand().await;
        let (mut b, hand) = round.by_hand().await;
        b.lease = a.lease / 2;
        let lease = acquired(lock!(a, "", owner = "a").try_acquire().await);
        let subject = a.subject().await;
        let before = subject.record(&a.name("")).await;
        let contender = lock!(b, "", owner = "b");
        for _ in 0..3 {
            let holder = held(soon("an answer", contender.try_acquire()).await);
            assert_eq!(
                (holder.record.uuid, holder.record.duration),
                (lease.uuid(), a.lease)
            );
            assert_eq!((&*holder.record.owner, holder.ours), ("a", false));
            hand.jump(b.lease);
            unchanged(&before, &subject.record(&a.name("")).await);
            hand.jump(SECOND);
            if b.acquires().len() == 2 {
                break;
            }
        }
        assert!(
            b.acquires()
                .iter()
                .all(|sent| sent.prev.is_none() && sent.duration == b.lease)
        );
        assert_eq!(
            ok(soon("the release", lease.release()).await),
            ReleaseEnd::Released
        );
        let next = acquired(soon("an answer", contender.try_acquire()).await);
        let record = subject.record(&a.name("")).await;
        assert_eq!(
            (record.uuid, record.duration, &*record.owner),
            (next.uuid(), b.lease, "b")
        );
        assert!(record.token > before.token, "tokens grow (I3)");
    })
    .await;
}

pub(in crate::cases) async fn waiter_takes_over_from_a_dead_holder(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness.deafen();
        let subject = harness.subject().await;
        let dead = harness.bench().term_of(&harness.name(""), BY_HAND);
        let token = subject.grants(&dead).await;
        let waiter = waiting(&lock!(harness, "", poll_every = 5 * SECOND));
        harness.sent(Op::Acquire, 1).await;
        hand.advance(5 * SECOND).await;
        for _ in 0..54 {
            assert!(!waiter.is_finished(), "took a live lease");
            hand.advance(SECOND).await;
        }
        assert!(!waiter.is_finished(), "took a live lease");
        // The observation ends one second from here, and jitter delays it by 50 ms at most.
        hand.advance(SECOND + Duration::from_millis(50)).await;
        let lease = ok(joined(waiter).await);
        assert!(lease.token() > token, "tokens grow (I3)");
        let claims: Vec<_> = harness.acquires().iter().map(|sent| sent.prev).collect();
        assert!(harness.questions() >= 10, "{claims:?}");
        let (last, earlier) = (claims[claims.len() - 1], &claims[..claims.len() - 1]);
        assert!(earlier.iter().all(Option::is_none), "{earlier:?}");
        assert_eq!(
            last,
            Some(Version {
                uuid: dead.new,
                renewals: 0
            })
        );
    })
    .await;
}

pub(in crate::cases) async fn paused_holder_is_fenced_and_told(bench: Bench) {
    rounds(bench, |round| async move {
        let (a, hand) = round.by_hand().await;
        let (b, _) = round.by_hand().await;
        let stalled = acquired(lock!(a, "").try_acquire().await);
        // A stalls; a contender that has observed it for its duration takes over.
        let subject = a.subject().await;
        let seen = subject.record(&a.name("")).await.version();
        let taker = a.bench().term(&a.name("")).prev(Some(seen));
        let between = subject.grants(&taker).await;
        subject.releases(&taker, None).await;
        let next = acquired(soon("the lock", lock!(b, "").try_acquire()).await);
        let mut storage = Fence::resume(None);
        ok(storage.check(between));
        ok(storage.check(next.token()));
        // A wakes up, and its write is on its way already.
        let stale = storage.check(stalled.token());
        assert_eq!(stale.map_err(|stale| stale.highest), Err(next.token()));
        hand.jump(BY_HAND);
        assert!(!stalled.is_valid());
        let before = subject.record(&a.name("")).await;
        match ok(soon("the release", stalled.release()).await) {
            ReleaseEnd::NotHeld(Some(record)) => assert_eq!(record.uuid, next.uuid()),
            other => panic!("{other:?}"),
        }
        unchanged(&before, &subject.record(&a.name("")).await);
        ok(storage.check(next.token()));
        assert!(next.is_valid());
    })
    .await;
}

pub(in crate::cases) async fn holder_cut_off_from_its_store_stops_in_time(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, rival) = (round.harness().await, round.harness().await);
        let guard = ok(lock!(harness, "").hold().await);
        let poll = harness.lease / 10;
        let waiter = waiting(&lock!(rival, "", poll_every = poll));
        harness.sent(Op::Renew, 2).await;
        settle().await;
        harness.store.everything(Fault::LoseRequest);
        let last = harness
            .store
            .calls()
            .iter()
            .filter(|call| call.renew().is_some())
            .map(|call| call.began)
            .max();
        let Some(last) = last else {
            panic!("no renewal was sent")
        };
        let told = tokio::spawn({
            let lost = guard.ended();
            async move { (lost.await, Instant::now()) }
        });
        // Exclusive for the time already granted, and no longer than that for others.
        let next = ok(joined(waiter).await);
        let entered = Instant::now();
        let (loss, told) = joined(told).await;
        assert!(
            matches!(
                loss.cause,
                EndCause::Expired {
                    last_error: Some(_)
                }
            ),
            "{loss:?}"
        );
        // Most of the margin lies between.
        assert!(
            told + harness.lease / 8 <= entered,
            "told {told:?}, and another began {entered:?}"
        );
        let (blocked, whole) = (entered - last, harness.lease);
        assert!(blocked >= whole, "{blocked:?} of {whole:?}");
        // An observer sees the last renewal one poll after it, at worst.
        let bound = whole + poll * 6 / 5 + Duration::from_millis(50) + whole / 10;
        assert!(blocked <= bound, "{blocked:?} of {whole:?}");
        assert!(next.is_valid());
    })
    .await;
}
