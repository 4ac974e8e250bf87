use std::pin::pin;

use super::*;
use crate::{
    Clock, DLock,
    tests::{poll_once, scripted::Scripted},
    waiting::{
        Wait,
        rendezvous::rendezvous,
        tests::{contender, in_line, offers, redeemer},
    },
};

/// A lock that this client has just given back and that another one wants.
fn given_back() -> DLock {
    let lock = Scripted::new().lock(Clock::manual().0);
    let clock = &lock.0.store.clock;
    let mut fairness = lock.0.state.fairness();
    fairness.refused(Some("another"));
    fairness.granted(clock.contender_now(), Duration::ZERO, clock);
    fairness.gives_back(clock.contender_now());
    drop(fairness);
    lock
}

fn yields(mut contender: Contender) -> bool {
    let (sender, _receiver) = rendezvous();
    poll_once(pin!(contender.let_others_first(&sender))).is_none()
}

/// F2, H9, S1.
#[tokio::test]
async fn newcomer_yields_unless_it_has_a_ticket_or_a_term_of_its_client_goes_on() {
    let lock = given_back();
    assert!(yields(contender(&lock, Wait::Limit(None))));
    assert!(!yields(redeemer(&lock, Wait::Limit(None))));
    let _in_line = in_line(&lock).await;
    offers(&lock, 1);
    assert!(!yields(contender(&lock, Wait::Limit(None))));
}
