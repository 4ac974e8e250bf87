//! V7, G3: how a term ends when its holder gives it back, or just goes away.

use std::{panic::AssertUnwindSafe, time::Duration};

use dlock_core::{EndCause, Error, ErrorKind, ReleaseEnd};
use dlock_testkit::{
    Bench,
    faults::{Fault, Op},
    unchanged,
};
use tokio::time::{Instant, sleep};

use super::bed::{
    BY_HAND, Bed, acquired, eventually, joined, lock, ok, poll_once, rounds, settle, soon, trying,
};

const SECOND: Duration = Duration::from_secs(1);

pub(in crate::cases) async fn validity_ends_where_the_release_begins(bench: Bench) {
    rounds(bench, |round| async move {
        let (bed, _hand) = round.by_hand().await;
        bed.store.always(Op::Release, Fault::HoldRequest);
        let guard = ok(lock!(bed, "guard").hold().await);
        let lease = acquired(lock!(bed, "lease").try_acquire().await);
        let (lost, expired) = (guard.ended(), lease.expired());
        assert!(poll_once(Box::pin(guard.release()).as_mut()).is_pending());
        assert!(poll_once(Box::pin(lease.release()).as_mut()).is_pending());
        let loss = soon("the end of the guard", lost).await;
        assert!(matches!(loss.cause, EndCause::Released), "{loss:?}");
        soon("the end of the lease", expired).await;
        // The store does not know yet.
        let subject = bed.subject().await;
        assert!(!subject.record(&bed.name("guard")).await.released);
        assert!(!subject.record(&bed.name("lease")).await.released);
    })
    .await;
}

pub(in crate::cases) async fn no_renewal_is_sent_after_the_release_began(bench: Bench) {
    rounds(bench, |round| async move {
        let (bed, hand) = round.by_hand().await;
        bed.store.always(Op::Release, Fault::HoldRequest);
        let guard = ok(lock!(bed, "").hold().await);
        assert!(poll_once(Box::pin(guard.release()).as_mut()).is_pending());
        bed.sent(Op::Release, 1).await;
        for _ in 0..5 {
            hand.advance(6 * SECOND).await;
        }
        assert_eq!(bed.renewals().len(), 0);
    })
    .await;
}

pub(in crate::cases) async fn renewal_under_way_does_not_outlive_the_release(bench: Bench) {
    rounds(bench, |round| async move {
        let (bed, hand) = round.by_hand().await;
        let guard = ok(lock!(bed, "").hold().await);
        bed.store.next(Op::Renew, Fault::HoldRequest);
        hand.advance(20 * SECOND).await;
        bed.sent(Op::Renew, 1).await;
        assert_eq!(
            ok(soon("the release", guard.release()).await),
            ReleaseEnd::Released
        );
        bed.store.deliver().await;
        settle().await;
        let subject = bed.subject().await;
        let record = subject.record(&bed.name("")).await;
        assert!(record.released, "{record:?}");
        subject.grants(&bed.bench().term(&bed.name(""))).await;
    })
    .await;
}

pub(in crate::cases) async fn unanswered_release_is_repeated(bench: Bench) {
    rounds(bench, |round| async move {
        let (bed, hand) = round.by_hand().await;
        let lease = acquired(lock!(bed, "").try_acquire().await);
        bed.store.next(Op::Release, Fault::UNKNOWN_AFTER);
        bed.store.next(Op::Release, Fault::LoseReply);
        let release = tokio::spawn(lease.release());
        bed.sent(Op::Release, 1).await;
        hand.advance(SECOND).await;
        bed.sent(Op::Release, 2).await;
        hand.advance(10 * SECOND).await;
        hand.advance(SECOND).await;
        assert_eq!(ok(joined(release).await), ReleaseEnd::Released);
        let releases = bed.releases();
        assert_eq!(releases.len(), 3);
        assert!(releases.iter().all(|release| *release == releases[0]));
    })
    .await;
}

pub(in crate::cases) async fn release_without_an_answer_ends_unconfirmed(bench: Bench) {
    rounds(bench, |round| async move {
        for (label, fault) in [
            ("failing", Fault::UNKNOWN_BEFORE),
            ("hanging", Fault::LoseRequest),
        ] {
            let bed = round.bed().await;
            let mut lease = acquired(lock!(bed, label).try_acquire().await);
            sleep(bed.lease / 5).await;
            let before = Instant::now();
            ok(lease.renew().await);
            let after = Instant::now();
            bed.store.always(Op::Release, fault);
            assert_eq!(
                ok(soon("the release", lease.release()).await),
                ReleaseEnd::Unconfirmed
            );
            // Until the last renewal's request + D, but for the last pause.
            let pause = bed.lease / 40 + Duration::from_millis(2);
            assert!(
                before.elapsed() >= bed.lease - pause,
                "{label}: after {:?}",
                before.elapsed()
            );
            assert!(
                after.elapsed() <= bed.lease + Duration::from_millis(50),
                "{label}: after {:?}",
                after.elapsed()
            );
            assert!(bed.releases().len() >= 2, "{label}: asked once");
        }
    })
    .await;
}

pub(in crate::cases) async fn fatal_answer_to_a_release_is_an_error_at_once(bench: Bench) {
    rounds(bench, |round| async move {
        let (bed, _hand) = round.by_hand().await;
        let lease = acquired(lock!(bed, "").try_acquire().await);
        bed.store.next(Op::Release, Fault::FATAL);
        match soon("the release", lease.release()).await {
            Err(Error::Provider(error)) => assert_eq!(error.kind(), ErrorKind::Fatal),
            other => panic!("{other:?}"),
        }
        assert_eq!(bed.releases().len(), 1);
    })
    .await;
}

