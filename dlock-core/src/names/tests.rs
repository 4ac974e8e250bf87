//! How long things are remembered, to the nanosecond, and which names are forgotten.

use std::time::{Duration, SystemTime};

use super::*;
use crate::{Record, testing::ManualClock};

const LEASE: Duration = Duration::from_secs(60);
const INSTANT: Duration = Duration::from_nanos(1);

fn name(number: usize) -> Name {
    Name::new(format!("door {number}")).unwrap()
}

fn uuid(number: usize) -> Uuid {
    Uuid::from_u128(number as u128)
}

fn token(value: u64) -> FencingToken {
    FencingToken::new(value).unwrap()
}

fn record(number: usize) -> Record {
    Record::new(
        uuid(number),
        "somebody",
        SystemTime::UNIX_EPOCH,
        token(7),
        LEASE,
    )
}

fn one() -> (Clock, ManualClock, Arc<NameState>) {
    let (clock, hand) = Clock::manual();
    let state = Names::default().get(&name(0), &clock);
    (clock, hand, state)
}

/// The number of names.
fn count(names: &Names) -> usize {
    names.map().names.len()
}

#[test]
fn names_nobody_uses_are_forgotten_when_there_are_many() {
    let (clock, _hand) = Clock::manual();
    let names = Names::default();
    for number in 0..SWEEP_AT {
        names.get(&name(number), &clock);
        assert_eq!(count(&names), number + 1, "forgotten too early");
    }
    names.get(&name(SWEEP_AT), &clock);
    assert_eq!(count(&names), 1);
}

#[test]
fn names_in_use_are_kept_and_make_the_next_sweep_later() {
    let (clock, _hand) = Clock::manual();
    let names = Names::default();
    let used = SWEEP_AT - 100;
    let held: Vec<_> = (0..used).map(|n| names.get(&name(n), &clock)).collect();
    for number in used..=SWEEP_AT {
        names.get(&name(number), &clock);
    }
    assert_eq!(count(&names), used + 1, "the unused are forgotten");
    for (number, state) in held.iter().enumerate() {
        let found = names.get(&name(number), &clock);
        assert!(Arc::ptr_eq(state, &found), "the queue of a name was split");
    }
    // Again at twice the number that remained.
    for number in SWEEP_AT + 1.. {
        names.get(&name(number), &clock);
        if count(&names) == used + 1 {
            assert_eq!(number, SWEEP_AT + used);
            break;
        }
        assert!(number < SWEEP_AT + used, "swept too late");
    }
}

#[test]
fn names_that_something_is_known_of_are_kept_for_as_long_as_it_matters() {
    let (clock, hand) = Clock::manual();
    let names = Names::default();
    let [live, retired, seen, raised] = [0, 1, 2, 3].map(|n| names.get(&name(n), &clock));
    live.granted(uuid(1), token(7));
    retired.retire(&clock, uuid(2), LEASE);
    seen.saw(&clock, &record(3));
    raised.granted_to_nobody(token(9));
    let kept = |state: &NameState| !state.forgettable(&clock);
    let all = || [&live, &retired, &seen, &raised].map(|state| kept(state));
    assert_eq!(all(), [true, true, true, false]);
    hand.advance(2 * LEASE - INSTANT);
    assert_eq!(all(), [true, true, true, false]);
    hand.advance(INSTANT);
    assert_eq!(all(), [true, false, true, false], "G4: 2 D");
    hand.advance(8 * LEASE);
    assert_eq!(all(), [true, false, true, false]);
    hand.advance(INSTANT);
    assert_eq!(all(), [true, false, false, false], "O2: 10 D");
    // A lease is live until it has ended.
    live.retire(&clock, uuid(1), LEASE);
    hand.advance(2 * LEASE);
    assert_eq!(all(), [false; 4]);
    // A retired identity says nothing about a live lease.
    live.granted(uuid(4), token(8));
    assert!(kept(&live));
    // One identity that is still remembered is enough.
    retired.retire(&clock, uuid(5), LEASE);
    assert!(kept(&retired));
}

#[test]
fn identity_that_is_over_is_known_for_two_leases() {
    let (clock, hand, state) = one();
    state.retire(&clock, uuid(1), LEASE);
    hand.advance(2 * LEASE - INSTANT);
    assert!(state.is_retired(&clock, uuid(1)));
    assert!(!state.is_retired(&clock, uuid(2)));
    hand.advance(INSTANT);
    assert!(!state.is_retired(&clock, uuid(1)));
}

#[test]
fn observation_is_forgotten_after_ten_leases_without_a_look() {
    let (clock, hand, state) = one();
    state.saw(&clock, &record(1));
    hand.advance(5 * LEASE);
    state.saw(&clock, &record(1));
    hand.advance(10 * LEASE);
    state.forget_old_observation(&clock);
    assert_eq!(state.claim(&clock), Some(record(1).version()));
    hand.advance(INSTANT);
    state.forget_old_observation(&clock);
    assert_eq!(state.claim(&clock), None);
    assert_eq!(state.observation_left(&clock), None);
}

#[test]
fn version_is_claimed_when_it_was_seen_for_its_whole_lease() {
    let (clock, hand, state) = one();
    state.saw(&clock, &record(1));
    hand.advance(LEASE - INSTANT);
    assert_eq!(state.claim(&clock), None);
    assert_eq!(state.observation_left(&clock), Some(INSTANT));
    hand.advance(INSTANT);
    assert_eq!(state.claim(&clock), Some(record(1).version()));
    assert_eq!(state.observation_left(&clock), Some(Duration::ZERO));
    // Any other version starts anew.
    state.saw(&clock, &record(2));
    assert_eq!(state.claim(&clock), None);
}

