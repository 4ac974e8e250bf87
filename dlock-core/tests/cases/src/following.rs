//! S1 to S4: where other callers of its client wait, a lease that ends goes to the next of them on the same term,
//! without a call to the store; after a while, or after sixteen leases, the term is released to the store.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use dlock_core::{DLock, Error, FencingToken, Lease, ReleaseEnd, provider::Release};
use dlock_testkit::{
    Bench,
    faults::{Fault, Op},
};
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::{
    handing::{in_line, queued},
    harness::{Hand, Harness, eventually, joined, lock, ok, poll_once, rounds, settle, soon},
};

const SECOND: Duration = Duration::from_secs(1);

/// How many tokens the first term has. Later ones may have more (`growing`).
const BLOCK: usize = 16;

pub(crate) async fn term_goes_on_with_the_next_waiter_without_a_call(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness.deafen();
        let lock = lock!(harness, "", poll_every = SECOND);
        let (subject, other) = harness.taken_by_another("").await;
        let order = Arc::new(Mutex::new(Vec::new()));
        let crowd: Vec<_> = (0..BLOCK + 3)
            .map(|place| in_line(&lock, place, &order))
            .collect();
        harness.sent(Op::Acquire, 1).await;
        settle().await;
        harness.store.forget_calls();
        subject.releases(&other, None).await;
        let mut served: Vec<(Uuid, FencingToken)> = Vec::new();
        for member in crowd {
            served.push(hand.passes_until_within(member, 2 * SECOND).await);
        }
        let order = order.lock().unwrap_or_else(PoisonError::into_inner).clone();
        assert!(order.is_sorted(), "served in the order {order:?}");
        let (first, second) = served.split_at(BLOCK);
        for term in [first, second] {
            let tokens: Vec<u64> = term.iter().map(|(_, token)| token.get()).collect();
            assert!(
                term.iter().all(|(uuid, _)| *uuid == term[0].0),
                "{served:?}"
            );
            let consecutive = tokens.windows(2).all(|pair| pair[1] == pair[0] + 1);
            assert!(consecutive, "each has a token of its own: {tokens:?}");
        }
        assert!(second[0].0 != first[0].0 && second[0].1 > first[BLOCK - 1].1);
        let released: Vec<Uuid> = harness.releases().iter().map(|sent| sent.uuid).collect();
        assert_eq!(released, [first[0].0, second[0].0], "once for each term");
        let granted = harness.acquires().len();
        assert!(
            granted <= 6,
            "{granted} acquires for {} leases",
            served.len()
        );
    })
    .await;
}

pub(crate) async fn term_that_has_had_its_time_goes_back_to_the_store(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let lock = lock!(harness, "", poll_every = SECOND);
        let (first, second) = pair(&harness, &hand, "", &lock).await;
        let third = queued(&lock);
        let term = first.uuid();
        hand.advance(SECOND / 2).await;
        ok(soon("the release", first.release()).await);
        let second = ok(joined(second).await);
        assert_eq!(second.uuid(), term);
        assert_eq!(harness.releases().len(), 0);
        // Over a second since its grant.
        hand.advance(SECOND * 6 / 10).await;
        ok(soon("the release", second.release()).await);
        assert_eq!(harness.releases().len(), 1);
        let third = ok(hand.passes_until_within(third, 2 * SECOND).await);
        assert_ne!(third.uuid(), term);
    })
    .await;
}

pub(crate) async fn waiter_that_leaves_takes_no_term_along(bench: Bench) {
    rounds(bench, |round| async move {
        for followers in [0, 1] {
            let (harness, hand) = round.by_hand().await;
            let lock = lock!(harness, "", poll_every = SECOND);
            let (first, second) = pair(&harness, &hand, "", &lock).await;
            second.abort();
            settle().await;
            let mut leaves = Box::pin(lock.acquire());
            assert!(poll_once(leaves.as_mut()).is_pending());
            let follower = (followers > 0).then(|| queued(&lock));
            settle().await;
            let term = first.uuid();
            let release = crate::spawn(first.release());
            // Now the term is on offer.
            settle().await;
            drop(leaves);
            assert_eq!(ok(joined(release).await), ReleaseEnd::Released);
            match follower {
                Some(follower) => drop(ok(hand.passes_until_within(follower, 2 * SECOND).await)),
                None => {
                    eventually("the release", || {
                        harness.releases().iter().any(|sent| sent.uuid == term)
                    })
                    .await;
                }
            }
        }
    })
    .await;
}

