//! S7: after a release with nobody in line a term stays with its client for a while, and the next caller takes it from
//! there. To others it is held, so it goes back in time, and whenever something else is wanted of it.

use std::time::Duration;

use dlock_core::{DLock, FencingToken, Lease, ReleaseEnd, Ticket};
use dlock_testkit::{
    Bench,
    faults::{Fault, Op},
};

use super::harness::{
    Hand, Harness, acquired, eventually, joined, lock, ok, poll_once, rounds, settle, soon, trying,
    waiting,
};

const SECOND: Duration = Duration::from_secs(1);

/// How long the terms of these locks linger.
const LINGER: Duration = Duration::from_millis(500);

/// A lock whose terms linger.
macro_rules! lingering {
    ($harness:expr, $label:expr) => {
        lock!(
            $harness,
            $label,
            owner = "we",
            poll_every = SECOND,
            linger = LINGER
        )
    };
}

pub(in crate::cases) async fn next_caller_takes_a_term_that_lingers(bench: Bench) {
    rounds(bench, |round| async move {
        for way in ["acquire", "try", "limit", "hold"] {
            let (harness, _hand) = round.by_hand().await;
            let lock = lingering!(harness, way);
            let first = ok(lock.acquire().await);
            let (term, mut token) = (first.uuid(), first.token());
            harness.store.forget_calls();
            let mut release = Box::pin(first.release());
            let released = poll_once(release.as_mut());
            assert!(
                matches!(released, std::task::Poll::Ready(Ok(ReleaseEnd::Released))),
                "at once"
            );
            for _ in 0..3 {
                let next = match way {
                    "acquire" => ok(lock.acquire().await),
                    "try" => acquired(lock.try_acquire().await),
                    "limit" => ok(lock.acquire_timeout(SECOND).await),
                    _ => {
                        let guard = ok(lock.hold().await);
                        assert!(guard.is_valid() && guard.uuid() == term);
                        drop(guard);
                        token = ok(FencingToken::new(token.get() + 1).ok_or("too large"));
                        continue;
                    }
                };
                assert!(next.is_valid());
                assert_eq!((next.uuid(), next.token().get()), (term, token.get() + 1));
                token = next.token();
                drop(next);
            }
            settle().await;
            assert_eq!(
                (harness.questions(), harness.releases().len()),
                (0, 0),
                "{way}"
            );
        }
    })
    .await;
}

pub(in crate::cases) async fn term_that_lingers_goes_back_in_time(bench: Bench) {
    rounds(bench, |round| async move {
        // After a while without a caller; and a second after its grant, however short that while is by then.
        for (label, held, left) in [
            ("idle", Duration::ZERO, LINGER),
            ("old", SECOND * 4 / 5, SECOND / 5),
        ] {
            let (harness, hand) = round.by_hand().await;
            let lock = lingering!(harness, label);
            let lease = ok(lock.acquire().await);
            let term = lease.uuid();
            hand.advance(held).await;
            drop(lease);
            hand.advance(left - SECOND / 20).await;
            assert_eq!(harness.releases().len(), 0, "{label}: too early");
            hand.advance(SECOND / 10).await;
            released_is(&harness, term).await;
            let record = harness.subject().await.record(&harness.name(label)).await;
            assert!(record.released, "{record:?}");
        }
        let (harness, hand) = round.by_hand().await;
        let lock = lingering!(harness, "older");
        let lease = ok(lock.acquire().await);
        hand.advance(SECOND * 11 / 10).await;
        ok(soon("the release", lease.release()).await);
        assert_eq!(harness.releases().len(), 1, "it does not linger");
    })
    .await;
}

/// A term has one keeper, which began with an offer whose time comes first.
pub(in crate::cases) async fn end_of_one_offer_leaves_the_next_alone(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let lock = lingering!(harness, "");
        let term = lingers(&lock).await;
        for _ in 0..2 {
            hand.advance(LINGER * 3 / 5).await;
            assert_eq!(harness.releases().len(), 0, "it is on offer again");
            assert_eq!(lingers(&lock).await, term);
        }
    })
    .await;
}

/// The keeper of the term sleeps until the end of the offer to those in line, and the term lingers for less.
pub(in crate::cases) async fn term_that_waiters_have_passed_on_lingers_no_longer_than_another(
    bench: Bench,
) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let lock = lingering!(harness, "");
        // It waits for an answer when it is offered a term.
        harness.store.next(Op::Acquire, Fault::HoldRequest);
        let waiter = waiting(&lock);
        eventually("the question", || harness.store.held() == 1).await;
        let lease = acquired(lock.try_acquire().await);
        ok(soon("the release", lease.release()).await);
        settle().await;
        harness.store.deliver().await;
        let lease = ok(joined(waiter).await);
        let term = lease.uuid();
        ok(soon("the release", lease.release()).await);
        hand.advance(LINGER - SECOND / 20).await;
        assert_eq!(harness.releases().len(), 0, "too early");
        hand.advance(SECOND / 10).await;
        released_is(&harness, term).await;
    })
    .await;
}

pub(in crate::cases) async fn term_lingers_as_long_as_it_has_tokens(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        let lock = lingering!(harness, "");
        // One term after the other, of twice as many (S1).
        for (terms, tokens) in (1..).zip([16, 32]) {
            for left in (0..tokens).rev() {
                let lease = ok(lock.acquire().await);
                ok(soon("the release", lease.release()).await);
                assert_eq!(harness.acquires().len(), terms);
                let released = if left == 0 { terms } else { terms - 1 };
                assert_eq!(harness.releases().len(), released, "{left} left");
            }
        }

        // Where each grant brings one, none.
        let (harness, _hand) = round.by_hand().await;
        harness.interceptor.mints_one_token();
        let lock = lingering!(harness, "one");
        for releases in 1..=2 {
            let lease = ok(lock.acquire().await);
            ok(soon("the release", lease.release()).await);
            assert_eq!(harness.releases().len(), releases);
        }
    })
    .await;
}

