//! Locks that are made of others.

use crate::{
    Clock,
    scripted::{Scripted, token},
};

#[tokio::test]
async fn lock_of_another_name_shares_nothing_that_is_known_of_the_first() {
    let provider = Scripted::new();
    let lock = provider.lock(Clock::manual().0);
    lock.raise_floor(token(9));
    let other = lock.named("gate").unwrap();
    let again = other.named("door").unwrap();
    for lock in [&lock, &other, &again] {
        drop(lock.try_acquire().await.unwrap());
    }
    let floors: Vec<_> = provider
        .acquired()
        .iter()
        .map(|acquire| acquire.floor)
        .collect();
    assert_eq!(floors, [10, 0, 10], "T6");
}

#[test]
fn owner_is_the_label_that_was_given() {
    let lock = Scripted::new().lock(Clock::manual().0);
    assert_eq!(lock.owned_by("worker 7").unwrap().owner(), "worker 7");
}
