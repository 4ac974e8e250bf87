//! V7, G3: how a term ends when its holder releases it, or just goes away.

use std::{panic::AssertUnwindSafe, time::Duration};

use dlock_core::{EndCause, Error, ErrorKind, ReleaseEnd};
use dlock_testkit::{
    Bench,
    faults::{Fault, Op},
    unchanged,
};
use tokio::time::{Instant, sleep};

use super::harness::{
    BY_HAND, Harness, acquired, eventually, joined, lock, ok, poll_once, rounds, settle, soon,
    trying,
};

const SECOND: Duration = Duration::from_secs(1);

pub(crate) async fn validity_ends_where_the_release_begins(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        harness.store.always(Op::Release, Fault::HoldRequest);
        let guard = ok(lock!(harness, "guard").hold().await);
        let lease = acquired(lock!(harness, "lease").try_acquire().await);
        let (lost, expired) = (guard.ended(), lease.ended());
        assert!(poll_once(Box::pin(guard.release()).as_mut()).is_pending());
        assert!(poll_once(Box::pin(lease.release()).as_mut()).is_pending());
        let loss = soon("the end of the guard", lost).await;
        assert!(matches!(loss.cause, EndCause::Released), "{loss:?}");
        soon("the end of the lease", expired).await;
        // The store does not know yet.
        let subject = harness.subject().await;
        assert!(!subject.record(&harness.name("guard")).await.released);
        assert!(!subject.record(&harness.name("lease")).await.released);
    })
    .await;
}

pub(crate) async fn no_renewal_is_sent_after_the_release_began(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness.store.always(Op::Release, Fault::HoldRequest);
        let guard = ok(lock!(harness, "").hold().await);
        assert!(poll_once(Box::pin(guard.release()).as_mut()).is_pending());
        harness.sent(Op::Release, 1).await;
        for _ in 0..5 {
            hand.advance(6 * SECOND).await;
        }
        assert_eq!(harness.renewals().len(), 0);
    })
    .await;
}

pub(crate) async fn renewal_under_way_does_not_outlive_the_release(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let guard = ok(lock!(harness, "").hold().await);
        harness.store.next(Op::Renew, Fault::HoldRequest);
        hand.advance(20 * SECOND).await;
        harness.sent(Op::Renew, 1).await;
        assert_eq!(
            ok(soon("the release", guard.release()).await),
            ReleaseEnd::Released
        );
        harness.store.deliver().await;
        settle().await;
        let subject = harness.subject().await;
        let record = subject.record(&harness.name("")).await;
        assert!(record.released, "{record:?}");
        subject
            .grants(&harness.bench().term(&harness.name("")))
            .await;
    })
    .await;
}

pub(crate) async fn unanswered_release_is_repeated(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let lease = acquired(lock!(harness, "").try_acquire().await);
        harness.store.next(Op::Release, Fault::UNKNOWN_AFTER);
        harness.store.next(Op::Release, Fault::LoseReply);
        let release = crate::spawn(lease.release());
        harness.sent(Op::Release, 1).await;
        hand.advance(SECOND).await;
        harness.sent(Op::Release, 2).await;
        hand.advance(10 * SECOND).await;
        hand.advance(SECOND).await;
        assert_eq!(ok(joined(release).await), ReleaseEnd::Released);
        let releases = harness.releases();
        assert_eq!(releases.len(), 3);
        assert!(releases.iter().all(|release| *release == releases[0]));
    })
    .await;
}

pub(crate) async fn release_without_an_answer_ends_unconfirmed(bench: Bench) {
    rounds(bench, |round| async move {
        for (label, fault) in [
            ("failing", Fault::UNKNOWN_BEFORE),
            ("hanging", Fault::LoseRequest),
        ] {
            let harness = round.harness().await;
            let mut lease = acquired(lock!(harness, label).try_acquire().await);
            sleep(harness.lease / 5).await;
            let before = Instant::now();
            ok(lease.renew().await);
            let after = Instant::now();
            harness.store.always(Op::Release, fault);
            assert_eq!(
                ok(soon("the release", lease.release()).await),
                ReleaseEnd::Unconfirmed
            );
            // Until the last renewal's request + D, less the last pause.
            let pause = harness.lease / 40 + Duration::from_millis(2);
            assert!(
                before.elapsed() >= harness.lease - pause,
                "{label}: after {:?}",
                before.elapsed()
            );
            assert!(
                after.elapsed() <= harness.lease + Duration::from_millis(50),
                "{label}: after {:?}",
                after.elapsed()
            );
            assert!(harness.releases().len() >= 2, "{label}: asked once");
        }
    })
    .await;
}

pub(crate) async fn fatal_answer_to_a_release_is_an_error_at_once(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        let lease = acquired(lock!(harness, "").try_acquire().await);
        harness.store.next(Op::Release, Fault::FATAL);
        match soon("the release", lease.release()).await {
            Err(Error::Provider(error)) => assert_eq!(error.kind(), ErrorKind::Fatal),
            other => panic!("{other:?}"),
        }
        assert_eq!(harness.releases().len(), 1);
    })
    .await;
}

