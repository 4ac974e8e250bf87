//! W5, V9, A2, A3 as the frontend uses them: one identity a try, repeats of it, and its end.

use std::{collections::BTreeSet, time::Duration};

use dlock_core::{Error, ErrorKind};
use dlock_testkit::{
    Bench,
    faults::{Fault, Op},
};
use tokio::time::Instant;

use super::{
    bed::{BY_HAND, acquired, eventually, joined, lock, ok, rounds, settle, soon, trying, waiting},
    ghosts::spend,
};

const SECOND: Duration = Duration::from_secs(1);

pub(in crate::cases) async fn each_try_of_a_waiter_has_its_own_identity(bench: Bench) {
    rounds(bench, |round| async move {
        let (bed, hand) = round.by_hand().await;
        bed.deafen();
        let (_subject, _other) = bed.taken_by_another("").await;
        let waiter = waiting(&lock!(bed, "", poll_every = SECOND));
        for tries in 1..=5 {
            bed.asked(tries).await;
            hand.advance(2 * SECOND).await;
        }
        waiter.abort();
        let sent = bed.acquires();
        let identities: BTreeSet<_> = sent.iter().map(|sent| sent.new).collect();
        assert_eq!(identities.len(), sent.len(), "an identity was used twice");
    })
    .await;
}

pub(in crate::cases) async fn lost_reply_of_an_acquire_is_not_contention(bench: Bench) {
    rounds(bench, |round| async move {
        let (bed, hand) = round.by_hand().await;
        // Refused before, and lost after the store had applied it.
        bed.store.next(Op::Acquire, Fault::THROTTLED);
        bed.store.next(Op::Acquire, Fault::UNKNOWN_AFTER);
        bed.store.next(Op::Acquire, Fault::LoseReply);
        let trying = trying(&lock!(bed, ""));
        bed.sent(Op::Acquire, 1).await;
        hand.advance(SECOND).await;
        bed.sent(Op::Acquire, 2).await;
        hand.advance(SECOND).await;
        bed.sent(Op::Acquire, 3).await;
        hand.advance(10 * SECOND).await;
        hand.advance(SECOND).await;
        let lease = acquired(joined(trying).await);
        let sent = bed.acquires();
        assert_eq!(sent.len(), 4);
        assert!(
            sent.iter().all(|repeat| *repeat == sent[0]),
            "a repeat is the same again"
        );
        assert_eq!(sent[0].new, lease.uuid());
    })
    .await;
}

pub(in crate::cases) async fn try_without_an_answer_is_given_up(bench: Bench) {
    rounds(bench, |round| async move {
        let bed = round.bed().await;
        bed.store.always(Op::Acquire, Fault::UNKNOWN_BEFORE);
        let waiter = waiting(&lock!(bed, ""));
        eventually("the second try", || {
            bed.acquires()
                .last()
                .is_some_and(|last| last.new != bed.acquires()[0].new)
        })
        .await;
        bed.store.clear();
        // The next try is fresh, and the first one is released in the background.
        let lease = ok(joined(waiter).await);
        let calls = bed.store.calls();
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
        let most = bed.lease / 3 + bed.lease / 50;
        let repeated = began[repeats - 1] - began[0];
        assert!(repeated <= most, "repeated for {repeated:?}");
        // A pause, and the turn of the next try.
        let lasted = began[repeats] - began[0];
        let most = most + bed.lease / 40 + Duration::from_millis(125);
        assert!(lasted <= most, "the next try comes after {lasted:?}");
        assert!(
            lasted >= bed.lease / 3 - bed.lease / 20,
            "given up after {lasted:?}"
        );
        eventually("the release", || {
            bed.releases()
                .iter()
                .any(|sent| Some(sent.uuid) == identity)
        })
        .await;
        assert_ne!(Some(lease.uuid()), identity);
    })
    .await;
}

pub(in crate::cases) async fn fatal_answer_ends_an_acquire_at_once(bench: Bench) {
    rounds(bench, |round| async move {
        let (bed, hand) = round.by_hand().await;
        bed.store.next(Op::Acquire, Fault::FATAL);
        match soon("the end", lock!(bed, "").acquire()).await {
            Err(Error::Provider(error)) => assert_eq!(error.kind(), ErrorKind::Fatal),
            other => panic!("{other:?}"),
        }
        assert_eq!(bed.acquires().len(), 1);

        // What an earlier attempt of the same try may have left is given back.
        bed.store.next(Op::Acquire, Fault::UNKNOWN_AFTER);
        bed.store.next(Op::Acquire, Fault::FATAL);
        let waiter = waiting(&lock!(bed, ""));
        bed.sent(Op::Acquire, 2).await;
        hand.advance(SECOND).await;
        assert!(matches!(joined(waiter).await, Err(Error::Provider(_))));
        bed.sent(Op::Release, 1).await;
        settle().await;
        assert!(bed.subject().await.record(&bed.name("")).await.released);
    })
    .await;
}