pub(in crate::cases) async fn stale_holder_releases_nothing_and_is_told(bench: Bench) {
    rounds(bench, |round| async move {
        let (bed, _hand) = round.by_hand().await;
        let lease = acquired(lock!(bed, "").try_acquire().await);
        let subject = bed.subject().await;
        subject.releases(&bed.acquires()[0], None).await;
        let next = bed.bench().term(&bed.name(""));
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

pub(in crate::cases) async fn repeated_release_that_finds_a_stranger_is_no_loss(bench: Bench) {
    rounds(bench, |round| async move {
        let halfway = 0.6;
        for (label, fault, waited, ended) in [
            ("told nothing", Fault::LoseReply, 0.0, ReleaseEnd::Released),
            ("cut off", Fault::UNKNOWN_AFTER, 0.0, ReleaseEnd::Released),
            // Taken by force between the two, perhaps: it was valid until its release all the same.
            (
                "not applied",
                Fault::UNKNOWN_BEFORE,
                0.0,
                ReleaseEnd::Released,
            ),
            ("throttled", Fault::THROTTLED, 0.0, ReleaseEnd::Released),
            // Nobody can know whether its attempt or somebody else ended it.
            (
                "invalid",
                Fault::UNKNOWN_AFTER,
                halfway,
                ReleaseEnd::Unconfirmed,
            ),
        ] {
            let (bed, hand) = round.by_hand().await;
            let lease = acquired(lock!(bed, label, margin = 0.5).try_acquire().await);
            hand.jump(BY_HAND.mul_f64(waited));
            assert_eq!(lease.is_valid(), waited == 0.0, "{label}");
            bed.store.next(Op::Release, fault);
            let release = tokio::spawn(lease.release());
            bed.sent(Op::Release, 1).await;
            settle().await;
            // Somebody is quick.
            let subject = bed.subject().await;
            subject.releases(&bed.acquires()[0], None).await;
            let next = bed.bench().term(&bed.name(label));
            subject.grants(&next).await;
            let before = subject.record(&next.name).await;
            hand.advance(10 * SECOND).await;
            hand.advance(SECOND).await;
            assert_eq!(ok(joined(release).await), ended, "{label}");
            assert_eq!(bed.releases().len(), 2, "{label}");
            unchanged(&before, &subject.record(&next.name).await);
        }
    })
    .await;
}

pub(in crate::cases) async fn acquire_that_arrives_after_its_release_is_undone(bench: Bench) {
    rounds(bench, |round| async move {
        let (bed, hand) = round.by_hand().await;
        bed.store.next(Op::Acquire, Fault::HoldRequest);
        // What comes after it is certain to have come to nothing.
        bed.store.always(Op::Acquire, Fault::UNKNOWN_BEFORE);
        let asking = trying(&lock!(bed, ""));
        bed.sent(Op::Acquire, 1).await;
        hand.advance(10 * SECOND).await;
        for _ in 0..12 {
            hand.advance(SECOND).await;
        }
        assert!(joined(asking).await.is_err(), "it got no answer");
        bed.sent(Op::Release, 1).await;
        settle().await;
        bed.store.deliver().await;
        settle().await;
        let subject = bed.subject().await;
        assert!(!subject.record(&bed.name("")).await.released);
        hand.advance(10 * SECOND).await;
        hand.advance(SECOND).await;
        assert!(subject.record(&bed.name("")).await.released, "a ghost");
        assert_eq!(bed.releases().len(), 2);
    })
    .await;
}

pub(in crate::cases) async fn dropped_lease_is_given_back(bench: Bench) {
    rounds(bench, |round| async move {
        let (bed, _hand) = round.by_hand().await;
        drop(acquired(lock!(bed, "lease").try_acquire().await));
        given_back(&bed, "lease").await;
        drop(ok(lock!(bed, "guard").hold().await));
        given_back(&bed, "guard").await;
    })
    .await;
}

pub(in crate::cases) async fn lease_dropped_without_a_runtime_is_given_back(bench: Bench) {
    rounds(bench, |round| async move {
        let (bed, _hand) = round.by_hand().await;
        let lease = acquired(lock!(bed, "lease").try_acquire().await);
        let guard = ok(lock!(bed, "guard").hold().await);
        let dropped = std::thread::spawn(move || drop((lease, guard))).join();
        assert!(
            dropped.is_ok(),
            "dropping a lease in a plain thread panicked"
        );
        given_back(&bed, "lease").await;
        given_back(&bed, "guard").await;
    })
    .await;
}

pub(in crate::cases) async fn lease_dropped_while_unwinding_is_given_back(bench: Bench) {
    rounds(bench, |round| async move {
        let (bed, _hand) = round.by_hand().await;
        let lease = acquired(lock!(bed, "lease").try_acquire().await);
        let guard = ok(lock!(bed, "guard").hold().await);
        let unwound = std::panic::catch_unwind(AssertUnwindSafe(move || {
            let _held = (lease, guard);
            std::panic::resume_unwind(Box::new("on purpose"));
        }));
        assert!(unwound.is_err());
        given_back(&bed, "lease").await;
        given_back(&bed, "guard").await;
    })
    .await;
}

/// Somebody else can have it now.
async fn given_back(bed: &Bed, label: &str) {
    let name = bed.name(label);
    let what = format!("the release of {label}");
    eventually(&what, || {
        bed.releases().iter().any(|release| release.name == name)
    })
    .await;
    let subject = bed.subject().await;
    let waited = Instant::now();
    while !subject.record(&name).await.released {
        assert!(
            waited.elapsed() < Duration::from_secs(10),
            "{label} is still held"
        );
        sleep(Duration::from_millis(5)).await;
    }
}