pub(crate) async fn stale_holder_releases_nothing_and_is_told(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        let lease = acquired(lock!(harness, "").try_acquire().await);
        let subject = harness.subject().await;
        subject.releases(&harness.acquires()[0], None).await;
        let next = harness.bench().term(&harness.name(""));
        subject.grants(&next).await;
        let before = subject.record(&next.name).await;
        match ok(soon("the release", lease.release()).await) {
            ReleaseEnd::NotHeld(Some(record)) => assert_eq!(record.uuid, next.new),
            other => panic!("{other:?}"),
        }
        unchanged(&before, &subject.record(&next.name).await);
    })
    .await;
}

pub(crate) async fn repeated_release_that_finds_a_stranger_is_no_loss(bench: Bench) {
    rounds(bench, |round| async move {
        let halfway = 0.6;
        for (label, fault, waited, ended) in [
            ("told nothing", Fault::LoseReply, 0.0, ReleaseEnd::Released),
            ("cut off", Fault::UNKNOWN_AFTER, 0.0, ReleaseEnd::Released),
            // Perhaps taken by force between the two: it was valid until its release nevertheless.
            (
                "not applied",
                Fault::UNKNOWN_BEFORE,
                0.0,
                ReleaseEnd::Released,
            ),
            ("throttled", Fault::THROTTLED, 0.0, ReleaseEnd::Released),
            // It is unknown whether its own attempt or another client ended it.
            (
                "invalid",
                Fault::UNKNOWN_AFTER,
                halfway,
                ReleaseEnd::Unconfirmed,
            ),
        ] {
            let (harness, hand) = round.by_hand().await;
            let lease = acquired(lock!(harness, label, margin = 0.5).try_acquire().await);
            hand.jump(BY_HAND.mul_f64(waited));
            assert_eq!(lease.is_valid(), waited == 0.0, "{label}");
            harness.store.next(Op::Release, fault);
            let release = crate::spawn(lease.release());
            harness.sent(Op::Release, 1).await;
            settle().await;
            // Another client is quick.
            let subject = harness.subject().await;
            subject.releases(&harness.acquires()[0], None).await;
            let next = harness.bench().term(&harness.name(label));
            subject.grants(&next).await;
            let before = subject.record(&next.name).await;
            hand.advance(10 * SECOND).await;
            hand.advance(SECOND).await;
            assert_eq!(ok(joined(release).await), ended, "{label}");
            assert_eq!(harness.releases().len(), 2, "{label}");
            unchanged(&before, &subject.record(&next.name).await);
        }
    })
    .await;
}

pub(crate) async fn acquire_that_arrives_after_its_release_is_undone(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness.store.next(Op::Acquire, Fault::HoldRequest);
        // The acquires after the held one are certain not to be applied.
        harness.store.always(Op::Acquire, Fault::UNKNOWN_BEFORE);
        let asking = trying(&lock!(harness, ""));
        harness.sent(Op::Acquire, 1).await;
        hand.advance(10 * SECOND).await;
        for _ in 0..12 {
            hand.advance(SECOND).await;
        }
        assert!(joined(asking).await.is_err(), "it got no answer");
        harness.sent(Op::Release, 1).await;
        settle().await;
        harness.store.deliver().await;
        settle().await;
        let subject = harness.subject().await;
        assert!(!subject.record(&harness.name("")).await.released);
        hand.advance(10 * SECOND).await;
        hand.advance(SECOND).await;
        assert!(
            subject.record(&harness.name("")).await.released,
            "an orphan"
        );
        assert_eq!(harness.releases().len(), 2);
    })
    .await;
}

pub(crate) async fn dropped_lease_is_given_back(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        drop(acquired(lock!(harness, "lease").try_acquire().await));
        given_back(&harness, "lease").await;
        drop(ok(lock!(harness, "guard").hold().await));
        given_back(&harness, "guard").await;
    })
    .await;
}

pub(crate) async fn lease_dropped_without_a_runtime_is_given_back(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        let lease = acquired(lock!(harness, "lease").try_acquire().await);
        let guard = ok(lock!(harness, "guard").hold().await);
        let dropped = std::thread::spawn(move || drop((lease, guard))).join();
        assert!(
            dropped.is_ok(),
            "dropping a lease in a plain thread panicked"
        );
        given_back(&harness, "lease").await;
        given_back(&harness, "guard").await;
    })
    .await;
}

pub(crate) async fn lease_dropped_while_unwinding_is_given_back(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        let lease = acquired(lock!(harness, "lease").try_acquire().await);
        let guard = ok(lock!(harness, "guard").hold().await);
        let unwound = std::panic::catch_unwind(AssertUnwindSafe(move || {
            let _held = (lease, guard);
            std::panic::resume_unwind(Box::new("on purpose"));
        }));
        assert!(unwound.is_err());
        given_back(&harness, "lease").await;
        given_back(&harness, "guard").await;
    })
    .await;
}

/// Another client can acquire it now.
async fn given_back(harness: &Harness, label: &str) {
    let name = harness.name(label);
    let what = format!("the release of {label}");
    eventually(&what, || {
        harness
            .releases()
            .iter()
            .any(|release| release.name == name)
    })
    .await;
    let subject = harness.subject().await;
    let waited = Instant::now();
    while !subject.record(&name).await.released {
        assert!(
            waited.elapsed() < Duration::from_secs(10),
            "{label} is still held"
        );
        sleep(Duration::from_millis(5)).await;
    }
}
