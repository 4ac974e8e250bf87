//! Tokens that count as running, without anything that runs.

use super::*;
use crate::{
    DLock,
    tests::{poll_once, scripted::Scripted},
};

#[tokio::test]
async fn lock_is_idle_before_its_client_is() {
    let lock = Scripted::new().lock(Clock::manual().0);
    let another = DLock::builder().name("another").provider(lock.client());
    let another = another.duration(lock.duration()).build().unwrap();
    let store = &lock.0.store;
    let (first, second) = (store.track(&lock.0.plan), store.track(&lock.0.plan));
    let others = store.track(&another.0.plan);
    let (mut idle, mut all_idle) = (pin!(lock.idle()), pin!(store.all_idle()));
    drop(first);
    assert_eq!(poll_once(idle.as_mut()), None);
    drop(second);
    assert_eq!(poll_once(idle.as_mut()), Some(()));
    assert_eq!(poll_once(all_idle.as_mut()), None);
    drop(others);
    assert_eq!(poll_once(all_idle.as_mut()), Some(()));
}
