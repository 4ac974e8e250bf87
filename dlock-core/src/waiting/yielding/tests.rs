use std::pin::pin;

use super::*;
use crate::{
    Clock, DLock,
    tests::{
        poll_once,
        scripted::{Scripted, token, uuid},
    },
    waiting::{
        Wait,
        rendezvous::rendezvous,
        tests::{contender, hands_over, in_line, redeemer},
    },
};

/// A lock that this client has just given back and that another one wants.
fn given_back() -> DLock {
    let lock = Scripted::new().lock(Clock::manual().0);
    let clock = &lock.0.store.clock;
    let mut fairness = lock.0.state.fairness();
    fairness.refused(Some("another"));
    fairness.granted(None, Duration::ZERO, clock);
    fairness.gives_back(clock.contender_now());
    drop(fairness);
    lock
}

fn yields(mut contender: Contender) -> bool {
    let (sender, _receiver) = rendezvous();
    poll_once(pin!(contender.let_others_first(&sender))).is_none()
}

/// F2, H9, H6.
#[tokio::test]
async fn newcomer_yields_unless_it_has_a_ticket_or_the_lock_is_passed_on() {
    let lock = given_back();
    assert!(yields(contender(&lock, Wait::Limit(None))));
    assert!(!yields(redeemer(&lock, Wait::Limit(None))));
    let _in_line = in_line(&lock).await;
    let _hand_over = hands_over(&lock, 1);
    lock.0.state.granted(uuid(2), token(2));
    assert!(!yields(contender(&lock, Wait::Limit(None))));
}
