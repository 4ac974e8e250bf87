//! O1, O2 and T6: a client's observations of a name, and their consequences.
//!
//! The store's own clock stays far from the end of every lease here, so that on every store only the observation lets
//! another client in (A6).

use std::time::Duration;

use dlock_core::{
    DLock, FencingToken, Holder,
    provider::{Acquire, Version},
};
use dlock_testkit::{Bench, faults::Op};

use super::harness::{BY_HAND, Harness, acquired, held, lock, ok, rounds, soon};

const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);

pub(crate) async fn repeated_tries_take_over_from_a_dead_holder(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let (lock, again) = (lock!(harness, ""), lock!(harness, ""));
        let subject = harness.subject().await;
        let dead = harness.bench().term_of(&harness.name(""), BY_HAND);
        let token = subject.grants(&dead).await;
        // The observation begins after the reply that first showed it.
        harness
            .interceptor
            .after(Op::Acquire, hand.jumping(5 * SECOND));
        refused(&harness, &lock, None).await;
        hand.jump(BY_HAND / 2);
        refused(&harness, &again, None).await;
        hand.jump(BY_HAND / 2 - MILLISECOND);
        refused(&harness, &lock, None).await;
        hand.jump(MILLISECOND);
        let lease = acquired(soon("the answer", again.try_acquire()).await);
        assert_eq!(
            claimed(&harness),
            Some(Version {
                uuid: dead.new,
                renewals: 0
            })
        );
        assert!(lease.token() > token, "tokens grow (I3)");
    })
    .await;
}

pub(crate) async fn renewal_restarts_the_observation(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let lock = lock!(harness, "");
        let subject = harness.subject().await;
        let alive = harness.bench().term_of(&harness.name(""), BY_HAND);
        subject.grants(&alive).await;
        for n in 1..=3 {
            refused(&harness, &lock, None).await;
            hand.jump(BY_HAND - MILLISECOND);
            subject.renews(&alive, n).await;
        }
        refused(&harness, &lock, None).await;
        hand.jump(MILLISECOND);
        refused(&harness, &lock, None).await;
        hand.jump(BY_HAND - MILLISECOND);
        drop(acquired(soon("the answer", lock.try_acquire()).await));
        assert_eq!(
            claimed(&harness),
            Some(Version {
                uuid: alive.new,
                renewals: 3
            })
        );
    })
    .await;
}

pub(crate) async fn observation_lasts_for_the_records_duration(bench: Bench) {
    rounds(bench, |round| async move {
        let (mut harness, hand) = round.by_hand().await;
        harness.lease = BY_HAND / 6;
        let lock = lock!(harness, "");
        let subject = harness.subject().await;
        subject
            .grants(&harness.bench().term_of(&harness.name(""), BY_HAND))
            .await;
        refused(&harness, &lock, None).await;
        hand.jump(BY_HAND - MILLISECOND);
        refused(&harness, &lock, None).await;
        hand.jump(MILLISECOND);
        drop(acquired(soon("the answer", lock.try_acquire()).await));
    })
    .await;
}

pub(crate) async fn read_observes_too(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let lock = lock!(harness, "");
        assert_eq!(ok(lock.read().await), None);
        let subject = harness.subject().await;
        let dead = harness.bench().term_of(&harness.name(""), BY_HAND);
        subject.grants(&dead).await;
        let record = ok(lock.read().await);
        assert_eq!(record.map(|record| record.uuid), Some(dead.new));
        hand.jump(BY_HAND);
        drop(acquired(soon("the answer", lock.try_acquire()).await));
    })
    .await;
}

pub(crate) async fn observation_is_forgotten_after_ten_leases(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let lock = lock!(harness, "");
        let subject = harness.subject().await;
        subject
            .grants(&harness.bench().term_of(&harness.name(""), BY_HAND))
            .await;
        refused(&harness, &lock, None).await;
        hand.jump(10 * BY_HAND + MILLISECOND);
        refused(&harness, &lock, None).await;
        hand.jump(BY_HAND);
        drop(acquired(soon("the answer", lock.try_acquire()).await));
    })
    .await;
}

