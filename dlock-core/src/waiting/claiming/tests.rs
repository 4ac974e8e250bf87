use super::*;
use crate::{
    Clock,
    tests::scripted::{LEASE, Scripted, record, token, uuid},
    turns::Wanted,
    waiting::tests::{contender, in_line, offers, redeemer},
};

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

/// A claim would overtake the release, and with it the turn of the others.
#[tokio::test]
async fn retired_term_that_others_want_is_claimed_once_its_release_has_ended_and_their_turn_is_over()
 {
    let (clock, hand) = Clock::manual();
    let lock = Scripted::with_marks().lock(clock);
    let Settings {
        store, state, plan, ..
    } = &*lock.0;
    state.granted(uuid(1), token(1));
    state.retire(&store.clock, uuid(1), LEASE);
    let claims = |wait, wanted| {
        let mut record = record(1, "we");
        record.wanted = wanted;
        contender(&lock, wait).may_claim(&record)
    };
    let waits = Wait::Limit(None);
    assert!(claims(waits, 0), "alone");
    assert!(claims(Wait::No, 2), "it leaves nothing to others");
    assert!(!claims(waits, 2), "its release is under way");
    let mut marked = record(1, "we");
    marked.wanted = 2;
    let mut waiter = contender(&lock, waits);
    assert!(!waiter.may_claim(&marked));
    assert!(waiter.may_claim(&marked), "its release got no answer");
    state.release_ended(uuid(1));
    assert!(claims(waits, 2), "it failed");
    let here = tokio::runtime::Handle::current().id();
    let wanted = Wanted::of(plan, true, true);
    state
        .turns()
        .of(here)
        .released(wanted, store.clock.contender_now());
    drop(contender(&lock, waits).holder(marked));
    assert!(
        !claims(waits, 2),
        "others go first, also once the store has shown it"
    );
    hand.advance(HAND_OFF);
    assert!(claims(waits, 2));
}
