use super::*;
use crate::{
    Clock,
    tests::{
        poll_once,
        scripted::{LEASE, Scripted, token, uuid},
    },
    waiting::{
        rendezvous::rendezvous,
        tests::{contender, in_line, offers, redeemer},
    },
};

/// S1, W1.
#[tokio::test]
async fn offer_is_for_a_waiter_in_line_that_has_time_left() {
    let lock = Scripted::new().lock(Clock::manual().0);
    let state = &lock.0.state;
    let _in_line = in_line(&lock).await;
    offers(&lock, 1);
    let here = tokio::runtime::Handle::current().id();
    let limit = Some(Duration::from_secs(1));
    for (contender, which) in [
        (contender(&lock, Wait::No), "asks once"),
        (
            contender(&lock, Wait::Limit(Some(Duration::ZERO))),
            "too late",
        ),
        (redeemer(&lock, Wait::Limit(limit)), "comes with a ticket"),
    ] {
        assert!(contender.take_term().is_none(), "{which}");
        assert!(state.is_offered(here), "{which}");
    }
    let taken = contender(&lock, Wait::Limit(limit)).take_term();
    let Some(Taken::Lease(holding)) = taken else {
        panic!("it is for it")
    };
    assert_eq!(holding.term().uuid, uuid(1));
    assert!(!state.is_offered(here));
}

/// S3: the answer may have come before the waiter listens.
#[tokio::test]
async fn waiter_leaves_a_term_to_its_release_until_that_has_ended() {
    let lock = Scripted::new().lock(Clock::manual().0);
    let Settings { store, state, .. } = &*lock.0;
    state.granted(uuid(1), token(1));
    state.retire(&store.clock, uuid(1), LEASE);
    let mut waiter = contender(&lock, Wait::Limit(None));
    let (sender, _receiver) = rendezvous();
    assert!(poll_once(pin!(waiter.await_release(&sender, uuid(1)))).is_none());
    state.release_ended(uuid(1));
    let waited = poll_once(pin!(waiter.await_release(&sender, uuid(1))));
    assert!(matches!(waited, Some(ControlFlow::Continue(true))));
}

/// The rest of its time is for a question.
#[tokio::test]
async fn waiter_leaves_a_term_to_its_release_for_half_of_its_time_at_most() {
    let (clock, hand) = Clock::manual();
    let lock = Scripted::new().lock(clock);
    let Settings { store, state, .. } = &*lock.0;
    state.granted(uuid(1), token(1));
    state.retire(&store.clock, uuid(1), LEASE);
    let limit = Duration::from_millis(100);
    let mut waiter = contender(&lock, Wait::Limit(Some(limit)));
    let (sender, _receiver) = rendezvous();
    let mut waits = pin!(waiter.await_release(&sender, uuid(1)));
    assert!(poll_once(waits.as_mut()).is_none());
    hand.advance(limit / 2);
    let waited = poll_once(waits.as_mut());
    assert!(matches!(waited, Some(ControlFlow::Continue(false))));
}
