//! The state that a lease passes on to the one that follows it on its term, and when no lease may follow.

use std::{num::NonZeroU8, time::Duration};

use uuid::Uuid;

use super::*;
use crate::{
    Clock, ProviderError,
    lease::term::tests::lock,
    provider::Tokens,
    time::{ManualClock, Plan},
};

/// The longest time that a term of these locks continues.
const LONGEST: Duration = Duration::from_secs(1);

const INSTANT: Duration = Duration::from_nanos(1);

fn token(value: u64) -> FencingToken {
    FencingToken::new(value).unwrap()
}

/// The first lease of a term with the tokens 8, 9 and 10.
fn first() -> (Arc<Term>, ManualClock) {
    let (clock, hand) = Clock::manual();
    let (lock, sent) = lock(clock);
    let tokens = Tokens::new(token(10), NonZeroU8::new(3).unwrap()).unwrap();
    (
        Term::new(&lock, Uuid::from_u128(1), tokens, sent, true),
        hand,
    )
}

fn lock_of(term: &Term) -> Arc<Settings> {
    Arc::clone(&term.block.as_ref().unwrap().lock)
}

/// A lease that was released.
fn given_back() -> (Arc<Term>, ManualClock) {
    let (term, hand) = first();
    term.begin_release();
    (term, hand)
}

fn succeeds(term: &Term) -> Option<Arc<Term>> {
    term.succeed(&lock_of(term), 7)
}

#[tokio::test]
async fn leases_of_a_term_have_its_tokens_in_turn() {
    let (mut lease, _hand) = first();
    let mut tokens = vec![lease.token.get()];
    loop {
        assert!(succeeds(&lease).is_none(), "it has not ended");
        lease.begin_release();
        let Some(next) = succeeds(&lease) else { break };
        assert!(lease.belief().successor.is_some() && !lease.is_valid() && next.is_valid());
        assert_eq!((next.uuid, &next.name), (lease.uuid, &lease.name));
        assert!(succeeds(&lease).is_none(), "it has a successor");
        tokens.push(next.token.get());
        lease = next;
    }
    assert_eq!(tokens, [8, 9, 10]);
}

/// T6.
#[tokio::test]
async fn no_lease_has_a_token_that_was_seen_elsewhere() {
    for (highest, goes_on) in [(8, true), (9, false), (u64::MAX, false)] {
        let (term, _hand) = given_back();
        let next = term.succeed(&lock_of(&term), highest);
        assert_eq!(next.is_some(), goes_on, "{highest}");
    }
}

#[tokio::test]
async fn term_goes_on_for_a_while_after_its_grant() {
    let (term, hand) = given_back();
    hand.advance(LONGEST - INSTANT);
    assert!(term.may_go_on());
    hand.advance(INSTANT);
    assert!(!term.may_go_on() && succeeds(&term).is_none());

    let (term, hand) = given_back();
    hand.advance(LONGEST / 2);
    let next = succeeds(&term).unwrap();
    next.begin_release();
    hand.advance(LONGEST / 2);
    assert!(!next.may_go_on(), "its own beginning does not count");
}

#[tokio::test]
async fn term_that_is_over_has_no_more_leases() {
    let (lost, hand) = first();
    hand.advance(lost.plan.duration);
    lost.begin_release();
    assert!(!lost.may_go_on());

    let (refused, _hand) = given_back();
    refused.refused(None);
    assert!(!refused.may_go_on(), "while it was on offer");

    let (drawn, _hand) = first();
    drawn.hand_over().unwrap();
    assert!(!drawn.may_go_on() && succeeds(&drawn).is_none(), "a ticket");

    let (asked, _hand) = first();
    let attempt = asked.next_attempt().unwrap();
    asked.begin_release();
    asked.renewed(attempt, true);
    assert!(!asked.may_go_on());

    let (closed, _hand) = given_back();
    closed.store.close();
    assert!(succeeds(&closed).is_none());
}

/// Their numbers continue (R1), and a late answer to the earlier lease extends nothing.
#[tokio::test]
async fn renewals_go_on_where_they_were() {
    let (term, hand) = first();
    let (late, credited) = (term.next_attempt().unwrap(), {
        hand.advance(LONGEST / 4);
        term.next_attempt().unwrap()
    });
    assert!(term.renewed(credited, false));
    term.begin_release();
    hand.advance(LONGEST / 4);
    let next = succeeds(&term).unwrap();
    assert_eq!(next.deadline(), credited.sent + next.plan.validity());
    assert_eq!(next.renewal_due(), credited.sent + next.plan.renew_every);
    assert_eq!(next.version().renewals, 2);
    assert_eq!(next.next_attempt().unwrap().n, 3);
    let deadline = next.deadline();
    assert!(!term.renewed(late, false), "it is over");
    assert_eq!(next.deadline(), deadline);
}

#[tokio::test]
async fn refusal_of_an_earlier_lease_ends_the_present_one() {
    let (term, _hand) = given_back();
    let second = succeeds(&term).unwrap();
    second.begin_release();
    let third = succeeds(&second).unwrap();
    // No other holder has it any more.
    drop(second);
    term.refused(None);
    assert!(third.was_refused() && !third.is_valid());
}

#[tokio::test]
async fn present_lease_is_told_what_an_earlier_one_is_asked() {
    let (term, _hand) = first();
    let attempt = term.next_attempt().unwrap();
    term.begin_release();
    let next = succeeds(&term).unwrap();
    term.renewed(attempt, true);
    assert!(next.asked() && next.is_valid());
    next.begin_release();
    assert!(!next.may_go_on());
}

#[tokio::test]
async fn longest_hold_and_at_least_count_from_the_beginning_of_the_lease() {
    let (term, hand) = given_back();
    hand.advance(LONGEST / 2);
    let now = term.store.clock.now();
    let lock = with_plan(&term, |plan| {
        plan.max_hold = Some(LONGEST);
        plan.at_least = Some(LONGEST);
    });
    let next = term.succeed(&lock, 7).unwrap();
    assert_eq!(next.renewals_end(), Some(now + LONGEST));
    next.picked_up();
    next.begin_release();
    assert_eq!(next.closes_until(), Some(now + LONGEST));
}

#[tokio::test]
async fn lock_with_other_settings_goes_on_with_no_term() {
    let (term, _hand) = given_back();
    let second = Duration::from_secs(1);
    for other in [
        with_plan(&term, |plan| plan.duration += second),
        with_plan(&term, |plan| plan.margin += second),
        with_plan(&term, |plan| plan.renew_every += second),
        Arc::new(Settings {
            owner: "they".into(),
            ..Settings::clone(&lock_of(&term))
        }),
        Arc::new(Settings {
            data: Some([7].as_slice().into()),
            ..Settings::clone(&lock_of(&term))
        }),
    ] {
        assert!(!term.is_for(&other));
    }
    assert!(term.is_for(&with_plan(&term, |_| {})));
}

fn with_plan(term: &Term, change: impl FnOnce(&mut Plan)) -> Arc<Settings> {
    let mut plan = Plan::clone(&term.plan);
    change(&mut plan);
    Arc::new(Settings {
        plan: Arc::new(plan),
        ..Settings::clone(&lock_of(term))
    })
}

#[tokio::test]
async fn fatal_answer_to_an_earlier_lease_makes_the_next_one_unsure() {
    let (term, _hand) = given_back();
    let next = succeeds(&term).unwrap();
    assert!(!next.belief().fatal);
    term.unanswered(ProviderError::fatal("no permission"));
    assert!(next.belief().fatal);
}
