use super::*;
use crate::{
    Clock,
    tests::scripted::Scripted,
    waiting::{
        acquire,
        tests::{contender, holder},
    },
};

/// W1: it has lost its place in line, and its caller is still there.
#[tokio::test]
async fn waiter_that_was_evicted_brings_a_grant_or_that_its_time_is_up() {
    let lock = Scripted::new().lock(Clock::manual().0);
    let granted = acquire(&lock.0, Wait::No, None).await;
    let held = || Some(Ok(Acquired::Held(holder(1, "another"))));
    let evicted = |limit| {
        let contender = contender(&lock, Wait::Limit(limit));
        contender.gone.cancel();
        contender
    };
    let limit = Some(Duration::from_secs(1));
    assert!(evicted(limit).for_caller(held()).is_none());
    assert!(evicted(None).for_caller(held()).is_none());
    assert!(evicted(Some(Duration::ZERO)).for_caller(held()).is_some());
    assert!(evicted(limit).for_caller(Some(granted)).is_some());
    let waiter = contender(&lock, Wait::Limit(limit));
    assert!(waiter.for_caller(held()).is_some(), "it was not evicted");
}
