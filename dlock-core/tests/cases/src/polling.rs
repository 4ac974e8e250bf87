//! W2, W3, I15, I16: when a waiter tries again.

use std::time::Duration;

use dlock_testkit::{
    Bench,
    faults::{Fault, Op},
};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};

use super::harness::{BY_HAND, Hand, joined, lock, ok, rounds, settle, waiting};

const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);

pub(crate) async fn waiter_asks_at_its_interval(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness.deafen();
        let (_subject, _other) = harness.taken_by_another("").await;
        let waiter = waiting(&lock!(harness, "", poll_every = 5 * SECOND));
        // While a term may be short, it tries more often (N8): four times in an interval, for two intervals.
        harness.asked(1).await;
        for _ in 0..10 {
            hand.advance(SECOND).await;
            settle().await;
        }
        let before = harness.questions();
        assert!((2..=9).contains(&before), "{before} questions");
        while harness.questions() == before {
            hand.advance(MILLISECOND).await;
            settle().await;
        }
        for tries in before + 1..before + 4 {
            harness.asked(tries).await;
            hand.advance(5 * SECOND - 2 * MILLISECOND).await;
            assert_eq!(harness.questions(), tries, "earlier than its interval");
            // Jitter only delays, by a fifth at most.
            hand.advance(SECOND + 2 * MILLISECOND).await;
        }
        harness.asked(before + 4).await;
        waiter.abort();
    })
    .await;
}

pub(crate) async fn waiter_enters_when_the_lease_ends(bench: Bench) {
    rounds(bench, |round| async move {
        let harness = round.harness().await;
        harness.deafen();
        let subject = harness.subject().await;
        let other = harness.bench().term_of(&harness.name(""), harness.lease);
        let before = Instant::now();
        subject.grants(&other).await;
        let after = Instant::now();
        // Where the store's clock decides, a latecomer waits only for the remainder.
        let late = if harness.bench().store_clock() {
            harness.lease / 2
        } else {
            Duration::ZERO
        };
        sleep(late).await;
        let lease = ok(joined(waiting(&lock!(harness, "", poll_every = HOUR))).await);
        let (most, least) = (after.elapsed(), before.elapsed());
        assert!(
            least >= harness.lease,
            "taken after {least:?} of {:?}",
            harness.lease
        );
        // r + D + j + 2R.
        let bound = harness.lease + Duration::from_millis(50) + harness.lease / 10;
        assert!(most <= bound, "taken after {most:?} of {:?}", harness.lease);
        assert!(lease.is_valid());
    })
    .await;
}

pub(crate) async fn waiter_of_another_duration_waits_for_the_records(bench: Bench) {
    rounds(bench, |round| async move {
        // By observation alone, on every store: the store's own clock stays far from the end.
        let (mut harness, hand) = round.by_hand().await;
        harness.deafen();
        let subject = harness.subject().await;
        subject
            .grants(&harness.bench().term_of(&harness.name(""), BY_HAND))
            .await;
        harness.lease = BY_HAND / 6;
        let waiter = waiting(&lock!(harness, "", poll_every = HOUR));
        harness.sent(Op::Acquire, 1).await;
        // By the store's clock less remains, by the time that the calls took.
        hand.advance(BY_HAND - SECOND).await;
        assert!(!waiter.is_finished(), "took a live lease");
        hand.advance(SECOND + 50 * MILLISECOND).await;
        assert!(ok(joined(waiter).await).is_valid());
        let sent = harness.acquires();
        assert_eq!(sent.len(), 2, "one try at the end of the observation");
    })
    .await;
}

