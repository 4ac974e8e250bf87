//! V6, V7, W5: while a store does not answer, all of a client's tasks together call it at one pace, and all of them
//! notice its return at once.

use std::time::Duration;

use dlock_testkit::{
    Bench,
    faults::{Fault, Op},
};

use super::harness::{Harness, acquired, joined, lock, ok, rounds, waiting};

const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);

/// The calls sent so far.
fn calls(harness: &Harness) -> usize {
    let ops = [Op::Acquire, Op::Renew, Op::RenewMany, Op::Release, Op::Read];
    ops.map(|op| harness.store.count(op)).iter().sum()
}

pub(crate) async fn silent_store_is_asked_at_one_pace(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness.deafen();
        let mut guards = Vec::new();
        for number in 0..4 {
            guards.push(ok(lock!(harness, format!("held-{number}")).hold().await));
        }
        let given = acquired(lock!(harness, "given").try_acquire().await);
        hand.advance(20 * SECOND - MILLISECOND).await;
        harness.store.everything(Fault::UNKNOWN_BEFORE);
        let release = crate::spawn(given.release());
        let waiters: Vec<_> = (0..16)
            .map(|number| waiting(&lock!(harness, format!("free-{number}"))))
            .collect();
        hand.advance(MILLISECOND).await;
        hand.advance(SECOND).await;
        let before = calls(&harness);
        for _ in 0..60 {
            hand.advance(50 * MILLISECOND).await;
        }
        let asked = calls(&harness) - before;
        assert!(asked <= 40, "asked {asked} times in three seconds");
        assert!(asked >= 15, "asked only {asked} times in three seconds");
        assert!(guards.iter().all(|guard| guard.is_valid()));
        waiters.iter().for_each(tokio::task::JoinHandle::abort);
        release.abort();
    })
    .await;
}

/// The wait for its turn in the outage and its try, together.
pub(crate) async fn try_of_a_silent_store_ends_with_half_of_the_lease(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness.store.everything(Fault::LoseRequest);
        let tries = |start: u32| {
            (start..start + 8).map(|number| {
                let lock = lock!(harness, format!("free-{number}"));
                crate::spawn(async move { lock.try_acquire().await })
            })
        };
        // Before the outage is noticed, and during it.
        let mut begun: Vec<_> = tries(0).collect();
        for start in [1, 2] {
            for _ in 0..300 {
                hand.advance(100 * MILLISECOND).await;
            }
            for one in begun.drain(..) {
                assert!(one.is_finished(), "no answer within half of the lease");
                assert!(joined(one).await.is_err(), "the store gave no answer");
            }
            begun.extend(tries(8 * start));
        }
        begun.iter().for_each(tokio::task::JoinHandle::abort);
    })
    .await;
}

pub(crate) async fn first_answer_ends_an_outage_for_everybody(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness.deafen();
        let guard = ok(lock!(harness, "held").hold().await);
        hand.advance(18 * SECOND).await;
        harness.store.everything(Fault::UNKNOWN_BEFORE);
        let waiters: Vec<_> = (0..40)
            .map(|number| waiting(&lock!(harness, format!("free-{number}"))))
            .collect();
        for _ in 0..30 {
            hand.advance(100 * MILLISECOND).await;
        }
        harness.store.clear();
        // The poll interval of this lease.
        for _ in 0..10 {
            hand.advance(100 * MILLISECOND).await;
        }
        for waiter in waiters {
            assert!(
                waiter.is_finished(),
                "a waiter does not know that the store is back"
            );
            assert!(ok(joined(waiter).await).is_valid());
        }
        let left = guard.remaining();
        assert!(left > 40 * SECOND, "not renewed: {left:?}");
    })
    .await;
}

pub(crate) async fn renewal_in_an_outage_keeps_its_last_chance(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness.deafen();
        let guard = ok(lock!(harness, "held").hold().await);
        hand.advance(19 * SECOND).await;
        harness.store.everything(Fault::UNKNOWN_BEFORE);
        // Enough waiters to be in line for longer than the lease lasts.
        let waiters: Vec<_> = (0..120)
            .map(|number| waiting(&lock!(harness, format!("free-{number}"))))
            .collect();
        // `valid_until` is after 48 s, and an attempt gets 10 s.
        for _ in 0..78 {
            hand.advance(250 * MILLISECOND).await;
        }
        let sent = harness.renewals().len();
        assert!(
            sent >= 2,
            "sent {sent} times before the last chance was over"
        );
        assert!(guard.is_valid());
        waiters.iter().for_each(tokio::task::JoinHandle::abort);
    })
    .await;
}
