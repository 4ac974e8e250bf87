//! V6, V8 and the longest hold: when renewals are sent, what happens to those that fail, and how the holder notices.

use std::time::Duration;

use dlock_core::{EndCause, State};
use dlock_testkit::{
    Bench,
    faults::{Fault, Op},
    machine::Machine,
};
use tokio::time::{Instant, sleep, sleep_until};

use super::harness::{lock, ok, rounds, settle, soon};

const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);

pub(crate) async fn renewal_is_sent_when_it_is_due(bench: Bench) {
    rounds(bench, |round| async move {
        for every in [3 * SECOND, 20 * SECOND, 24 * SECOND] {
            let (harness, hand) = round.by_hand().await;
            let guard = ok(lock!(harness, format!("{every:?}"), renew_every = every)
                .hold()
                .await);
            for renewal in 1..=3 {
                hand.advance(every - MILLISECOND).await;
                assert_eq!(
                    harness.renewals().len(),
                    renewal - 1,
                    "earlier than {every:?} after the last"
                );
                hand.advance(MILLISECOND).await;
                harness.sent(Op::Renew, renewal).await;
            }
            assert!(guard.is_valid());
        }
    })
    .await;
}

/// The scheduler sleeps in the steps of the long lease, and its timer does not count a suspend: it is late by up to one
/// of those steps, which is longer than the short lease lasts (V2).
pub(crate) async fn short_lease_beside_a_long_one_is_renewed_after_a_suspend(bench: Bench) {
    rounds(bench, |round| async move {
        let machine = Machine::new(1.0);
        let mut harness = round.on(machine.clock()).await;
        let short = round.lease;
        harness.lease = 60 * short;
        let long = ok(lock!(harness, "long").hold().await);
        settle().await;
        // The long lease is due after 20, the short one 1/3 after it was acquired.
        machine.skip(20 * short - short / 4);
        harness.lease = short;
        let guard = ok(lock!(harness, "short").hold().await);
        sleep(short).await;
        assert!(guard.is_valid(), "{:?}", guard.state());
        assert!(long.is_valid(), "{:?}", long.state());
    })
    .await;
}

pub(crate) async fn kept_lease_outlives_its_duration(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, rival) = (round.harness().await, round.harness().await);
        let guard = ok(lock!(harness, "").hold().await);
        let end = Instant::now() + harness.lease * 2;
        while Instant::now() < end {
            assert!(guard.is_valid(), "{:?}", guard.state());
            super::harness::held(lock!(rival, "").try_acquire().await);
            tokio::time::sleep(harness.lease / 10).await;
        }
        let record = harness.subject().await.record(&harness.name("")).await;
        assert!(record.renewals >= 4, "{record:?}");
        assert_eq!(record.token, guard.token(), "renewals keep the token");
    })
    .await;
}

pub(crate) async fn hung_renewal_is_followed_by_the_next(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let guard = ok(lock!(harness, "").hold().await);
        harness.store.next(Op::Renew, Fault::LoseRequest);
        hand.advance(20 * SECOND).await;
        harness.sent(Op::Renew, 1).await;
        hand.advance(10 * SECOND - MILLISECOND).await;
        assert_eq!(harness.renewals().len(), 1);
        // A sixth of the lease has passed; then comes a short pause.
        hand.advance(MILLISECOND).await;
        hand.advance(SECOND).await;
        harness.sent(Op::Renew, 2).await;
        super::harness::eventually("the success", || matches!(guard.state(), State::Valid)).await;
        assert!(guard.remaining() > 40 * SECOND);
    })
    .await;
}

pub(crate) async fn lost_reply_of_a_renewal_is_no_loss(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let guard = ok(lock!(harness, "").hold().await);
        harness.store.next(Op::Renew, Fault::LoseReply);
        hand.advance(20 * SECOND).await;
        hand.advance(10 * SECOND).await;
        hand.advance(SECOND).await;
        harness.sent(Op::Renew, 2).await;
        super::harness::eventually("the success", || guard.remaining() > 40 * SECOND).await;
        let record = harness.subject().await.record(&harness.name("")).await;
        assert_eq!(record.renewals, 2, "{record:?}");
        assert_eq!(record.uuid, guard.uuid());
    })
    .await;
}

pub(crate) async fn outage_within_the_bound_loses_no_lease(bench: Bench) {
    rounds(bench, |round| async move {
        let harness = round.harness().await;
        let before = Instant::now();
        let guard = ok(lock!(harness, "").hold().await);
        harness.store.everything(Fault::LoseRequest);
        // `valid_until` - D/6 - the longest pause - R.
        let outage =
            harness.lease * 8 / 10 - harness.lease / 6 - harness.lease / 40 - harness.lease / 20;
        sleep_until(before + outage).await;
        harness.store.clear();
        sleep_until(before + harness.lease * 13 / 10).await;
        assert!(guard.is_valid(), "{:?}", guard.state());
    })
    .await;
}

