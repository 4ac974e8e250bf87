use std::{sync::atomic::Ordering, time::Duration};

use tokio::runtime::Handle;

use super::*;
use crate::{
    Clock, DLock, Record,
    tests::{
        poll_once,
        scripted::{INSTANT, LEASE, Scripted, record, token, uuid},
    },
    turns::{HAND_OFF, Wanted},
    waiting::{
        Wait,
        rendezvous::rendezvous,
        tests::{contender, holder, in_line, offers, redeemer},
    },
};

/// A lock that this client has just released and that another one wants.
fn given_back(lock: &DLock) {
    let Settings {
        store, state, plan, ..
    } = &*lock.0;
    let now = store.clock.contender_now();
    let wanted = Wanted::of(plan, true, true);
    state
        .turns()
        .of(Handle::current().id())
        .released(wanted, now);
}

fn leaves(mut contender: Contender, woken: bool) -> bool {
    let (sender, _receiver) = rendezvous();
    poll_once(pin!(contender.await_turn(&sender, woken))).is_none()
}

#[tokio::test]
async fn newcomer_leaves_a_wanted_lock_to_others_but_no_ticket_nor_a_term_that_goes_on() {
    let lock = Scripted::with_marks().lock(Clock::manual().0);
    assert!(!leaves(contender(&lock, Wait::Limit(None)), true), "alone");
    given_back(&lock);
    assert!(leaves(contender(&lock, Wait::Limit(None)), false));
    assert!(!leaves(redeemer(&lock, Wait::Limit(None)), true));
    let _in_line = in_line(&lock).await;
    offers(&lock, 1);
    assert!(!leaves(contender(&lock, Wait::Limit(None)), true));
}

#[tokio::test]
async fn it_is_the_turn_of_others_behind_waiters_and_after_a_wanted_release() {
    let (clock, hand) = Clock::manual();
    let lock = Scripted::with_marks().lock(clock);
    assert!(!lock.is_others_turn(), "alone");
    given_back(&lock);
    assert!(lock.is_others_turn());
    hand.advance(HAND_OFF);
    assert!(!lock.is_others_turn());

    let state = &lock.0.state;
    state.granted(uuid(1), token(1));
    state.retire(&lock.0.store.clock, uuid(1), LEASE);
    assert!(lock.is_others_turn(), "its release is in flight");
    state.release_ended(uuid(1));
    assert!(!lock.is_others_turn());

    let waiter = in_line(&lock).await;
    assert!(lock.is_others_turn());
    drop(waiter);
    assert!(!lock.is_others_turn());
}

#[tokio::test]
async fn limit_keeps_half_of_its_time_for_the_try() {
    let (clock, hand) = Clock::manual();
    let lock = Scripted::with_marks().lock(clock);
    given_back(&lock);
    let mut waiter = contender(&lock, Wait::Limit(Some(HAND_OFF)));
    let (sender, _receiver) = rendezvous();
    let mut waits = pin!(waiter.await_turn(&sender, false));
    assert!(poll_once(waits.as_mut()).is_none());
    hand.advance(HAND_OFF / 2 - INSTANT);
    assert!(poll_once(waits.as_mut()).is_none());
    hand.advance(INSTANT);
    assert!(poll_once(waits.as_mut()).is_some());
}

/// The rest of its time is for a call.
#[tokio::test]
async fn woken_waiter_expects_the_answer_to_a_release_for_half_of_its_time_at_most() {
    let (clock, hand) = Clock::manual();
    let lock = Scripted::with_marks().lock(clock);
    let Settings { store, state, .. } = &*lock.0;
    let limit = Duration::from_millis(100);
    for (answered, after) in [(true, limit / 8), (false, limit / 2)] {
        let term = uuid(1 + u128::from(answered));
        state.granted(term, token(1));
        state.retire(&store.clock, term, LEASE);
        let mut waiter = contender(&lock, Wait::Limit(Some(limit)));
        let queue = Arc::clone(&waiter.queue);
        let (sender, _receiver) = rendezvous();
        let mut waits = pin!(waiter.await_turn(&sender, true));
        assert!(poll_once(waits.as_mut()).is_none());
        hand.advance(after - INSTANT);
        assert!(poll_once(waits.as_mut()).is_none());
        if answered {
            state.release_ended(term);
            queue.freed.notify_waiters();
        } else {
            hand.advance(INSTANT);
        }
        assert!(poll_once(waits.as_mut()).is_some());
        state.release_ended(term);
    }
}

