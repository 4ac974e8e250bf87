use std::num::NonZeroU8;

use super::*;
use crate::{
    Clock, TryAcquire,
    provider::{AcquireOutcome, Tokens},
    tests::scripted::{INSTANT, LEASE, Scripted, token},
    tests::traced,
    waiting::{
        Wait,
        tests::{contender, holder, in_line},
    },
};

/// Locks are not re-entrant.
#[tokio::test]
async fn waiting_for_our_own_lease_is_told_once_after_the_time_of_a_lease() {
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

/// A read that shows no holder shows that the term has ended, although it is on offer.
#[tokio::test]
async fn waiter_follows_no_term_that_a_read_shows_over() {
    let provider = Scripted::new();
    for last in [16, 32] {
        let tokens = Tokens::new(token(last), NonZeroU8::new(16).unwrap()).unwrap();
        provider.acquire(Ok(AcquireOutcome::Acquired(tokens)));
    }
    let lock = provider.lock(Clock::manual().0);
    let _in_line = in_line(&lock).await;
    let Ok(TryAcquire::Acquired(lease)) = lock.try_acquire().await else {
        panic!("it is free")
    };
    drop(lease);
    assert!(
        lock.0
            .state
            .is_offered(tokio::runtime::Handle::current().id())
    );
    let mut waiter = contender(&lock, Wait::Limit(None));
    let answer = waiter.read_first().await;
    assert!(matches!(answer, Ok(Some(Acquired::Holding(_)))));
    assert_eq!(provider.acquired().len(), 2, "it asked");
}
