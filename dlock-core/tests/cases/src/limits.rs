//! W4: a limit is a total, and no call waits forever.

use std::time::Duration;

use dlock_core::{Error, ErrorKind};
use dlock_testkit::{
    Bench,
    faults::{Fault, Op},
};
use tokio::time::Instant;

use super::harness::{acquired, joined, lock, ok, rounds, settle, soon, waiting};

const SECOND: Duration = Duration::from_secs(1);

pub(crate) async fn limit_is_a_total_while_the_lock_is_held(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, rival) = (round.harness().await, round.harness().await);
        let guard = ok(lock!(rival, "", owner = "worker-7").hold().await);
        let limit = harness.lease * 5 / 4;
        let began = Instant::now();
        let answer = soon(
            "the end of the limit",
            lock!(harness, "").acquire_timeout(limit),
        )
        .await;
        let took = began.elapsed();
        match answer {
            Err(Error::Timeout {
                waited,
                holder: Some(holder),
                source: None,
            }) => {
                assert!(waited >= limit && waited <= took, "{waited:?} of {took:?}");
                assert_eq!(holder.record.owner, "worker-7");
                assert_eq!(holder.record.uuid, guard.uuid());
            }
            other => panic!("{other:?}"),
        }
        assert!(
            took >= limit && took <= limit + harness.lease / 5,
            "{took:?} for {limit:?}"
        );
        assert!(guard.is_valid());
    })
    .await;
}

pub(crate) async fn silent_store_is_told_apart_from_a_lock_that_is_held(bench: Bench) {
    rounds(bench, |round| async move {
        // An attempt has 10 s.
        for (label, limit, silent) in [("held", 8, false), ("silent", 20, true)] {
            let (harness, hand) = round.by_hand().await;
            harness.taken_by_another(label).await;
            let lock = lock!(harness, label);
            let waiter = crate::spawn(async move { lock.acquire_timeout(limit * SECOND).await });
            harness.sent(Op::Acquire, 1).await;
            settle().await;
            harness.store.everything(Fault::LoseRequest);
            for _ in 0..limit {
                hand.advance(SECOND).await;
            }
            let error = match joined(waiter).await {
                Err(error @ Error::Timeout { .. }) => error,
                other => panic!("{other:?}"),
            };
            assert_eq!(error.store_error().is_some(), silent, "{label}: {error}");
        }
    })
    .await;
}

pub(crate) async fn wake_up_ends_no_pause_after_a_failure(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        for _ in 0..9 {
            harness.store.next(Op::Acquire, Fault::UNKNOWN_AFTER);
        }
        let lock = lock!(harness, "");
        // Less than the pause after a failure: the possible grant of the try is released, and that rings.
        let waiter = crate::spawn(async move { lock.acquire_timeout(SECOND / 10).await });
        harness.sent(Op::Release, 1).await;
        settle().await;
        assert_eq!(harness.acquires().len(), 1, "asked again at once");
        hand.advance(SECOND / 10).await;
        match joined(waiter).await {
            Err(error @ Error::Timeout { .. }) => assert!(error.store_error().is_some(), "{error}"),
            other => panic!("{other:?}"),
        }
    })
    .await;
}

/// A machine that was suspended ends the waiter's pause and its limit in one instant.
pub(crate) async fn waiter_that_slept_past_its_limit_asks_no_more(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness.deafen();
        harness.taken_by_another("").await;
        let lock = lock!(harness, "", poll_every = SECOND);
        let waiter = crate::spawn(async move { lock.acquire_timeout(5 * SECOND / 2).await });
        harness.asked(1).await;
        hand.advance(4 * SECOND).await;
        match joined(waiter).await {
            Err(Error::Timeout { source: None, .. }) => {}
            other => panic!("{other:?}"),
        }
        assert_eq!(harness.questions(), 1);
    })
    .await;
}

