//! W5, V9, A2, A3 as the frontend uses them: one identity per try, its repeats, and its end.

use std::{collections::BTreeSet, time::Duration};

use dlock_core::{Error, ErrorKind};
use dlock_testkit::{
    Bench,
    faults::{Fault, Op},
};
use tokio::time::Instant;

use super::{
    harness::{
        BY_HAND, acquired, eventually, joined, lock, ok, rounds, settle, soon, trying, waiting,
    },
    orphans::spend,
};

const SECOND: Duration = Duration::from_secs(1);

pub(crate) async fn each_try_of_a_waiter_has_its_own_identity(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness.deafen();
        let (_subject, _other) = harness.taken_by_another("").await;
        let waiter = waiting(&lock!(harness, "", poll_every = SECOND));
        for tries in 1..=5 {
            harness.asked(tries).await;
            hand.advance(2 * SECOND).await;
        }
        waiter.abort();
        let sent = harness.acquires();
        let identities: BTreeSet<_> = sent.iter().map(|sent| sent.new).collect();
        assert_eq!(identities.len(), sent.len(), "an identity was used twice");
    })
    .await;
}

pub(crate) async fn lost_reply_of_an_acquire_is_not_contention(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        // Refused before, and lost after the store had applied it.
        harness.store.next(Op::Acquire, Fault::THROTTLED);
        harness.store.next(Op::Acquire, Fault::UNKNOWN_AFTER);
        harness.store.next(Op::Acquire, Fault::LoseReply);
        let trying = trying(&lock!(harness, ""));
        harness.sent(Op::Acquire, 1).await;
        hand.advance(SECOND).await;
        harness.sent(Op::Acquire, 2).await;
        hand.advance(SECOND).await;
        harness.sent(Op::Acquire, 3).await;
        hand.advance(10 * SECOND).await;
        hand.advance(SECOND).await;
        let lease = acquired(joined(trying).await);
        let sent = harness.acquires();
        assert_eq!(sent.len(), 4);
        assert!(
            sent.iter().all(|repeat| *repeat == sent[0]),
            "a repeat is the same again"
        );
        assert_eq!(sent[0].new, lease.uuid());
    })
    .await;
}

pub(crate) async fn try_without_an_answer_is_given_up(bench: Bench) {
    rounds(bench, |round| async move {
        let harness = round.harness().await;
        harness.store.always(Op::Acquire, Fault::UNKNOWN_BEFORE);
        let waiter = waiting(&lock!(harness, ""));
        eventually("the second try", || {
            harness
                .acquires()
                .last()
                .is_some_and(|last| last.new != harness.acquires()[0].new)
        })
        .await;
        harness.store.clear();
        // The next try is fresh, and the first one is released in the background.
        let lease = ok(joined(waiter).await);
        let calls = harness.store.calls();
        let first: Vec<_> = calls
            .iter()
            .filter(|call| call.acquire().is_some())
            .collect();
        let identity = first[0].acquire().map(|sent| sent.new);
        let began: Vec<Instant> = first.iter().map(|call| call.began).collect();
        let repeats = first
            .iter()
            .take_while(|call| call.acquire().map(|sent| sent.new) == identity)
            .count();
        assert!(repeats >= 2, "the try was not repeated");
        // Timers round up.
        let most = harness.lease / 3 + harness.lease / 50;
        let repeated = began[repeats - 1] - began[0];
        assert!(repeated <= most, "repeated for {repeated:?}");
        // A pause, and the turn of the next try.
        let lasted = began[repeats] - began[0];
        let most = most + harness.lease / 40 + Duration::from_millis(125);
        assert!(lasted <= most, "the next try comes after {lasted:?}");
        assert!(
            lasted >= harness.lease / 3 - harness.lease / 20,
            "given up after {lasted:?}"
        );
        eventually("the release", || {
            harness
                .releases()
                .iter()
                .any(|sent| Some(sent.uuid) == identity)
        })
        .await;
        assert_ne!(Some(lease.uuid()), identity);
    })
    .await;
}

/// No limit cut it short: it is the newest information about the store.
pub(crate) async fn attempt_that_hung_for_its_whole_time_is_the_reason(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        // An attempt has 10 s, a try 20.
        for fault in [
            Fault::LoseRequest,
            Fault::UNKNOWN_BEFORE,
            Fault::LoseRequest,
        ] {
            harness.store.next(Op::Acquire, fault);
        }
        let answer = hand
            .passes_until_within(trying(&lock!(harness, "")), 20 * SECOND)
            .await;
        match answer {
            Err(Error::Provider(error)) => {
                assert!(
                    error.to_string().contains("no answer within 10s"),
                    "{error}"
                );
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(harness.acquires().len(), 3);
    })
    .await;
}

