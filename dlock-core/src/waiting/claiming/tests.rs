use super::*;
use crate::{
    Clock,
    tests::scripted::{Scripted, uuid},
    waiting::tests::{contender, hands_over, in_line, redeemer},
};

/// H1, W1.
#[tokio::test]
async fn offer_is_for_a_waiter_in_line_that_has_time_left() {
    let lock = Scripted::new().lock(Clock::manual().0);
    let state = &lock.0.state;
    let _in_line = in_line(&lock).await;
    let _hand_over = hands_over(&lock, 1);
    let limit = Some(Duration::from_secs(1));
    for (contender, which) in [
        (contender(&lock, Wait::No), "asks once"),
        (
            contender(&lock, Wait::Limit(Some(Duration::ZERO))),
            "too late",
        ),
        (redeemer(&lock, Wait::Limit(limit)), "comes with a ticket"),
    ] {
        assert!(contender.take_offer().is_none(), "{which}");
        assert!(state.is_offered(), "{which}");
    }
    let offer = contender(&lock, Wait::Limit(limit)).take_offer();
    assert_eq!(offer.unwrap().version().unwrap().uuid, uuid(1));
    assert!(!state.is_offered());
}

/// H4.
#[tokio::test]
async fn claim_of_a_term_goes_with_the_offer_of_that_term() {
    let lock = Scripted::new().lock(Clock::manual().0);
    let state = &lock.0.state;
    let _in_line = in_line(&lock).await;
    let waiter = contender(&lock, Wait::Limit(None));

    let _first = hands_over(&lock, 1);
    let offer = state.take_offer();
    let offer = waiter.offer_for(offer, uuid(1));
    assert!(offer.is_some(), "the given one");
    assert!(waiter.offer_for(offer, uuid(2)).is_none(), "another term's");

    let _second = hands_over(&lock, 2);
    let once = contender(&lock, Wait::No);
    assert!(once.offer_for(None, uuid(2)).is_none(), "not for a try");
    assert!(waiter.offer_for(None, uuid(3)).is_none());
    assert!(waiter.offer_for(None, uuid(2)).is_some(), "it has come");
}
