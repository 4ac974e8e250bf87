//! G1, W6, I14: a dropped future leaves nothing behind, whatever was in progress.

use std::time::Duration;

use dlock_testkit::{
    Bench,
    faults::{Fault, Op},
};
use tokio::{task::yield_now, time::sleep};

use super::harness::{
    acquired, eventually, joined, lock, ok, poll_once, rounds, settle, soon, waiting,
};

const SECOND: Duration = Duration::from_secs(1);

pub(crate) async fn acquire_dropped_anywhere_leaves_nothing(bench: Bench) {
    rounds(bench, |round| async move {
        let (mut harness, _hand) = round.by_hand().await;
        for steps in 0..24_u64 {
            // Half of them a few turns of the scheduler after the start, half of them later.
            let (clock, hand) = dlock_core::Clock::manual();
            harness.another_client(clock);
            let (waiter, trier) = (
                lock!(harness, format!("w{steps}")),
                lock!(harness, format!("t{steps}")),
            );
            let (mut waiter, mut trier) =
                (Box::pin(waiter.acquire()), Box::pin(trier.try_acquire()));
            drop(poll_once(waiter.as_mut()));
            drop(poll_once(trier.as_mut()));
            for _ in 0..steps.min(12) {
                yield_now().await;
            }
            if steps > 12 {
                sleep(Duration::from_micros(200 * (steps - 12))).await;
            }
            drop((waiter, trier));
            // The release of a try without an answer is sent once more after D/6 (W5).
            let time_passes = async {
                loop {
                    sleep(Duration::from_millis(10)).await;
                    hand.advance(harness.lease / 60);
                }
            };
            let left = tokio::select! {
                left = soon("the clean-up", harness.client.close()) => left,
                () = time_passes => unreachable!("it has no end"),
            };
            assert_eq!(left, 0, "a lease is left");
            let subject = harness.subject().await;
            for label in [format!("w{steps}"), format!("t{steps}")] {
                let record = subject.read(&harness.name(&label)).await;
                assert!(
                    record.is_none_or(|record| record.released),
                    "{label} is held without a holder"
                );
                subject
                    .grants(&harness.bench().term(&harness.name(label)))
                    .await;
            }
        }
    })
    .await;
}

pub(crate) async fn dropped_try_runs_to_its_answer(bench: Bench) {
    rounds(bench, |round| async move {
        let harness = round.harness().await;
        // Applied, but the reply is lost; then answered late.
        for (label, fault) in [
            ("lost", Fault::LoseReply),
            ("late", Fault::DelayReply(harness.lease / 10)),
        ] {
            harness.store.next(Op::Acquire, fault);
            let lock = lock!(harness, label);
            let mut acquire = Box::pin(lock.acquire());
            assert!(poll_once(acquire.as_mut()).is_pending());
            eventually("the call", || {
                harness
                    .acquires()
                    .iter()
                    .any(|sent| sent.name == harness.name(label))
            })
            .await;
            drop(acquire);
        }
        assert_eq!(soon("the clean-up", harness.client.close()).await, 0);
        let subject = harness.subject().await;
        for label in ["lost", "late"] {
            assert!(
                subject.record(&harness.name(label)).await.released,
                "{label}"
            );
        }
    })
    .await;
}

pub(crate) async fn dropped_waiter_leaves_the_queue(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        let lock = lock!(harness, "");
        let first = acquired(lock.try_acquire().await);
        let uuid = first.uuid();
        let mut head = Box::pin(lock.acquire());
        assert!(poll_once(head.as_mut()).is_pending());
        let mut second = Box::pin(lock.acquire());
        assert!(poll_once(second.as_mut()).is_pending());
        let third = waiting(&lock);
        settle().await;
        drop((head, second));
        settle().await;
        ok(soon("the release", first.release()).await);
        drop(ok(joined(third).await));
        assert_eq!(
            harness
                .acquires()
                .iter()
                .filter(|sent| sent.prev.is_some_and(|prev| prev.uuid != uuid))
                .count(),
            0
        );
    })
    .await;
}

pub(crate) async fn grant_nobody_picks_up_is_given_back(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let lock = lock!(harness, "");
        let first = acquired(lock.try_acquire().await);
        let theirs = lock.clone();
        let mut absent = Box::pin(async move { theirs.acquire().await });
        assert!(poll_once(absent.as_mut()).is_pending());
        settle().await;
        let next = waiting(&lock);
        settle().await;
        ok(soon("the release", first.release()).await);
        // It is granted to a caller that does not pick it up.
        let name = harness.name("");
        let subject = harness.subject().await;
        soon("the grant", async {
            while subject.record(&name).await.released {
                sleep(Duration::from_millis(2)).await;
            }
        })
        .await;
        let ungranted = subject.record(&name).await;
        hand.advance(10 * SECOND - Duration::from_millis(1)).await;
        assert!(
            !next.is_finished(),
            "taken away before a sixth of the lease"
        );
        hand.advance(Duration::from_millis(1)).await;
        let next = ok(joined(next).await);
        assert!(next.token() > ungranted.token, "tokens grow (I3)");
        // The waiter that was absent queues again.
        assert!(poll_once(absent.as_mut()).is_pending());
        settle().await;
        ok(soon("the release", next.release()).await);
        // It may leave an instant to others (N7).
        let back = ok(hand.passes_until(crate::spawn(absent)).await);
        assert!(back.is_valid());
    })
    .await;
}

pub(crate) async fn grant_that_died_before_it_was_picked_up_is_not_handed_out(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        // Valid for 30 s; granted 20 s after the request; a pick-up 9 s later would be in time.
        harness.store.next(Op::Acquire, Fault::LoseRequest);
        let lock = lock!(harness, "", margin = 0.5);
        let mut absent = Box::pin(lock.acquire());
        assert!(poll_once(absent.as_mut()).is_pending());
        harness.sent(Op::Acquire, 1).await;
        hand.advance(10 * SECOND).await;
        harness
            .interceptor
            .after(Op::Acquire, hand.jumping(Duration::from_millis(9_900)));
        hand.advance(SECOND).await;
        harness.sent(Op::Acquire, 2).await;
        settle().await;
        let granted = harness.subject().await.record(&harness.name("")).await;
        hand.advance(Duration::from_millis(9_500)).await;
        let lease = ok(soon("the lock", absent).await);
        assert!(lease.is_valid(), "handed out although it is over");
        assert!(lease.token() > granted.token, "tokens grow (I3)");
    })
    .await;
}

pub(crate) async fn limit_that_passed_while_nobody_looked_sends_nothing_more(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let lock = lock!(harness, "");
        let mut absent = Box::pin(lock.acquire_timeout(9 * SECOND));
        harness.store.next(Op::Acquire, Fault::HoldRequest);
        assert!(poll_once(absent.as_mut()).is_pending());
        harness.sent(Op::Acquire, 1).await;
        harness.store.deliver().await;
        // The call has continued without its caller (C3); its grant waits for a sixth of the lease (W6).
        hand.advance(10 * SECOND).await;
        settle().await;
        hand.advance(10 * SECOND).await;
        harness.sent(Op::Release, 1).await;
        let answer = soon("the end of the limit", absent).await;
        assert!(
            matches!(answer, Err(dlock_core::Error::Timeout { .. })),
            "{answer:?}"
        );
        assert_eq!(harness.acquires().len(), 1);
    })
    .await;
}
