//! V1 to V5: how long a holder believes in its lease, what renewals add to that, and how it learns of the end.

use std::time::Duration;

use dlock_core::{EndCause, Error, ErrorKind, State};
use dlock_testkit::{
    Bench,
    faults::{Fault, Op},
    machine::Machine,
};
use tokio::time::Instant;

use super::harness::{
    acquired, eventually, joined, lock, ok, poll_once, rounds, settle, soon, trying, waiting,
};

const SECOND: Duration = Duration::from_secs(1);

pub(crate) async fn deadline_counts_from_the_request(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness
            .interceptor
            .after(Op::Acquire, hand.jumping(5 * SECOND));
        let lease = acquired(lock!(harness, "").try_acquire().await);
        assert_eq!(lease.remaining(), 43 * SECOND, "48 s from the request");
    })
    .await;
}

pub(crate) async fn repeated_try_keeps_its_first_deadline(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness.store.next(Op::Acquire, Fault::UNKNOWN_BEFORE);
        let trying = trying(&lock!(harness, ""));
        harness.sent(Op::Acquire, 1).await;
        hand.advance(SECOND).await;
        let lease = acquired(joined(trying).await);
        assert_eq!(
            lease.remaining(),
            47 * SECOND,
            "48 s from the first request"
        );
    })
    .await;
}

pub(crate) async fn margin_is_kept(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        for (margin, belief) in [(0.01, 59_400), (0.2, 48_000), (0.5, 30_000)] {
            let belief = Duration::from_millis(belief);
            let lock = lock!(harness, margin.to_string(), margin = margin);
            let lease = acquired(lock.try_acquire().await);
            assert_eq!(lease.remaining(), belief, "with a margin of {margin}");
            hand.jump(belief - Duration::from_nanos(1));
            assert!(lease.is_valid());
            hand.jump(Duration::from_nanos(1));
            assert!(!lease.is_valid(), "valid at the deadline");
            assert_eq!(lease.remaining(), Duration::ZERO);
        }
    })
    .await;
}

pub(crate) async fn validity_is_computed_at_every_question(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness.store.always(Op::Renew, Fault::LoseRequest);
        let lease = acquired(lock!(harness, "lease").try_acquire().await);
        let guard = ok(lock!(harness, "guard").hold().await);
        assert!(lease.is_valid() && guard.is_valid());
        // No timer has had a chance to notice.
        hand.jump(48 * SECOND);
        assert!(!lease.is_valid() && !guard.is_valid());
        assert_eq!(lease.remaining() + guard.remaining(), Duration::ZERO);
        assert!(matches!(guard.state(), State::Ended(_)));
    })
    .await;
}

pub(crate) async fn renewal_counts_from_its_own_request(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let mut lease = acquired(lock!(harness, "").try_acquire().await);
        hand.jump(10 * SECOND);
        harness
            .interceptor
            .after(Op::Renew, hand.jumping(5 * SECOND));
        ok(lease.renew().await);
        assert_eq!(lease.remaining(), 43 * SECOND, "48 s from the request");
    })
    .await;
}

pub(crate) async fn late_renewal_revives_nothing(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let mut lease = acquired(lock!(harness, "").try_acquire().await);
        hand.jump(20 * SECOND);
        // The store says `Renewed`, and the deadline has passed by then.
        harness
            .interceptor
            .after(Op::Renew, hand.jumping(28 * SECOND));
        let answer = lease.renew().await;
        assert!(matches!(answer, Err(Error::Lost(_))), "{answer:?}");
        assert!(!lease.is_valid());
        soon("the end of the lease", lease.ended()).await;
        assert!(matches!(lease.renew().await, Err(Error::Lost(_))));
        assert!(!lease.is_valid());
        assert_eq!(harness.renewals().len(), 1, "nothing renews a lost lease");
    })
    .await;
}