pub(crate) async fn fatal_answer_ends_an_acquire_at_once(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness.store.next(Op::Acquire, Fault::FATAL);
        match soon("the end", lock!(harness, "").acquire()).await {
            Err(Error::Provider(error)) => assert_eq!(error.kind(), ErrorKind::Fatal),
            other => panic!("{other:?}"),
        }
        assert_eq!(harness.acquires().len(), 1);

        // A possible grant to an earlier attempt of the same try is released.
        harness.store.next(Op::Acquire, Fault::UNKNOWN_AFTER);
        harness.store.next(Op::Acquire, Fault::FATAL);
        let waiter = waiting(&lock!(harness, ""));
        harness.sent(Op::Acquire, 2).await;
        hand.advance(SECOND).await;
        assert!(matches!(joined(waiter).await, Err(Error::Provider(_))));
        harness.sent(Op::Release, 1).await;
        settle().await;
        assert!(
            harness
                .subject()
                .await
                .record(&harness.name(""))
                .await
                .released
        );
    })
    .await;
}

pub(crate) async fn silent_store_ends_an_acquire(bench: Bench) {
    rounds(bench, |round| async move {
        for (label, fault) in [
            ("failing", Fault::UNKNOWN_BEFORE),
            ("hanging", Fault::LoseRequest),
        ] {
            let harness = round.harness().await;
            harness.store.always(Op::Acquire, fault);
            harness.store.always(Op::Release, fault);
            let began = Instant::now();
            let lock = lock!(harness, label, give_up_after = harness.lease);
            match soon("giving up", lock.acquire()).await {
                Err(Error::Provider(error)) => assert_eq!(error.kind(), ErrorKind::Unknown),
                other => panic!("{other:?}"),
            }
            let waited = began.elapsed();
            assert!(waited >= harness.lease, "{label}: after {waited:?}");
            // The try in progress ends first.
            assert!(waited <= harness.lease * 2, "{label}: after {waited:?}");
        }
    })
    .await;
}

pub(crate) async fn waiter_outlasts_an_outage(bench: Bench) {
    rounds(bench, |round| async move {
        let harness = round.harness().await;
        harness.store.everything(Fault::UNKNOWN_BEFORE);
        let waiter = waiting(&lock!(harness, ""));
        tokio::time::sleep(harness.lease).await;
        assert!(!waiter.is_finished());
        harness.store.clear();
        assert!(ok(joined(waiter).await).is_valid());
    })
    .await;
}

pub(crate) async fn refusal_by_an_orphan_of_our_own_is_an_answer(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness.deafen();
        harness.store.always(Op::Release, Fault::LoseRequest);
        // A call that hangs takes a sixth of the lease, so two of them fit into a try. The first try leaves an orphan;
        // from then on the store shows it, and accepts no claim of it.
        let answer = Fault::DelayReply(Duration::ZERO);
        let hangs = [Fault::LoseRequest; 2];
        let tries = std::iter::repeat_n(hangs, 6).map(|[a, b]| [answer, a, b]);
        let script = [Fault::LoseReply; 2].into_iter().chain(tries.flatten());
        script.for_each(|fault| harness.store.next(Op::Acquire, fault));
        let waiter = waiting(&lock!(harness, "", give_up_after = BY_HAND * 3 / 4));
        harness.sent(Op::Acquire, 1).await;
        // Past the end of the second try, but not to the end of an observation of the orphan.
        for _ in 0..14 {
            hand.advance(BY_HAND / 12).await;
        }
        assert!(!waiter.is_finished(), "gave up on a store that answers");
        harness.store.clear();
        for _ in 0..6 {
            hand.advance(BY_HAND / 12).await;
        }
        assert!(ok(joined(waiter).await).is_valid());
    })
    .await;
}

pub(crate) async fn spent_try_is_followed_by_a_fresh_one_at_once(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let (spent, lease) = spend(&harness, &hand, &lock!(harness, "")).await;
        assert_ne!(spent.new, lease.uuid());
    })
    .await;
}

pub(crate) async fn late_grant_is_given_back_and_asked_for_again(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness
            .interceptor
            .after(Op::Acquire, hand.jumping(48 * SECOND));
        let lease = ok(soon("the lock", lock!(harness, "").acquire()).await);
        assert!(lease.is_valid());
        assert_eq!(lease.remaining(), 48 * SECOND);
        let late = harness.acquires().remove(0).new;
        assert_ne!(lease.uuid(), late);
        eventually("the release", || {
            harness.releases().iter().any(|sent| sent.uuid == late)
        })
        .await;
        settle().await;
        let record = harness.subject().await.record(&harness.name("")).await;
        assert!(
            !record.released && record.uuid == lease.uuid(),
            "{record:?}"
        );
        // T6: the token of the grant that no caller received was seen nevertheless.
        let sent = harness.acquires();
        assert!(sent[1].floor > sent[0].floor, "{sent:?}");
    })
    .await;
}