pub(crate) async fn late_renewal_is_shown_before_the_loss(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness.store.always(Op::Renew, Fault::LoseRequest);
        let guard = ok(lock!(harness, "").hold().await);
        let unsure = crate::spawn(guard.unsure());
        // A third of the lease, and a sixth.
        hand.advance(20 * SECOND).await;
        hand.advance(10 * SECOND - MILLISECOND).await;
        assert!(matches!(guard.state(), State::Valid), "{:?}", guard.state());
        assert!(!unsure.is_finished());
        hand.jump(MILLISECOND);
        assert!(
            matches!(guard.state(), State::Unsure),
            "{:?}",
            guard.state()
        );
        assert!(guard.is_valid());
        super::harness::joined(unsure).await;

        // It ends with a success.
        harness.store.clear();
        hand.advance(SECOND).await;
        harness.sent(Op::Renew, 2).await;
        super::harness::eventually("the success", || matches!(guard.state(), State::Valid)).await;

        // Or with the loss.
        harness.store.always(Op::Renew, Fault::LoseRequest);
        hand.advance(20 * SECOND).await;
        hand.advance(10 * SECOND).await;
        assert!(
            matches!(guard.state(), State::Unsure),
            "{:?}",
            guard.state()
        );
        hand.advance(18 * SECOND).await;
        assert!(
            matches!(guard.state(), State::Ended(_)),
            "{:?}",
            guard.state()
        );
        soon("the signal", guard.unsure()).await;
    })
    .await;
}

pub(crate) async fn fatal_renewal_is_shown_at_once(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let guard = ok(lock!(harness, "").hold().await);
        let unsure = crate::spawn(guard.unsure());
        harness.store.next(Op::Renew, Fault::FATAL);
        hand.advance(20 * SECOND).await;
        harness.sent(Op::Renew, 1).await;
        super::harness::joined(unsure).await;
        assert!(guard.is_valid() && matches!(guard.state(), State::Unsure));
        hand.advance(SECOND).await;
        harness.sent(Op::Renew, 2).await;
        super::harness::eventually("the success", || matches!(guard.state(), State::Valid)).await;
    })
    .await;
}

pub(crate) async fn polite_request_is_seen_by_the_holder(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let guard = ok(lock!(harness, "").hold().await);
        hand.advance(20 * SECOND).await;
        harness.sent(Op::Renew, 1).await;
        assert!(!guard.asked());
        harness.interceptor.ask();
        hand.advance(20 * SECOND).await;
        super::harness::eventually("the request", || guard.asked()).await;
        assert!(guard.is_valid(), "nothing depends on it");
    })
    .await;
}

pub(crate) async fn renewals_stop_at_the_longest_hold(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let guard = ok(lock!(harness, "", max_hold = 90 * SECOND).hold().await);
        for renewal in 1..=4 {
            hand.advance(20 * SECOND).await;
            harness.sent(Op::Renew, renewal).await;
        }
        hand.advance(10 * SECOND).await;
        hand.advance(20 * SECOND).await;
        assert_eq!(
            harness.renewals().len(),
            4,
            "renewed after the longest hold"
        );
        assert!(guard.is_valid(), "the last renewal still counts");
        hand.advance(18 * SECOND).await;
        let loss = soon("the loss", guard.ended()).await;
        assert!(matches!(loss.cause, EndCause::HeldTooLong), "{loss:?}");
    })
    .await;
}

pub(crate) async fn failing_renewals_stop_at_the_longest_hold_too(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let guard = ok(lock!(harness, "", max_hold = 65 * SECOND).hold().await);
        for renewal in 1..=2 {
            hand.advance(20 * SECOND).await;
            harness.sent(Op::Renew, renewal).await;
        }
        harness.store.always(Op::Renew, Fault::UNKNOWN_BEFORE);
        hand.advance(20 * SECOND).await;
        harness.sent(Op::Renew, 3).await;
        for _ in 0..6 {
            hand.advance(SECOND).await;
        }
        harness.store.clear();
        let sent = harness.renewals().len();
        hand.advance(5 * SECOND).await;
        assert_eq!(
            harness.renewals().len(),
            sent,
            "renewed after the longest hold"
        );
        hand.advance(18 * SECOND).await;
        let loss = soon("the loss", guard.ended()).await;
        assert!(matches!(loss.cause, EndCause::HeldTooLong), "{loss:?}");
    })
    .await;
}

pub(crate) async fn lease_that_was_not_renewed_was_not_held_too_long(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let mut lease = super::harness::acquired(
            lock!(harness, "", max_hold = harness.lease)
                .try_acquire()
                .await,
        );
        hand.jump(100 * SECOND);
        let Err(dlock_core::Error::Lost(loss)) = lease.renew().await else {
            panic!("a lease outlived its time")
        };
        assert!(
            matches!(loss.cause, EndCause::Expired { last_error: None }),
            "{loss:?}"
        );
    })
    .await;
}
