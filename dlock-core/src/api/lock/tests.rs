//! Locks that are made from others.

use crate::{
    Clock,
    provider::AcquireOutcome,
    tests::scripted::{Scripted, record, token},
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
    assert_eq!(floors, [137, 0, 137], "T6");
}

#[test]
fn owner_is_the_label_that_was_given() {
    let lock = Scripted::new().lock(Clock::manual().0);
    assert_eq!(lock.owned_by("worker 7").unwrap().owner(), "worker 7");
}

/// A ticket that was refused does not close the name (B4); its work is another's.
#[tokio::test(start_paused = true)]
async fn only_a_ticket_that_was_redeemed_closes_the_name() {
    for refused in [false, true] {
        let provider = Scripted::new();
        if refused {
            let another = record(5, "another");
            provider.acquire(Ok(AcquireOutcome::Held(another)));
        }
        let lock = provider.lock(Clock::tokio(1.0));
        let ticket = "dlock-ticket-1:67e55044-10b1-426f-9247-bb680e5fe0c8:0:60000:door";
        let lease = lock.redeem(&ticket.parse().unwrap()).wait().await.unwrap();
        lease.release().await.unwrap();
        let closings = provider.released();
        let closes = closings.iter().any(|release| release.closing.is_some());
        assert_eq!(closes, !refused);
    }
}