pub(in crate::cases) async fn silent_store_ends_an_acquire(bench: Bench) {
    rounds(bench, |round| async move {
        for (label, fault) in [
            ("failing", Fault::UNKNOWN_BEFORE),
            ("hanging", Fault::LoseRequest),
        ] {
            let bed = round.bed().await;
            bed.store.always(Op::Acquire, fault);
            bed.store.always(Op::Release, fault);
            let began = Instant::now();
            let lock = lock!(bed, label, give_up_after = bed.lease);
            match soon("giving up", lock.acquire()).await {
                Err(Error::Provider(error)) => assert_eq!(error.kind(), ErrorKind::Unknown),
                other => panic!("{other:?}"),
            }
            let waited = began.elapsed();
            assert!(waited >= bed.lease, "{label}: after {waited:?}");
            // The try under way ends first.
            assert!(waited <= bed.lease * 2, "{label}: after {waited:?}");
        }
    })
    .await;
}

pub(in crate::cases) async fn waiter_outlasts_an_outage(bench: Bench) {
    rounds(bench, |round| async move {
        let bed = round.bed().await;
        bed.store.everything(Fault::UNKNOWN_BEFORE);
        let waiter = waiting(&lock!(bed, ""));
        tokio::time::sleep(bed.lease).await;
        assert!(!waiter.is_finished());
        bed.store.clear();
        assert!(ok(joined(waiter).await).is_valid());
    })
    .await;
}

pub(in crate::cases) async fn refusal_by_a_ghost_of_our_own_is_an_answer(bench: Bench) {
    rounds(bench, |round| async move {
        let (bed, hand) = round.by_hand().await;
        bed.deafen();
        bed.store.always(Op::Release, Fault::LoseRequest);
        // A call that hangs takes a sixth of the lease, so two of them fit into a try. The first try
        // leaves a ghost; from then on the store shows it, and takes no claim of it.
        let answer = Fault::DelayReply(Duration::ZERO);
        let hangs = [Fault::LoseRequest; 2];
        let tries = std::iter::repeat_n(hangs, 6).map(|[a, b]| [answer, a, b]);
        let script = [Fault::LoseReply; 2].into_iter().chain(tries.flatten());
        script.for_each(|fault| bed.store.next(Op::Acquire, fault));
        let waiter = waiting(&lock!(bed, "", give_up_after = BY_HAND * 3 / 4));
        bed.sent(Op::Acquire, 1).await;
        // Past the end of the second try, and not to the end of an observation of the ghost.
        for _ in 0..14 {
            hand.advance(BY_HAND / 12).await;
        }
        assert!(!waiter.is_finished(), "gave up on a store that answers");
        bed.store.clear();
        for _ in 0..6 {
            hand.advance(BY_HAND / 12).await;
        }
        assert!(ok(joined(waiter).await).is_valid());
    })
    .await;
}

pub(in crate::cases) async fn spent_try_is_followed_by_a_fresh_one_at_once(bench: Bench) {
    rounds(bench, |round| async move {
        let (bed, hand) = round.by_hand().await;
        let (spent, lease) = spend(&bed, &hand, &lock!(bed, "")).await;
        assert_ne!(spent.new, lease.uuid());
    })
    .await;
}

pub(in crate::cases) async fn late_grant_is_given_back_and_asked_for_again(bench: Bench) {
    rounds(bench, |round| async move {
        let (bed, hand) = round.by_hand().await;
        bed.meddler.after(Op::Acquire, hand.jumping(48 * SECOND));
        let lease = ok(soon("the lock", lock!(bed, "").acquire()).await);
        assert!(lease.is_valid());
        assert_eq!(lease.remaining(), 48 * SECOND);
        let late = bed.acquires().remove(0).new;
        assert_ne!(lease.uuid(), late);
        eventually("the release", || {
            bed.releases().iter().any(|sent| sent.uuid == late)
        })
        .await;
        settle().await;
        let record = bed.subject().await.record(&bed.name("")).await;
        assert!(
            !record.released && record.uuid == lease.uuid(),
            "{record:?}"
        );
        // T6: the token of the grant that nobody got was seen all the same.
        let sent = bed.acquires();
        assert!(sent[1].floor > sent[0].floor, "{sent:?}");
    })
    .await;
}
