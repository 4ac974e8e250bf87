//! Turns on a clock that moves by hand.

use std::{future::Future, pin::Pin, sync::Arc, task::Poll};

use super::*;
use crate::{
    Clock,
    lease::{Term, term::tests::term},
    time::ManualClock,
};

/// After this the next turn has come.
const TURN: Duration = Duration::from_millis(120);
const LONG: Duration = Duration::from_secs(3600);
const INSTANT: Duration = Duration::from_nanos(1);

type Turn<'a> = Pin<Box<dyn Future<Output = Result<(), ProviderError>> + Send + 'a>>;

/// A term whose store has left this many calls in a row unanswered, and its clock.
fn term_after(unanswered: u32) -> (Arc<Term>, ManualClock) {
    let (clock, hand) = Clock::manual();
    let term = term(clock);
    for _ in 0..unanswered {
        silence(&term.store.outage);
    }
    (term, hand)
}

fn silence(outage: &Outage) {
    outage.heard(&Err::<(), _>(ProviderError::unknown("nobody is there")));
}

fn turn(term: &Term, patience: Duration) -> Turn<'_> {
    Box::pin(term.store.outage.admit(&term.plan, patience))
}

/// Polls it until nothing more happens without time passing.
async fn has_come(turn: &mut Turn<'_>) -> bool {
    for _ in 0..4 {
        tokio::task::yield_now().await;
        if let Poll::Ready(turn) = poll(turn) {
            assert!(turn.is_ok());
            return true;
        }
    }
    false
}

fn poll(turn: &mut Turn<'_>) -> Poll<Result<(), ProviderError>> {
    turn.as_mut()
        .poll(&mut std::task::Context::from_waker(std::task::Waker::noop()))
}

#[tokio::test]
async fn few_failures_are_no_outage_and_an_answer_forgets_them() {
    let (term, _hand) = term_after(HICCUPS);
    for _ in 0..10 {
        assert!(has_come(&mut turn(&term, LONG)).await);
    }
    term.store.outage.answered();
    silence(&term.store.outage);
    for _ in 0..10 {
        assert!(has_come(&mut turn(&term, LONG)).await);
    }
}

#[tokio::test]
async fn turns_come_one_by_one_in_their_order() {
    let (term, hand) = term_after(HICCUPS + 1);
    assert!(has_come(&mut turn(&term, LONG)).await);
    let (mut first, mut second) = (turn(&term, LONG), turn(&term, LONG));
    assert!(!has_come(&mut first).await && !has_come(&mut second).await);
    hand.advance(TURN);
    assert!(has_come(&mut first).await);
    assert!(!has_come(&mut second).await);
    hand.advance(TURN);
    assert!(has_come(&mut second).await);
}

/// Processes that saw the outage begin in one instant drift apart.
#[tokio::test]
async fn turns_come_a_tenth_of_a_second_apart_and_a_fifth_of_that_more_or_less() {
    let (term, hand) = term_after(HICCUPS + 1);
    let mut gaps = Vec::new();
    for _ in 0..200 {
        assert!(has_come(&mut turn(&term, LONG)).await);
        gaps.extend(term.store.outage.last().admitted.map(|(_, gap)| gap));
        hand.advance(TURN);
    }
    let (shortest, longest) = (gaps.iter().min().unwrap(), gaps.iter().max().unwrap());
    let [least, less, more, most] = [80, 90, 110, 120].map(Duration::from_millis);
    assert!((least..less).contains(shortest), "{shortest:?}");
    assert!(*longest > more && *longest <= most, "{longest:?}");
}

#[tokio::test]
async fn who_is_dropped_in_line_takes_no_turn() {
    let (term, hand) = term_after(HICCUPS + 1);
    assert!(has_come(&mut turn(&term, LONG)).await);
    let (mut first, mut second) = (turn(&term, LONG), turn(&term, LONG));
    assert!(!has_come(&mut first).await && !has_come(&mut second).await);
    hand.advance(TURN);
    drop(first);
    assert!(has_come(&mut second).await);
}

#[tokio::test]
async fn an_answer_lets_everybody_go() {
    let (term, hand) = term_after(HICCUPS + 1);
    assert!(has_come(&mut turn(&term, LONG)).await);
    let mut waiting: Vec<_> = (0..20).map(|_| turn(&term, LONG)).collect();
    for turn in &mut waiting {
        assert!(!has_come(turn).await);
    }
    term.store.outage.answered();
    waiting.retain_mut(|turn| poll(turn).is_pending());
    hand.advance(term.plan.pause());
    waiting.retain_mut(|turn| poll(turn).is_pending());
    assert!(waiting.is_empty());
}

#[tokio::test]
async fn who_is_out_of_patience_learns_what_the_store_failed_with() {
    let (term, hand) = term_after(HICCUPS + 1);
    assert!(has_come(&mut turn(&term, LONG)).await);
    let mut waiting = turn(&term, TURN / 4);
    assert!(!has_come(&mut waiting).await);
    hand.advance(TURN / 4);
    let Poll::Ready(Err(error)) = poll(&mut waiting) else {
        panic!("it had no turn")
    };
    assert_eq!(error.to_string(), "nobody is there");
}

/// A runtime that no thread drives has the first place, and never comes.
#[tokio::test]
async fn first_that_does_not_come_keeps_the_turn_from_nobody() {
    let (term, hand) = term_after(HICCUPS + 1);
    assert!(has_come(&mut turn(&term, LONG)).await);
    let mut away = turn(&term, LONG);
    let (mut first, mut second) = (turn(&term, LONG), turn(&term, LONG));
    for turn in [&mut away, &mut first, &mut second] {
        assert!(!has_come(turn).await);
    }
    hand.advance(AWAY - INSTANT);
    assert!(!has_come(&mut first).await && !has_come(&mut second).await);
    hand.advance(INSTANT);
    assert!(has_come(&mut first).await);
    // Still one at a time.
    assert!(!has_come(&mut second).await);
    hand.advance(AWAY);
    assert!(has_come(&mut second).await);
    assert!(has_come(&mut away).await);
}

/// The last turn was long ago, in another outage: that alone does not show that the first does not come.
#[tokio::test]
async fn first_has_the_time_of_a_call_however_long_ago_the_last_turn_was() {
    let (term, hand) = term_after(HICCUPS + 1);
    assert!(has_come(&mut turn(&term, LONG)).await);
    hand.advance(LONG);
    let _first = term.store.outage.queue.lock().await;
    let mut second = turn(&term, LONG);
    assert!(!has_come(&mut second).await);
    let call = GAP * 3 / 2;
    hand.advance(call - INSTANT);
    assert!(!has_come(&mut second).await);
    hand.advance(INSTANT);
    assert!(has_come(&mut second).await);
}

/// The same if no caller has the patience to wait for that.
#[tokio::test]
async fn first_that_does_not_come_keeps_the_turn_from_nobody_in_a_hurry() {
    const SHORT: Duration = Duration::from_millis(600);
    let (term, hand) = term_after(HICCUPS + 1);
    assert!(has_come(&mut turn(&term, LONG)).await);
    let mut away = turn(&term, LONG);
    assert!(!has_come(&mut away).await);
    let mut turns = 0;
    for _ in 0..10 {
        let mut hurried = turn(&term, SHORT);
        for _ in 0..=6 {
            tokio::task::yield_now().await;
            if let Poll::Ready(ended) = poll(&mut hurried) {
                turns += usize::from(ended.is_ok());
                break;
            }
            hand.advance(SHORT / 6);
        }
    }
    assert!(turns > 1, "{turns} turns in six seconds");
}