pub(crate) async fn success_counts_for_the_attempt_it_answers(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let mut lease = acquired(lock!(harness, "").try_acquire().await);
        // The first attempt is in flight for a long time; the second, sent later, is lost.
        hand.advance(10 * SECOND).await;
        harness.store.next(Op::Renew, Fault::HoldRequest);
        assert!(poll_once(Box::pin(lease.renew()).as_mut()).is_pending());
        harness.sent(Op::Renew, 1).await;
        hand.advance(5 * SECOND).await;
        harness.store.next(Op::Renew, Fault::LoseRequest);
        assert!(poll_once(Box::pin(lease.renew()).as_mut()).is_pending());
        harness.sent(Op::Renew, 2).await;

        assert_eq!(lease.remaining(), 33 * SECOND);
        harness.store.deliver().await;
        eventually("the success", || lease.remaining() != 33 * SECOND).await;
        assert_eq!(lease.remaining(), 43 * SECOND, "that of the first attempt");
    })
    .await;
}

pub(crate) async fn deadline_never_moves_back(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let mut lease = acquired(lock!(harness, "").try_acquire().await);
        hand.advance(10 * SECOND).await;
        harness.store.next(Op::Renew, Fault::HoldRequest);
        assert!(poll_once(Box::pin(lease.renew()).as_mut()).is_pending());
        harness.sent(Op::Renew, 1).await;
        hand.advance(5 * SECOND).await;
        ok(lease.renew().await);
        assert_eq!(lease.remaining(), 48 * SECOND);
        // R2: overtaken, and answered `Renewed`.
        harness.store.deliver().await;
        settle().await;
        assert_eq!(lease.remaining(), 48 * SECOND);
    })
    .await;
}

pub(crate) async fn every_renewal_attempt_has_a_larger_number(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        let mut lease = acquired(lock!(harness, "").try_acquire().await);
        ok(lease.renew().await);
        harness.store.next(Op::Renew, Fault::UNKNOWN_BEFORE);
        assert!(lease.renew().await.is_err());
        harness.store.next(Op::Renew, Fault::UNKNOWN_AFTER);
        assert!(lease.renew().await.is_err());
        ok(lease.renew().await);
        let numbers: Vec<u64> = harness.renewals().iter().map(|renewal| renewal.n).collect();
        assert_eq!(numbers.len(), 4);
        assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
        assert!(numbers[0] > 0, "0 is the grant's");
    })
    .await;
}

pub(crate) async fn refused_renewal_is_a_loss_at_once(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let subject = harness.subject().await;
        let guard = ok(lock!(harness, "guard").hold().await);
        let mut lease = acquired(lock!(harness, "lease").try_acquire().await);
        for term in harness.acquires() {
            subject.releases(&term, None).await;
        }
        let refused = lease.renew().await;
        let Err(Error::Lost(loss)) = refused else {
            panic!("a refused renewal said {refused:?}")
        };
        assert!(
            matches!(
                loss.cause,
                EndCause::Refused {
                    record: Some(_),
                    ..
                }
            ),
            "{loss:?}"
        );
        assert!(!lease.is_valid());

        hand.advance(20 * SECOND).await;
        let loss = soon("the loss", guard.ended()).await;
        assert!(!guard.is_valid());
        assert_eq!(loss.token, guard.token());
        let EndCause::Refused {
            record: Some(record),
            ..
        } = loss.cause
        else {
            panic!("{loss:?}")
        };
        assert!(record.released && record.uuid == guard.uuid(), "{record:?}");
    })
    .await;
}

pub(crate) async fn failed_renewal_is_no_loss(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let mut lease = acquired(lock!(harness, "lease").try_acquire().await);
        for kind in [ErrorKind::NotApplied, ErrorKind::Unknown, ErrorKind::Fatal] {
            harness.store.next(Op::Renew, Fault::FailBefore(kind));
            match lease.renew().await {
                Err(Error::Provider(error)) => assert_eq!(error.kind(), kind),
                other => panic!("{other:?}"),
            }
            assert!(lease.is_valid());
            hand.jump(SECOND);
        }
        assert_eq!(lease.remaining(), 45 * SECOND, "a failure takes nothing");
        ok(lease.renew().await);
        assert_eq!(lease.remaining(), 48 * SECOND);

        let guard = ok(lock!(harness, "guard").hold().await);
        let sent = harness.renewals().len();
        for failure in [Fault::THROTTLED, Fault::UNKNOWN_BEFORE, Fault::FATAL] {
            harness.store.next(Op::Renew, failure);
        }
        hand.advance(20 * SECOND).await;
        for attempt in 1..=4 {
            harness.sent(Op::Renew, sent + attempt).await;
            assert!(guard.is_valid(), "lost at attempt {attempt}");
            hand.advance(SECOND).await;
        }
        assert!(matches!(guard.state(), State::Valid), "{:?}", guard.state());
    })
    .await;
}