pub(crate) async fn lease_that_nobody_picks_up_goes_back_with_its_term(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let lock = lock!(harness, "", poll_every = SECOND);
        let (first, second) = pair(&harness, &hand, "", &lock).await;
        second.abort();
        settle().await;
        let mut away = Box::pin(async move { lock.acquire().await });
        assert!(poll_once(away.as_mut()).is_pending());
        settle().await;
        let (term, token) = (first.uuid(), first.token());
        let release = crate::spawn(first.release());
        settle().await;
        hand.advance(harness.lease / 6 + SECOND).await;
        eventually("the release", || {
            harness.releases().iter().any(|sent| sent.uuid == term)
        })
        .await;
        drop(release);
        let lease = ok(hand
            .passes_until_within(crate::spawn(away), 2 * SECOND)
            .await);
        assert!(lease.uuid() != term && lease.token() > token);
    })
    .await;
}

pub(crate) async fn next_lease_goes_on_where_its_term_is(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let lock = lock!(harness, "", poll_every = SECOND);
        let (mut first, second) = pair(&harness, &hand, "", &lock).await;
        let term = first.uuid();
        hand.advance(SECOND / 5).await;
        ok(soon("the renewal", first.renew()).await);
        hand.advance(SECOND / 5).await;
        let (left, expired) = (first.remaining(), first.ended());
        let mut release = Box::pin(first.release());
        let released = poll_once(release.as_mut()).is_ready();
        assert!(
            poll_once(Box::pin(expired).as_mut()).is_ready(),
            "valid after its release began"
        );
        let mut second = ok(joined(second).await);
        assert_eq!(second.uuid(), term);
        assert!(second.remaining() <= left, "{:?}", second.remaining());
        if !released {
            assert_eq!(ok(soon("the release", release).await), ReleaseEnd::Released);
        }
        ok(soon("the renewal", second.renew()).await);
        let numbers: Vec<_> = harness.renewals().iter().map(|sent| sent.n).collect();
        assert_eq!(numbers, [1, 2], "a larger number each time (R1)");
    })
    .await;
}

pub(crate) async fn next_lease_hears_what_an_earlier_ones_renewal_is_told(bench: Bench) {
    rounds(bench, |round| async move {
        for (label, refused) in [("asked", false), ("refused", true)] {
            let (harness, hand) = round.by_hand().await;
            let lock = lock!(harness, label, poll_every = SECOND);
            let (mut first, second) = pair(&harness, &hand, label, &lock).await;
            renewal_is_under_way(&harness, &mut first).await;
            let term = first.uuid();
            ok(soon("the release", first.release()).await);
            let second = ok(joined(second).await).keep_alive();
            assert_eq!(second.uuid(), term);
            if refused {
                taken_away(&harness, label, term).await;
            } else {
                harness.interceptor.ask();
            }
            harness.store.deliver().await;
            eventually("the next lease is notified", || {
                if refused {
                    !second.is_valid()
                } else {
                    second.asked()
                }
            })
            .await;
        }
    })
    .await;
}

pub(crate) async fn term_that_was_refused_while_on_offer_does_not_go_on(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let lock = lock!(harness, "", poll_every = SECOND / 5);
        let (mut first, second) = pair(&harness, &hand, "", &lock).await;
        let term = first.uuid();
        renewal_is_under_way(&harness, &mut first).await;
        // Its waiter has a request in flight, and so takes no offer yet.
        for question in [Op::Acquire, Op::Read] {
            let late = Fault::DelayReply(SECOND / 4);
            harness.store.always(question, late);
        }
        let asks = || harness.store.count(Op::Acquire) + harness.store.count(Op::Read);
        for _ in 0..10 {
            if asks() == 0 {
                hand.advance(SECOND / 20).await;
            }
        }
        assert_eq!(asks(), 1);
        let release = crate::spawn(first.release());
        settle().await;
        ended_by_the_store(&harness, "", term).await;
        harness.store.deliver().await;
        harness.store.clear();
        let second = ok(hand.passes_until(second).await);
        assert_ne!(second.uuid(), term, "a lease on a term that is over");
        drop(ok(joined(release).await));
    })
    .await;
}

