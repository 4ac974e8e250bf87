use std::time::UNIX_EPOCH;

use uuid::Uuid;

use super::*;
use crate::time::ManualClock;

const POLL: Duration = Duration::from_millis(100);

/// A waiter that looks at the lock.
struct Waiter {
    seen: PassedOver,
    clock: Clock,
    hand: ManualClock,
}

impl Waiter {
    fn new() -> Self {
        let (clock, hand) = Clock::manual();
        Self {
            seen: PassedOver::default(),
            clock,
            hand,
        }
    }

    /// Whether it is passed over, as far as it knows after it has seen this term.
    fn sees(&mut self, owner: &str, token: u64) -> bool {
        self.seen.by(&record(owner, token), POLL, &self.clock)
    }

    fn sleeps(&self, by: Duration) {
        self.hand.advance(by);
    }
}

fn record(owner: &str, token: u64) -> Record {
    let token = FencingToken::new(token).unwrap();
    Record::new(Uuid::new_v4(), owner, UNIX_EPOCH, token, 10 * POLL)
}

#[test]
fn holder_that_comes_again_has_passed_it_over() {
    let mut waiter = Waiter::new();
    assert!(!waiter.sees("a", 1));
    waiter.sleeps(3 * POLL);
    assert!(!waiter.sees("b", 2));
    waiter.sleeps(3 * POLL);
    assert!(waiter.sees("a", 3));
}

#[test]
fn lock_that_goes_from_hand_to_hand_for_a_poll_passes_it_over() {
    let mut waiter = Waiter::new();
    for (token, owner) in (1..).zip(["a", "b", "c"]) {
        assert_eq!(waiter.sees(owner, token), owner == "c");
        waiter.sleeps(POLL / 2);
    }
}

#[test]
fn holders_that_take_turns_and_stay_pass_nobody_over() {
    let mut waiter = Waiter::new();
    for (token, owner) in (1..).zip(["a", "b", "c", "d"]) {
        assert!(!waiter.sees(owner, token));
        waiter.sleeps(3 * POLL);
        assert!(!waiter.sees(owner, token));
    }
}

/// A closing and a revocation change the uuid of a term.
#[test]
fn term_with_another_uuid_is_the_same_term() {
    let mut waiter = Waiter::new();
    for _ in 0..10 {
        assert!(!waiter.sees("a", 1));
        waiter.sleeps(POLL);
    }
}

#[test]
fn lock_that_is_kept_is_not_asked_for_in_a_hurry() {
    let mut waiter = Waiter::new();
    waiter.sees("a", 1);
    waiter.sleeps(2 * POLL);
    assert!(waiter.seen.is_brisk(POLL, &waiter.clock));
    waiter.sleeps(POLL);
    assert!(!waiter.seen.is_brisk(POLL, &waiter.clock));
}