fn held(number: u64, wanted: u32) -> Record {
    let mut record = record(number, "another");
    record.wanted = wanted;
    record
}

/// The least time that the waiter sleeps after this refusal, without jitter.
fn sleeps(waiter: &mut Contender, record: Record) -> Duration {
    let holder = waiter.holder(record);
    let polls = (0..50).map(|_| waiter.until_next_try(&holder));
    polls.min().unwrap()
}

#[tokio::test]
async fn waiter_counts_on_hints_only_beside_a_mark_and_asks_more_often_while_terms_change() {
    let (clock, hand) = Clock::manual();
    let lock = Scripted::with_marks().lock(clock);
    let Settings { store, plan, .. } = &*lock.0;
    let (poll, long) = (plan.poll_every, plan.poll_watched);
    let near = |slept: Duration, poll: Duration| slept >= poll && slept <= poll * 11 / 10;
    let mut waiter = contender(&lock, Wait::Limit(None));
    let own = waiter.own_mark();
    // Without hints: once per poll, more often the longer it waits, but not while one term lasts.
    assert!(near(sleeps(&mut waiter, held(1, 7)), poll));
    hand.advance(2 * poll);
    assert!(near(sleeps(&mut waiter, held(2, 7)), poll / 2));
    hand.advance(40 * poll);
    assert!(near(sleeps(&mut waiter, held(2, 7)), poll), "one term");
    assert!(near(sleeps(&mut waiter, held(3, 7)), poll / 8));
    // With hints: long in a marked term, as without hints in an unmarked one, and sooner once its own mark was left
    // out.
    store.channel_open.store(true, Ordering::SeqCst);
    let mut waiter = contender(&lock, Wait::Limit(None));
    assert!(near(sleeps(&mut waiter, held(4, 7)), long));
    assert!(near(sleeps(&mut waiter, held(5, 0)), poll / 4));
    lock.0.state.granted(uuid(9), token(9));
    assert!(near(sleeps(&mut waiter, held(9, 0)), long), "of its client");
    let mut hasty = contender(&lock, Wait::No);
    assert!(
        near(sleeps(&mut hasty, held(5, 0)), poll),
        "it marks nothing"
    );
    // The contender that has marked a term tries four times per poll.
    assert!(near(sleeps(&mut waiter, held(6, own)), poll / 4));
    assert!(near(sleeps(&mut waiter, held(7, 7)), poll / 4));
}

#[tokio::test]
async fn waiter_marks_only_with_time_left_for_another_try() {
    let lock = Scripted::with_marks().lock(Clock::manual().0);
    let marks = |wait| contender(&lock, wait).marks();
    let soon = lock.0.plan.poll_every / 4;
    assert_ne!(marks(Wait::Limit(None)), 0);
    assert_ne!(marks(Wait::Limit(Some(soon))), 0);
    assert_eq!(marks(Wait::Limit(Some(soon - INSTANT))), 0);
    assert_eq!(marks(Wait::No), 0);
    assert_eq!(redeemer(&lock, Wait::Limit(None)).marks(), 0);
    lock.0.store.channel_open.store(true, Ordering::SeqCst);
    assert_ne!(marks(Wait::Limit(Some(HAND_OFF))), 0);
}

/// Even if its client keeps a lease that was lost.
#[tokio::test]
async fn waiter_for_a_lease_of_its_own_client_marks_nothing() {
    let lock = Scripted::with_marks().lock(Clock::manual().0);
    let mut waiter = contender(&lock, Wait::Limit(None));
    lock.0.state.granted(uuid(1), token(1));
    assert_eq!(waiter.marks(), 0);
    waiter.seen = Some(holder(2, "another"));
    assert_ne!(waiter.marks(), 0);
}