pub(crate) async fn term_goes_on_with_no_lease_that_does_not_fit(bench: Bench) {
    rounds(bench, |round| async move {
        for (label, limit) in [("other", None), ("hurried", Some(SECOND))] {
            let (harness, hand) = round.by_hand().await;
            let lock = lock!(harness, label, poll_every = SECOND);
            let (first, second) = pair(&harness, &hand, label, &lock).await;
            let (term, least) = (first.uuid(), first.token());
            let theirs = in_line_for(&ok(lock.owned_by("they")), limit);
            let _another = queued(&lock);
            ok(soon("the release", first.release()).await);
            let second = ok(joined(second).await);
            if limit.is_some() {
                // With so little time left, it calls the store to learn who holds the lock.
                harness.sent(Op::Acquire, 1).await;
            }
            settle().await;
            harness.store.forget_calls();
            harness.store.next(Op::Release, Fault::HoldRequest);
            let release = crate::spawn(second.release());
            eventually("the release", || harness.store.held() == 1).await;
            // Longer than others are allowed to go first.
            hand.advance(SECOND / 10).await;
            assert_eq!(harness.questions(), 0, "beside the release");
            harness.store.deliver().await;
            ok(joined(release).await);
            let lease = ok(hand.passes_until_within(theirs, 2 * SECOND).await);
            assert!(lease.uuid() != term && lease.token() > least);
            let asked = harness.acquires();
            let asked = asked.first().map(|sent| (sent.prev, sent.tokens.get()));
            assert_eq!(asked, Some((None, 16)), "after the release");
        }
        let (harness, hand) = round.by_hand().await;
        let lock = lock!(harness, "below", poll_every = SECOND);
        let (first, second) = pair(&harness, &hand, "below", &lock).await;
        let term = first.uuid();
        let least = first.token().get() + 1000;
        let least = ok(FencingToken::new(least).ok_or("too large"));
        lock.raise_floor(least);
        ok(soon("the release", first.release()).await);
        let lease = ok(hand.passes_until_within(second, 2 * SECOND).await);
        assert!(lease.uuid() != term && lease.token() > least);
    })
    .await;
}

/// Waits in line, for no longer than this.
fn in_line_for(lock: &DLock, limit: Option<Duration>) -> JoinHandle<Result<Lease, Error>> {
    let Some(limit) = limit else {
        return queued(lock);
    };
    let lock = lock.clone();
    let mut acquire = Box::pin(async move { lock.acquire_timeout(limit).await });
    assert!(poll_once(acquire.as_mut()).is_pending());
    crate::spawn(acquire)
}

/// Sends a renewal of this lease by hand, which waits for [`Faulty::deliver`](dlock_testkit::faults::Faulty::deliver).
async fn renewal_is_under_way(harness: &Harness, lease: &mut Lease) {
    harness.store.next(Op::Renew, Fault::HoldRequest);
    {
        let mut renewal = Box::pin(lease.renew());
        assert!(poll_once(renewal.as_mut()).is_pending());
    }
    eventually("the renewal", || harness.store.held() == 1).await;
}

/// The store ends this term, and another process gets the lock.
async fn taken_away(harness: &Harness, label: &str, term: Uuid) {
    ended_by_the_store(harness, label, term).await;
    let _other = harness.taken_by_another(label).await;
}

async fn ended_by_the_store(harness: &Harness, label: &str, term: Uuid) {
    let subject = harness.subject().await;
    let name = harness.name(label);
    let release = Release::new(name, term, None);
    let released = soon("the release", subject.provider().release(&release)).await;
    assert!(ok(released).is_released());
}

/// Two waiters, the first of which has got the lock after another client's lease.
async fn pair(
    harness: &Harness,
    hand: &Hand,
    label: &str,
    lock: &DLock,
) -> (Lease, JoinHandle<Result<Lease, Error>>) {
    harness.deafen();
    let (subject, other) = harness.taken_by_another(label).await;
    let [first, second] = [queued(lock), queued(lock)];
    harness.sent(Op::Acquire, 1).await;
    settle().await;
    subject.releases(&other, None).await;
    let first = ok(hand.passes_until_within(first, 2 * SECOND).await);
    settle().await;
    harness.store.forget_calls();
    (first, second)
}