pub(crate) async fn expired_lease_tells_its_holder(bench: Bench) {
    rounds(bench, |round| async move {
        let harness = round.harness().await;
        let before = Instant::now();
        let lease = acquired(lock!(harness, "").try_acquire().await);
        let after = Instant::now();
        soon("the end of the lease", lease.ended()).await;
        let told = Instant::now();
        assert!(!lease.is_valid());
        let belief = harness.lease * 8 / 10;
        assert!(
            told - before >= belief,
            "told {:?} after the request",
            told - before
        );
        assert!(
            told - after <= belief + Duration::from_millis(50),
            "told {:?} after the grant",
            told - after
        );
    })
    .await;
}

/// Timers do not count a suspend, so they check the clock each second, however long the lease (V2).
pub(crate) async fn loss_while_suspended_is_reported_within_a_second(bench: Bench) {
    rounds(bench, |round| async move {
        let machine = Machine::new(1.0);
        let mut harness = round.on(machine.clock()).await;
        harness.lease = 3600 * SECOND;
        let lease = acquired(lock!(harness, "").try_acquire().await);
        let ended = crate::spawn(lease.ended());
        settle().await;
        machine.skip(harness.lease);
        let awake = Instant::now();
        joined(ended).await;
        assert!(awake.elapsed() <= SECOND, "{:?}", awake.elapsed());
    })
    .await;
}

pub(crate) async fn loss_is_told_on_time_while_renewals_hang(bench: Bench) {
    rounds(bench, |round| async move {
        let harness = round.harness().await;
        harness.store.always(Op::Renew, Fault::LoseRequest);
        let before = Instant::now();
        let guard = ok(lock!(harness, "").hold().await);
        let after = Instant::now();
        let loss = soon("the loss", guard.ended()).await;
        let told = Instant::now();
        let EndCause::Expired {
            last_error: Some(error),
        } = loss.cause
        else {
            panic!("{loss:?}")
        };
        assert_eq!(error.kind(), ErrorKind::Unknown);
        let belief = harness.lease * 8 / 10;
        assert!(
            told - before >= belief,
            "told {:?} after the request",
            told - before
        );
        assert!(
            told - after <= belief + Duration::from_millis(50),
            "told {:?} after the grant",
            told - after
        );
        assert!(harness.renewals().len() >= 2, "one hung renewal was all");
    })
    .await;
}

pub(crate) async fn holder_stops_before_another_starts(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, rival) = (round.harness().await, round.harness().await);
        let before = Instant::now();
        let lease = acquired(lock!(harness, "").try_acquire().await);
        let waiter = waiting(&lock!(rival, "", poll_every = harness.lease / 20));
        let stopped = crate::spawn({
            let expired = lease.ended();
            async move {
                expired.await;
                Instant::now()
            }
        });
        let next = ok(joined(waiter).await);
        let started = Instant::now();
        assert!(next.is_valid() && !lease.is_valid());
        assert!(next.token() > lease.token(), "tokens grow (I3)");
        let stopped = joined(stopped).await;
        // Most of the margin lies between.
        assert!(
            stopped + harness.lease / 8 <= started,
            "told {stopped:?}, and another began {started:?}"
        );
        let (passed, whole) = (started - before, harness.lease);
        assert!(
            passed >= whole,
            "granted to another {passed:?} after the request for {whole:?}"
        );
    })
    .await;
}