/// O2: the grant has replaced the version in the store, even if the client has no use for its lease.
#[test]
fn grant_that_came_too_late_replaces_what_was_observed() {
    let (clock, hand, state) = one();
    state.saw(&clock, &record(1));
    hand.advance(LEASE);
    assert_eq!(state.claim(&clock), Some(record(1).version()));
    state.granted_to_nobody(token(8));
    assert_eq!(state.claim(&clock), None);
    assert_eq!(state.floor(), 9);
}

#[test]
fn floor_is_above_everything_seen() {
    let (clock, _hand, state) = one();
    assert_eq!(state.floor(), 0, "T6: none");
    state.saw(&clock, &record(1));
    assert_eq!(state.floor(), 8);
    state.granted_to_nobody(token(5));
    assert_eq!(state.floor(), 8);
    state.granted_to_nobody(token(9));
    assert_eq!(state.floor(), 10);
    state.granted(uuid(1), token(12));
    assert_eq!(state.floor(), 13);
}

/// T6: the resource will see the rest of that token's block.
#[test]
fn floor_is_above_every_block_that_a_reported_token_may_be_of() {
    let (_clock, _hand, state) = one();
    state.told(token(9));
    assert_eq!(state.floor(), 137);
    state.told(token(8));
    assert_eq!(state.floor(), 137);
    state.granted_to_nobody(token(137));
    assert_eq!(state.floor(), 138);
}

#[test]
fn settled_identity_is_known_and_keeps_no_name() {
    let (clock, _hand) = Clock::manual();
    let names = Names::default();
    for number in 0..SWEEP_AT {
        let state = names.get(&name(number), &clock);
        state.granted(uuid(number), token(7));
        state.retire(&clock, uuid(number), LEASE);
        if number != 1 {
            state.all_answered(uuid(number));
        }
        assert!(state.is_retired(&clock, uuid(number)), "G4");
    }
    names.get(&name(SWEEP_AT), &clock);
    assert_eq!(count(&names), 2, "the new one, and one that is in doubt");
    assert!(names.get(&name(1), &clock).is_retired(&clock, uuid(1)));
}

/// The content of a record comes from another client, and may be damaged.
#[test]
fn absurd_duration_of_a_stranger_is_just_long() {
    let (clock, hand, state) = one();
    let mut absurd = record(1);
    absurd.duration = Duration::MAX;
    absurd.remaining = Some(Duration::MAX);
    state.saw(&clock, &absurd);
    hand.advance(24 * 60 * LEASE);
    state.saw(&clock, &absurd);
    state.forget_old_observation(&clock);
    assert!(!state.forgettable(&clock));
    assert!(!state.has_run_out(&clock));
    assert_eq!(state.claim(&clock), None);
}

#[test]
fn lease_of_another_runs_out_by_the_clock_that_comes_first() {
    let (clock, hand, state) = one();
    assert!(!state.has_run_out(&clock));
    state.saw(&clock, &record(1));
    let mut shown = record(1);
    shown.remaining = Some(LEASE / 4);
    state.saw(&clock, &shown);
    hand.advance(LEASE / 4 - INSTANT);
    assert!(!state.has_run_out(&clock));
    hand.advance(INSTANT);
    assert!(state.has_run_out(&clock));
}

#[test]
fn lease_of_our_own_is_none_of_another_that_has_run_out() {
    let (clock, hand, state) = one();
    state.granted(uuid(1), token(8));
    state.saw(&clock, &record(1));
    hand.advance(LEASE);
    assert!(!state.has_run_out(&clock));
}

#[test]
fn terms_of_ours_are_those_that_live_the_newest_and_the_retired() {
    let (clock, _hand, state) = one();
    state.granted(uuid(1), token(8));
    state.granted(uuid(2), token(9));
    state.retire(&clock, uuid(3), LEASE);
    // Handed over by a ticket: no caller holds it, and it is the newest.
    state.given_away(uuid(2));
    let ours = [1, 2, 3, 4].map(|number| state.known().is_ours(uuid(number)));
    assert_eq!(ours, [true, true, true, false]);
}

#[test]
fn term_is_followed_through_all_tries_that_claimed_it() {
    let (clock, _hand, state) = one();
    let claims = |claimed: usize, successor: usize| {
        state.retire(&clock, uuid(claimed), LEASE);
        state.claims(record(claimed).version(), uuid(successor));
    };
    let went = |from: usize, to: usize| state.went_to_our_own(uuid(from), uuid(to));
    claims(1, 2);
    assert!(went(1, 2));
    assert!(!went(1, 3));
    assert!(!went(4, 2), "nobody claimed it");
    claims(2, 3);
    assert!(went(1, 3), "by way of the second");
    assert!(!went(2, 1));
}

#[test]
fn newest_eight_identities_are_kept_and_leases_whose_release_is_under_way() {
    let (clock, _hand, state) = one();
    let known = |number| state.is_retired(&clock, uuid(number));
    state.granted(uuid(1), token(8));
    for number in 1..=10 {
        state.retire(&clock, uuid(number), LEASE);
    }
    assert!(known(1), "its release is under way");
    assert!(!known(2) && known(3), "eight are kept beside it");
    state.release_ended(uuid(1));
    state.retire(&clock, uuid(11), LEASE);
    assert!(!known(1), "its release has ended");
    assert!(!known(3) && known(4) && known(11));
}
