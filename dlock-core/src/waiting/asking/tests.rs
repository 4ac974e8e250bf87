use super::*;
use crate::{
    Clock,
    provider::Version,
    tests::scripted::{INSTANT, LEASE, Scripted, silence, uuid},
    tests::traced,
    waiting::{
        Wait,
        tests::{contender, hands_over, holder, in_line},
    },
};

/// Locks are not re-entrant.
#[test]
fn waiting_for_our_own_lease_is_told_once_after_the_time_of_a_lease() {
    let (clock, hand) = Clock::manual();
    let lock = Scripted::new().lock(clock);
    let mut contender = contender(&lock, Wait::Limit(None));
    let mut told = |ours| {
        let holder = Holder {
            ours,
            ..holder(1, "we")
        };
        traced::events(|| contender.warn_of_ourselves(&holder)).len()
    };
    hand.advance(LEASE - INSTANT);
    assert_eq!(told(true), 0, "its turn may come");
    hand.advance(INSTANT);
    assert_eq!(told(false), 0, "another's");
    assert_eq!(told(true), 1);
    hand.advance(LEASE);
    assert_eq!(told(true), 0, "again");
}

/// W5: in an outage.
#[tokio::test]
async fn contender_that_was_not_admitted_asks_only_for_what_is_on_offer() {
    let provider = Scripted::new();
    let lock = provider.lock(Clock::manual().0);
    let mut contender = contender(&lock, Wait::Limit(None));
    let flow = contender.read_or_try(None, true, Err(silence())).await;
    assert!(matches!(flow, ControlFlow::Continue(_)));
    assert_eq!(provider.acquired(), []);

    let _in_line = in_line(&lock).await;
    let _hand_over = hands_over(&lock, 1);
    let offer = contender.take_offer();
    let flow = contender.read_or_try(offer, true, Err(silence())).await;
    assert!(matches!(flow, ControlFlow::Break(Ok(Acquired::Holding(_)))));
    let claimed: Vec<_> = provider
        .acquired()
        .iter()
        .map(|acquire| acquire.prev)
        .collect();
    let version = Version {
        uuid: uuid(1),
        renewals: 0,
    };
    assert_eq!(claimed, [Some(version)]);
}
