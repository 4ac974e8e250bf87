//! O3: where a read costs less than a refused acquire, a waiter reads before it tries again.

use std::time::Duration;

use dlock_core::{Error, ErrorKind};
use dlock_testkit::{
    Bench,
    faults::{Fault, Op},
};

use super::harness::{BY_HAND, Harness, joined, lock, ok, rounds, waiting};

const SECOND: Duration = Duration::from_secs(1);

/// More than an interval of five seconds with its jitter.
const INTERVAL: Duration = SECOND.saturating_mul(6);

pub(crate) async fn waiter_looks_where_that_costs_less(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness.deafen();
        let (subject, other) = harness.taken_by_another("").await;
        let waiter = waiting(&lock!(harness, "", poll_every = 5 * SECOND));
        for questions in 1..=4 {
            harness.asked(questions).await;
            hand.advance(INTERVAL).await;
        }
        harness.asked(5).await;
        let (asked, looked) = (
            harness.store.count(Op::Acquire),
            harness.store.count(Op::Read),
        );
        if looks(&harness) {
            assert_eq!((asked, looked), (1, 4), "a refusal costs more than a look");
        } else {
            assert_eq!((asked, looked), (5, 0), "a look costs as much as a refusal");
        }

        // A lock that it sees released it requests at once.
        subject.releases(&other, None).await;
        hand.advance(INTERVAL).await;
        assert!(ok(joined(waiter).await).is_valid());
        assert_eq!(harness.store.count(Op::Acquire), asked + 1);
    })
    .await;
}

pub(crate) async fn look_observes_as_a_refusal_does(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness.deafen();
        let subject = harness.subject().await;
        let holder = harness.bench().term_of(&harness.name(""), BY_HAND);
        subject.grants(&holder).await;
        let waiter = waiting(&lock!(harness, "", poll_every = 5 * SECOND));
        harness.asked(1).await;
        hand.advance(BY_HAND / 2).await;
        subject.renews(&holder, 1).await;
        hand.advance(INTERVAL).await;
        harness.asked(3).await;
        // From here on the renewed version is being observed, and the first one no longer.
        hand.advance(BY_HAND - INTERVAL).await;
        assert!(!waiter.is_finished(), "took a lease that was renewed");
        let before = harness.store.count(Op::Acquire);
        if looks(&harness) {
            assert_eq!(before, 1, "claimed a version it had seen replaced");
        }
        hand.advance(2 * INTERVAL).await;
        assert!(ok(joined(waiter).await).is_valid());
        let claims = harness.acquires().into_iter().filter_map(|sent| sent.prev);
        let claimed: Vec<u64> = claims.map(|version| version.renewals).collect();
        assert_eq!(claimed, [1]);
    })
    .await;
}

pub(crate) async fn look_without_an_answer_is_repeated(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness.deafen();
        let (subject, other) = harness.taken_by_another("").await;
        for fault in [Fault::LoseReply, Fault::UNKNOWN_BEFORE, Fault::THROTTLED] {
            harness.store.next(Op::Read, fault);
        }
        let waiter = waiting(&lock!(harness, "", poll_every = 5 * SECOND));
        harness.asked(1).await;
        hand.advance(INTERVAL).await;
        harness.asked(2).await;
        subject.releases(&other, None).await;
        // A sixth of the lease at most for the one that hangs, then a pause after each.
        for _ in 0..5 {
            hand.advance(BY_HAND / 6).await;
        }
        assert!(ok(joined(waiter).await).is_valid());
        if looks(&harness) {
            assert_eq!(harness.store.count(Op::Read), 4);
        }
    })
    .await;
}

pub(crate) async fn look_is_an_answer_of_its_store(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness.deafen();
        let (subject, other) = harness.taken_by_another("").await;
        let lock = lock!(
            harness,
            "",
            poll_every = 5 * SECOND,
            give_up_after = BY_HAND
        );
        let waiter = waiting(&lock);
        for questions in 1..=12 {
            harness.asked(questions).await;
            hand.advance(INTERVAL).await;
        }
        // It has answered all the time, so one failure is not silence.
        for op in [Op::Read, Op::Acquire] {
            harness.store.next(op, Fault::UNKNOWN_BEFORE);
        }
        hand.advance(INTERVAL).await;
        assert!(!waiter.is_finished(), "gave up on a store that answers");
        subject.releases(&other, None).await;
        for _ in 0..3 {
            hand.advance(INTERVAL).await;
        }
        assert!(ok(joined(waiter).await).is_valid());
    })
    .await;
}

pub(crate) async fn look_at_a_store_beyond_help_ends_the_wait(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness.deafen();
        let (_subject, _other) = harness.taken_by_another("").await;
        harness.store.always(Op::Read, Fault::FATAL);
        let waiter = waiting(&lock!(harness, "", poll_every = 5 * SECOND));
        harness.asked(1).await;
        hand.advance(INTERVAL).await;
        harness.asked(2).await;
        if !looks(&harness) {
            waiter.abort();
            return;
        }
        match joined(waiter).await {
            Err(Error::Provider(error)) => assert_eq!(error.kind(), ErrorKind::Fatal),
            other => panic!("{other:?}"),
        }
    })
    .await;
}

fn looks(harness: &Harness) -> bool {
    harness.bench().capabilities().cheap_reads
}