pub(in crate::cases) async fn term_that_somebody_asks_for_lingers_no_longer(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        let lock = lingering!(harness, "before");
        let mut lease = ok(lock.acquire().await);
        harness.interceptor.ask();
        ok(soon("the renewal", lease.renew()).await);
        ok(soon("the release", lease.release()).await);
        assert_eq!(harness.releases().len(), 1, "it does not linger");

        let (harness, _hand) = round.by_hand().await;
        let lock = lingering!(harness, "meanwhile");
        let mut lease = ok(lock.acquire().await);
        let term = lease.uuid();
        harness.store.next(Op::Renew, Fault::HoldRequest);
        {
            let mut renewal = Box::pin(lease.renew());
            assert!(poll_once(renewal.as_mut()).is_pending());
        }
        eventually("the renewal", || harness.store.held() == 1).await;
        harness.interceptor.ask();
        drop(lease);
        settle().await;
        assert_eq!(harness.releases().len(), 0);
        harness.store.deliver().await;
        released_is(&harness, term).await;
    })
    .await;
}

pub(in crate::cases) async fn term_lingers_for_no_lock_that_does_not_fit(bench: Bench) {
    rounds(bench, |round| async move {
        for (label, waits) in [("tries", false), ("waits", true)] {
            let (harness, hand) = round.by_hand().await;
            // A channel that opens late wakes everyone, also who leaves the term to its release.
            harness.deafen();
            let lock = lingering!(harness, label);
            let other = ok(lock.owned_by("they"));
            let term = lingers(&lock).await;
            let lease = taken_anew(&harness, &hand, &other, waits).await;
            released_is(&harness, term).await;
            assert_ne!(lease.uuid(), term);
            let record = harness.subject().await.record(&harness.name(label)).await;
            assert_eq!(record.owner, "they", "{label}");
        }

        let (harness, hand) = round.by_hand().await;
        harness.deafen();
        let lock = lingering!(harness, "below");
        let term = lingers(&lock).await;
        let highest = ok(FencingToken::new(1 << 52).ok_or("too large"));
        lock.raise_floor(highest);
        let lease = taken_anew(&harness, &hand, &lock, false).await;
        assert!(lease.uuid() != term && lease.token() > highest);

        // A ticket is for another term, and waits for nothing.
        let (harness, hand) = round.by_hand().await;
        harness.deafen();
        let lock = lingering!(harness, "ticket");
        let ticket: Ticket = ok(ok(lock.acquire().await).hand_over());
        drop(acquired(lock.try_redeem(&ticket).await));
        settle().await;
        let term = lingers(&lock).await;
        let lock = lock.clone();
        let redeems = tokio::spawn(async move { lock.redeem(&ticket).await });
        let lease = ok(hand.passes_until(redeems).await);
        assert_ne!(lease.uuid(), term);
    })
    .await;
}

pub(in crate::cases) async fn close_gives_back_what_lingers(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        let lock = lingering!(harness, "");
        let term = lingers(&lock).await;
        assert_eq!(soon("closing", harness.client.close()).await, 0);
        let released: Vec<_> = harness.releases().iter().map(|sent| sent.uuid).collect();
        assert_eq!(released, [term]);
        let record = harness.subject().await.record(&harness.name("")).await;
        assert!(record.released, "{record:?}");

        let (harness, _hand) = round.by_hand().await;
        let lease = ok(lingering!(harness, "held").acquire().await);
        assert_eq!(soon("closing", harness.client.close()).await, 1);
        ok(soon("the release", lease.release()).await);
        assert_eq!(harness.releases().len(), 1, "nothing lingers after that");
    })
    .await;
}

pub(in crate::cases) async fn lock_that_closes_its_name_does_not_linger(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        let lock = lock!(harness, "", linger = LINGER, at_least = 30 * SECOND);
        let lease = ok(lock.acquire().await);
        ok(soon("the release", lease.release()).await);
        let closes: Vec<_> = harness
            .releases()
            .iter()
            .map(|sent| sent.closing.is_some())
            .collect();
        assert_eq!(closes, [true]);
    })
    .await;
}

/// A term that lingers from now on.
async fn lingers(lock: &DLock) -> uuid::Uuid {
    let lease = ok(lock.acquire().await);
    let term = lease.uuid();
    ok(soon("the release", lease.release()).await);
    term
}

/// A lease for which this lock has to ask.
async fn taken_anew(harness: &Harness, hand: &Hand, lock: &DLock, waits: bool) -> Lease {
    harness.store.forget_calls();
    let lease = if waits {
        ok(hand.passes_until(waiting(lock)).await)
    } else {
        acquired(joined(trying(lock)).await)
    };
    let sent = harness.acquires();
    let claims: Vec<_> = sent.iter().map(|sent| sent.prev).collect();
    assert_eq!(claims, [None], "after the release");
    lease
}

async fn released_is(harness: &Harness, term: uuid::Uuid) {
    eventually("the release", || !harness.releases().is_empty()).await;
    let released: Vec<_> = harness.releases().iter().map(|sent| sent.uuid).collect();
    assert_eq!(released, [term]);
}
