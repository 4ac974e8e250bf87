//! A client that leaves a lock to the reservation of another one, on a clock that moves by hand.

use super::*;
use crate::{
    Clock, DLock,
    testing::ManualClock,
    tests::{
        poll_once,
        scripted::{INSTANT, LEASE, Scripted, record, token, uuid},
    },
    waiting::{
        Wait,
        rendezvous::rendezvous,
        tests::{begin_outage, contender},
    },
};

/// For how long the lock is left to others.
const AWAY: Duration = Duration::from_secs(20);

/// A lock that is left to the waiter of another client, its store and its clock.
fn left_to_others() -> (DLock, Scripted, ManualClock) {
    let (clock, hand) = Clock::manual();
    let provider = Scripted::new();
    let lock = provider.lock(clock);
    let Settings { store, state, .. } = &*lock.0;
    let [reservation, _] = lock.name().reservations().unwrap();
    let waiter = record(50, "another");
    provider.show(&reservation, waiter.clone());
    state
        .fairness()
        .heed(waiter.version(), LEASE, AWAY, &store.clock);
    (lock, provider, hand)
}

/// F14.
#[tokio::test]
async fn half_of_what_is_left_of_a_limit_is_kept_for_the_try() {
    let (lock, _provider, hand) = left_to_others();
    let limit = Duration::from_secs(2);
    let mut contender = contender(&lock, Wait::Limit(Some(limit)));
    let (sender, _receiver) = rendezvous();
    let mut leaving = pin!(contender.leave_to_others(&sender));
    assert!(poll_once(leaving.as_mut()).is_none());
    hand.advance(limit / 2 - INSTANT);
    assert!(poll_once(leaving.as_mut()).is_none());
    hand.advance(INSTANT);
    let ended = poll_once(leaving.as_mut());
    assert!(matches!(ended, Some(ControlFlow::Continue(()))));
}

/// F12: it may be of the term that is waited for, and of very many.
#[tokio::test]
async fn hint_is_followed_by_a_look_unless_the_last_one_was_just_now() {
    let (lock, provider, hand) = left_to_others();
    let mut contender = contender(&lock, Wait::Limit(None));
    let queue = Arc::clone(&contender.queue);
    let (sender, _receiver) = rendezvous();
    let mut leaving = pin!(contender.leave_to_others(&sender));
    assert!(poll_once(leaving.as_mut()).is_none());
    let mut looks_after = |by| {
        hand.advance(by);
        queue.freed.notify_waiters();
        assert!(poll_once(leaving.as_mut()).is_none());
        provider.reads(lock.name())
    };
    assert_eq!(looks_after(INSTANT), 0);
    assert_eq!(looks_after(LEAST_PAUSE - 2 * INSTANT), 0);
    assert_eq!(looks_after(INSTANT), 1);
    assert_eq!(looks_after(INSTANT), 1);
    assert_eq!(looks_after(2 * LEAST_PAUSE), 2);
}

/// F12.
#[tokio::test]
async fn lock_is_left_until_another_client_has_had_it() {
    let (lock, provider, hand) = left_to_others();
    let state = Arc::clone(&lock.0.state);
    // The last one was our own.
    state.granted(uuid(1), token(1));
    state.retire(&lock.0.store.clock, uuid(1), LEASE);
    provider.show(lock.name(), record(1, "we"));
    let mut contender = contender(&lock, Wait::Limit(None));
    let (sender, _receiver) = rendezvous();
    let mut leaving = pin!(contender.leave_to_others(&sender));
    assert!(poll_once(leaving.as_mut()).is_none());
    hand.advance(lock.0.plan.poll_reserved());
    assert!(poll_once(leaving.as_mut()).is_none());
    assert_eq!(provider.reads(lock.name()), 1);

    provider.show(lock.name(), record(2, "another"));
    hand.advance(lock.0.plan.poll_reserved());
    let ended = poll_once(leaving.as_mut());
    assert!(matches!(ended, Some(ControlFlow::Continue(()))));
}

/// W5, W1.
#[tokio::test]
async fn nothing_is_read_in_an_outage_nor_for_a_caller_that_is_gone() {
    let provider = Scripted::new();
    let lock = provider.lock(Clock::manual().0);
    let mut contender = contender(&lock, Wait::Limit(None));
    let mut gone = self::contender(&lock, Wait::Limit(None));
    gone.gone.cancel();
    assert!(contender.read(lock.name()).await.is_ok());
    assert!(gone.read(lock.name()).await.is_err());
    begin_outage(&lock.0);
    assert!(contender.read(lock.name()).await.is_err());
    assert_eq!(provider.reads(lock.name()), 1);
}

/// F11.
#[tokio::test]
async fn lock_that_our_own_client_holds_is_not_left_to_others() {
    let provider = Scripted::new();
    let (clock, hand) = Clock::manual();
    let lock = provider.lock(clock);
    let Settings {
        store, state, plan, ..
    } = &*lock.0;
    let (first, second) = (uuid(1), uuid(2));
    state
        .fairness()
        .granted(store.clock.contender_now(), Duration::ZERO, &store.clock);
    state.granted(first, token(1));
    hand.advance(plan.pass_time());
    state.granted(second, token(2));
    // It has had the name to itself for long, and gives one of two terms back.
    state.retire(&store.clock, first, LEASE);
    let contender = contender(&lock, Wait::Limit(None));
    assert!(!contender.looks_for_reservation());
    state.retire(&store.clock, second, LEASE);
    assert!(contender.looks_for_reservation());
}