pub(crate) async fn grant_of_our_own_replaces_the_observation(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let lock = lock!(harness, "");
        let subject = harness.subject().await;
        observed_and_released(&harness, &lock).await;
        let lease = acquired(soon("the answer", lock.try_acquire()).await);
        ok(soon("the release", lease.release()).await);
        subject
            .grants(&harness.bench().term_of(&harness.name(""), BY_HAND))
            .await;
        hand.jump(BY_HAND);
        refused(&harness, &lock, None).await;
    })
    .await;
}

pub(crate) async fn grant_that_came_too_late_replaces_the_observation(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let lock = lock!(harness, "");
        let first = observed_and_released(&harness, &lock).await;
        hand.jump(BY_HAND / 2);
        // The grant is good for 48 s, and its answer takes just as long. The observed record would have ended by then,
        // but the store has replaced it.
        harness
            .interceptor
            .after(Op::Acquire, hand.jumping(48 * SECOND));
        drop(ok(soon("the lock", lock.acquire()).await));
        let sent = harness.acquires();
        assert!(sent.len() > 2, "the grant was in time: {sent:?}");
        let claims = |sent: &Acquire| sent.prev.is_some_and(|prev| prev.uuid == first.new);
        assert!(!sent.iter().any(claims), "{sent:?}");
    })
    .await;
}

pub(crate) async fn acquire_asks_for_more_than_the_highest_token_seen(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        let lock = lock!(harness, "");
        let lease = acquired(soon("the answer", lock.try_acquire()).await);
        let mut last = lease.token();
        ok(soon("the release", lease.release()).await);
        let lease = acquired(soon("the answer", lock.try_acquire()).await);
        assert!(lease.token() > last, "tokens grow (I3)");
        last = lease.token();
        ok(soon("the release", lease.release()).await);
        // Grants to others count too.
        let (subject, other) = harness.taken_by_another("").await;
        let shown = refused(&harness, &lock, None).await;
        subject.releases(&other, None).await;
        drop(acquired(soon("the answer", lock.try_acquire()).await));
        let floors: Vec<u64> = harness.acquires().iter().map(|sent| sent.floor).collect();
        let highest = shown.record.token.get();
        assert!(highest > last.get());
        assert_eq!(floors, [0, floors[1], last.get() + 1, highest + 1]);
        assert!(floors[1] > 1 && floors[1] <= last.get());
    })
    .await;
}

pub(crate) async fn floor_that_a_resource_reported_is_kept(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        let lock = lock!(harness, "");
        let token = acquired(soon("the answer", lock.try_acquire()).await).token();
        let Some(reported) = FencingToken::new(token.get() + 1_000_000_000) else {
            panic!("{token} is too near the end")
        };
        lock.raise_floor(reported);
        harness.sent(Op::Release, 1).await;
        let lease = ok(soon("the answer", lock!(harness, "").acquire()).await);
        assert!(lease.token() > reported, "tokens grow (I3)");
    })
    .await;
}

/// A term of another client that this one has seen, and that has been released since.
async fn observed_and_released(harness: &Harness, lock: &DLock) -> Acquire {
    let subject = harness.subject().await;
    let term = harness.bench().term_of(&harness.name(""), BY_HAND);
    subject.grants(&term).await;
    refused(harness, lock, None).await;
    subject.releases(&term, None).await;
    term
}

/// One refused try, which must carry this claim.
async fn refused(harness: &Harness, lock: &DLock, claim: Option<Version>) -> Holder {
    let holder = held(soon("the answer", lock.try_acquire()).await);
    assert_eq!(claimed(harness), claim);
    holder
}

/// The claim of the newest acquire.
fn claimed(harness: &Harness) -> Option<Version> {
    harness.acquires().last().and_then(|sent| sent.prev)
}
