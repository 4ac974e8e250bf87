//! The loop of a waiter and its sleep; also, for the tests of the parts: contenders, and leases on offer to them.

use std::num::NonZeroU8;

use tokio::runtime::Handle;

use super::*;
use crate::{
    Clock, DLock,
    lease::Term,
    provider::{Tokens, Version},
    tests::{
        poll_once,
        scripted::{LEASE, Scripted, record, silence, token, uuid},
    },
    turns::span,
    waiting::rendezvous::rendezvous,
};

pub(super) fn contender(lock: &DLock, wait: Wait) -> Contender {
    let started = lock.0.store.clock.contender_now();
    let queue = Queue::new(Handle::current().id());
    Contender::new(&lock.0, wait, None, started, Arc::default(), queue)
}

/// A contender that comes with a ticket.
pub(super) fn redeemer(lock: &DLock, wait: Wait) -> Contender {
    let version = Version {
        uuid: uuid(100),
        renewals: 0,
    };
    Contender {
        ticket: Some(version),
        ..contender(lock, wait)
    }
}

/// A waiter in line.
pub(super) async fn in_line(lock: &DLock) -> QueueEntry {
    let entry = QueueEntry::default();
    entry.enqueue(&lock.0).await;
    entry
}

/// A lease of this lock has ended, whose term may continue: it is on offer to the first waiter in line.
pub(super) fn offers(lock: &DLock, number: u128) {
    let tokens = Tokens::new(token(16), NonZeroU8::new(16).unwrap()).unwrap();
    let sent = lock.0.store.clock.now();
    let term = Term::new(&lock.0, uuid(number), tokens, sent, true);
    drop(Holding::new(term));
    assert!(lock.0.state.is_offered(Handle::current().id()));
}

pub(super) fn holder(number: u64, owner: &str) -> Holder {
    Holder {
        record: record(number, owner),
        ours: false,
        observed: Duration::ZERO,
        kept: false,
    }
}

/// A waiter follows the rings that came before its turn, and the ring of the release of a term that did not continue,
/// and others that have waited longer go first.
#[tokio::test]
async fn waiter_that_was_woken_before_or_by_a_release_lets_others_first() {
    for (woken, answered) in [(false, false), (false, true), (true, false), (true, true)] {
        let (clock, hand) = Clock::manual();
        let lock = Scripted::with_marks().lock(clock);
        let Settings { state, plan, .. } = &*lock.0;
        state.turns().of(Handle::current().id()).saw(1);
        let _in_line = in_line(&lock).await;
        offers(&lock.owned_by("they").unwrap(), 1);
        let mut waiter = contender(&lock, Wait::Limit(None));
        waiter.seen = woken.then(|| holder(2, "another"));
        let (sender, _receiver) = rendezvous();
        let queue = Arc::clone(&waiter.queue);
        let mut contends = pin!(waiter.contend(&sender));
        assert!(poll_once(contends.as_mut()).is_none());
        if woken {
            // The slots of the other, and one more by chance.
            hand.advance(span(2));
            assert!(poll_once(contends.as_mut()).is_none(), "it is released");
        }
        if answered {
            state.release_ended(uuid(1));
            queue.freed.notify_waiters();
        } else {
            hand.advance(plan.poll_every);
        }
        assert!(poll_once(contends.as_mut()).is_none(), "{woken} {answered}");
    }
}

/// A hint may be that of the failed try itself, but a term of its own client takes no call.
#[tokio::test]
async fn waiter_that_rests_after_a_failure_follows_an_offer_at_once_and_no_hint() {
    let lock = Scripted::new().lock(Clock::manual().0);
    let in_line = lock.0.state.register();
    let mut waiter = contender(&lock, Wait::Limit(None));
    waiter.queue = Arc::clone(in_line.queue());
    let freed = &Arc::clone(&waiter.queue).freed;
    let (sender, _receiver) = rendezvous();
    let rung = pin!(freed.notified());
    let mut rests = pin!(waiter.rest_after_failure(&sender, rung, LEASE));
    assert!(poll_once(rests.as_mut()).is_none());
    freed.notify_waiters();
    assert!(poll_once(rests.as_mut()).is_none(), "a hint");
    offers(&lock, 1);
    let rested = poll_once(rests.as_mut());
    assert!(matches!(rested, Some(ControlFlow::Continue(true))));
}

/// A waiter that an outage kept from calling has not followed its wake-up, so others still go first.
#[tokio::test]
async fn wake_up_in_an_outage_is_followed_after_it() {
    let (clock, hand) = Clock::manual();
    let lock = Scripted::with_marks().lock(clock);
    let Settings {
        store, state, plan, ..
    } = &*lock.0;
    state.turns().of(Handle::current().id()).saw(1);
    let _in_line = in_line(&lock).await;
    for _ in 0..4 {
        store.outage.heard(&Err::<(), _>(silence()));
    }
    let admit = || Box::pin(store.outage.admit(plan, Duration::MAX));
    assert!(poll_once(admit().as_mut()).is_some(), "the first");
    let mut others: Vec<_> = (0..30).map(|_| admit()).collect();
    for other in &mut others {
        assert!(poll_once(other.as_mut()).is_none(), "waits for its turn");
    }
    let mut waiter = contender(&lock, Wait::Limit(None));
    waiter.seen = Some(holder(2, "another"));
    let (sender, _receiver) = rendezvous();
    let mut contends = pin!(waiter.contend(&sender));
    assert!(poll_once(contends.as_mut()).is_none(), "another goes first");
    hand.advance(span(2));
    // Each of the others has its turn, until the waiter has no patience left.
    let mut waited = Duration::ZERO;
    for other in &mut others {
        assert!(poll_once(contends.as_mut()).is_none(), "others go first");
        if waited > plan.try_limit() {
            break;
        }
        let step = Duration::from_millis(900);
        hand.advance(step);
        waited += step;
        assert!(poll_once(other.as_mut()).is_some(), "its turn");
    }
    assert!(waited > plan.try_limit());
    store.outage.answered();
    hand.advance(2 * plan.pause());
    assert!(poll_once(contends.as_mut()).is_none(), "another goes first");
    hand.advance(span(2));
    assert!(poll_once(contends.as_mut()).is_some(), "the lock is free");
}