pub(crate) async fn waiter_does_not_spin_while_nothing_remains(bench: Bench) {
    rounds(bench, |round| async move {
        let harness = round.harness().await;
        harness.deafen();
        harness.interceptor.nothing_remains();
        let (_subject, _other) = harness.taken_by_another("").await;
        let waiter = waiting(&lock!(harness, ""));
        harness.sent(Op::Acquire, 1).await;
        let began = Instant::now();
        sleep(Duration::from_millis(300)).await;
        let calls = harness.store.calls();
        let (tries, within) = (harness.acquires().len(), began.elapsed());
        waiter.abort();
        assert!(tries >= 3, "{tries} tries within {within:?}");
        let began: Vec<Instant> = calls
            .iter()
            .filter(|call| call.acquire().is_some())
            .map(|call| call.began)
            .collect();
        for pair in began.windows(2) {
            let apart = pair[1] - pair[0];
            assert!(apart >= 10 * MILLISECOND, "two tries {apart:?} apart");
        }
    })
    .await;
}

/// The end of a waiter that was woken: it may leave a slot to others by chance (N6), and no poll is that short.
async fn at_once<T>(hand: &Hand, waiter: JoinHandle<T>) -> T {
    settle().await;
    hand.advance(MILLISECOND).await;
    joined(waiter).await
}

pub(crate) async fn hint_wakes_a_waiter_at_once(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let (subject, other) = harness.taken_by_another("").await;
        let waiter = waiting(&lock!(harness, "", poll_every = HOUR));
        harness.sent(Op::Watch, 1).await;
        settle().await;
        harness.sent(Op::Acquire, 1).await;
        settle().await;
        assert!(!waiter.is_finished());
        subject.releases(&other, None).await;
        assert!(ok(at_once(&hand, waiter).await).is_valid());
    })
    .await;
}

pub(crate) async fn lost_hint_costs_one_interval(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness.store.mute_wakeups(true);
        let (subject, other) = harness.taken_by_another("").await;
        let waiter = waiting(&lock!(harness, "", poll_every = 5 * SECOND));
        harness.sent(Op::Watch, 1).await;
        settle().await;
        harness.sent(Op::Acquire, 1).await;
        settle().await;
        subject.releases(&other, None).await;
        settle().await;
        assert!(!waiter.is_finished());
        hand.advance(6 * SECOND).await;
        assert!(ok(joined(waiter).await).is_valid());
    })
    .await;
}

pub(crate) async fn broken_channel_wakes_everyone(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness.store.mute_wakeups(true);
        let (subject, other) = harness.taken_by_another("").await;
        let waiter = waiting(&lock!(harness, "", poll_every = HOUR));
        harness.sent(Op::Watch, 1).await;
        settle().await;
        harness.sent(Op::Acquire, 1).await;
        settle().await;
        // The hint was lost, and then the channel.
        subject.releases(&other, None).await;
        settle().await;
        assert!(!waiter.is_finished());
        harness.store.break_watches();
        drop(ok(at_once(&hand, waiter).await));

        // It is opened again, and works again.
        harness.store.mute_wakeups(false);
        let (subject, other) = harness.taken_by_another("again").await;
        let waiter = waiting(&lock!(harness, "again", poll_every = HOUR));
        hand.advance(SECOND).await;
        harness.sent(Op::Watch, 2).await;
        settle().await;
        settle().await;
        subject.releases(&other, None).await;
        assert!(ok(at_once(&hand, waiter).await).is_valid());
    })
    .await;
}

pub(crate) async fn opened_channel_wakes_everyone(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness.store.next(Op::Watch, Fault::UNKNOWN_BEFORE);
        let (subject, other) = harness.taken_by_another("").await;
        let waiter = waiting(&lock!(harness, "", poll_every = HOUR));
        harness.sent(Op::Watch, 1).await;
        settle().await;
        harness.sent(Op::Acquire, 1).await;
        settle().await;
        subject.releases(&other, None).await;
        settle().await;
        assert!(!waiter.is_finished(), "no client could hear that");
        // A release before the channel was open is not hinted.
        hand.advance(SECOND).await;
        harness.sent(Op::Watch, 2).await;
        settle().await;
        assert!(ok(at_once(&hand, waiter).await).is_valid());
    })
    .await;
}