pub(crate) async fn limit_is_a_total_over_a_store_that_hangs(bench: Bench) {
    rounds(bench, |round| async move {
        for (label, share) in [("short", 10), ("long", 150)] {
            let harness = round.harness().await;
            harness.store.everything(Fault::LoseRequest);
            let limit = harness.lease * share / 100;
            let began = Instant::now();
            match soon(
                "the end of the limit",
                lock!(harness, label).acquire_timeout(limit),
            )
            .await
            {
                Err(Error::Timeout {
                    holder: None,
                    source: Some(error),
                    ..
                }) => {
                    assert_eq!(error.kind(), ErrorKind::Unknown);
                }
                other => panic!("{other:?}"),
            }
            let took = began.elapsed();
            assert!(
                took >= limit && took <= limit + harness.lease / 5,
                "{took:?} for {limit:?}"
            );
        }
    })
    .await;
}

pub(crate) async fn limit_counts_the_time_in_the_queue(bench: Bench) {
    rounds(bench, |round| async move {
        let harness = round.harness().await;
        let (_subject, _other) = harness.taken_by_another("").await;
        let lock = lock!(harness, "");
        let head = waiting(&lock);
        harness.sent(Op::Acquire, 1).await;
        settle().await;
        let limit = harness.lease / 2;
        let began = Instant::now();
        let answer = soon("the end of the limit", lock.acquire_timeout(limit)).await;
        assert!(matches!(answer, Err(Error::Timeout { .. })), "{answer:?}");
        let took = began.elapsed();
        assert!(
            took >= limit && took <= limit + harness.lease / 5,
            "{took:?} for {limit:?}"
        );
        head.abort();
    })
    .await;
}

pub(crate) async fn no_call_waits_longer_than_a_sixth_of_the_lease(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let lease = acquired(lock!(harness, "held").try_acquire().await);
        harness.store.everything(Fault::LoseRequest);
        let waiter = waiting(&lock!(harness, "free"));
        let reader = crate::spawn({
            let lock = lock!(harness, "held");
            async move { lock.read().await }
        });
        let release = crate::spawn(lease.release());
        harness.sent(Op::Acquire, 2).await;
        harness.sent(Op::Read, 1).await;
        harness.sent(Op::Release, 1).await;
        hand.advance(10 * SECOND - Duration::from_millis(1)).await;
        assert!(!reader.is_finished());
        hand.advance(Duration::from_millis(1)).await;
        match joined(reader).await {
            Err(Error::Provider(error)) => assert_eq!(error.kind(), ErrorKind::Unknown),
            other => panic!("{other:?}"),
        }
        hand.advance(SECOND).await;
        harness.sent(Op::Acquire, 3).await;
        harness.sent(Op::Release, 2).await;
        waiter.abort();
        release.abort();
    })
    .await;
}

pub(crate) async fn failing_calls_are_repeated_only_after_a_pause(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let lease = acquired(lock!(harness, "lease").try_acquire().await);
        let guard = ok(lock!(harness, "guard").hold().await);
        hand.advance(20 * SECOND - Duration::from_millis(1)).await;
        harness.store.everything(Fault::UNKNOWN_BEFORE);
        let release = crate::spawn(lease.release());
        let waiter = waiting(&lock!(harness, "free"));
        hand.advance(Duration::from_millis(1)).await;
        let sent = || [Op::Acquire, Op::Renew, Op::Release].map(|op| harness.store.count(op));
        let first = sent();
        assert_eq!(first, [3, 1, 1]);
        // A quarter of a second at least, for this lease.
        for _ in 0..12 {
            hand.advance(Duration::from_millis(20)).await;
        }
        assert_eq!(sent(), first, "a store in trouble is asked again at once");
        // After their pauses they take turns.
        for _ in 0..10 {
            hand.advance(SECOND / 10).await;
        }
        for (op, count) in [(Op::Acquire, 4), (Op::Renew, 2), (Op::Release, 2)] {
            harness.sent(op, count).await;
        }
        assert!(guard.is_valid());
        release.abort();
        waiter.abort();
    })
    .await;
}
