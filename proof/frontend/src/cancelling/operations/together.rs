//! Futures of several locks: those of a [`MultiLock`], and of a semaphore, whose permits are locks.

use dlock_core::{DLock, Lease};
use dlock_several::{MultiGuard, MultiLock, Semaphore, TryHold};
use tokio::task::JoinHandle;

use super::{HELD_FOR, fallible, is_ready, work, worked};
use crate::cancelling::{
    gate::turn,
    stage::{Stage, ok},
};

/// The lock, and another one that is acquired after it.
fn many(stage: &mut Stage) -> MultiLock {
    let second = second(stage);
    ok(MultiLock::new([second, stage.lock.clone()]))
}

fn second(stage: &mut Stage) -> DLock {
    stage.another(format!("{}/second", stage.lock.name()))
}

fn assert_valid(guard: &MultiGuard) {
    assert!(guard.is_valid(), "handed out, and not valid");
}

pub(super) async fn try_hold_many(stage: &mut Stage) {
    let locks = many(stage);
    if let Some(Ok(TryHold::Held(guard))) = stage.cut(locks.try_hold()).await {
        assert_valid(&guard);
    }
}

/// Another process holds the second lock for a while, so that the first is held meanwhile.
pub(super) async fn hold_many(stage: &mut Stage) {
    let locks = many(stage);
    let holder = given_back_in_turn([ok(second(stage).acquire().await)]);
    if let Some(Ok(guard)) = stage.cut(locks.hold()).await {
        assert_valid(&guard);
    }
    ok(holder.await);
}

/// Another process holds the second lock for longer than the limit.
pub(super) async fn hold_many_timeout(stage: &mut Stage) {
    let locks = many(stage);
    let held = ok(second(stage).acquire().await);
    let limit = stage.lock.duration() / 120;
    let ended = stage.cut(locks.hold_timeout(limit)).await;
    assert!(
        !matches!(ended, Some(Ok(_))),
        "got a lock that another process holds"
    );
    drop(held);
}

pub(super) async fn with_many(stage: &mut Stage) {
    let locks = many(stage);
    worked(stage, |held| async move {
        locks.with(|_tokens| work(held)).await
    })
    .await;
}

pub(super) async fn with_many_result(stage: &mut Stage) {
    let locks = many(stage);
    worked(stage, |held| async move {
        locks.with_result(|_tokens| fallible(held)).await
    })
    .await;
}

pub(super) async fn many_ended(stage: &mut Stage) {
    let guard = ok(many(stage).hold().await);
    let ended = stage.cut(guard.ended()).await;
    assert!(
        ended.is_none() || !stage.fair(),
        "notified of an event that did not happen"
    );
    assert!(
        guard.is_valid() || !stage.fair(),
        "watching ended the leases"
    );
}

pub(super) async fn release_many(stage: &mut Stage) {
    let guard = ok(many(stage).hold().await);
    let ended = guard.ended();
    drop(stage.cut(guard.release()).await);
    assert!(is_ready(ended), "valid after its release began");
}

pub(super) async fn release_many_open(stage: &mut Stage) {
    let guard = ok(many(stage).hold().await);
    let ended = guard.ended();
    drop(stage.cut(guard.release_open()).await);
    assert!(is_ready(ended), "valid after its release began");
}

/// Two permits.
fn semaphore(stage: &mut Stage) -> Semaphore {
    let name = stage.lock.name().clone();
    for slot in 1..=2 {
        let _permit = stage.another(format!("{name}/{slot}"));
    }
    ok(Semaphore::new(&stage.lock, 2))
}

pub(super) async fn try_acquire_permit(stage: &mut Stage) {
    let permits = semaphore(stage);
    if let Some(Ok(Some(permit))) = stage.cut(permits.try_acquire()).await {
        assert!(permit.lease.is_valid(), "handed out, and not valid");
    }
}

pub(super) async fn acquire_permit(stage: &mut Stage) {
    let permits = semaphore(stage);
    let holder = taken(&permits).await;
    if let Some(Ok(permit)) = stage.cut(permits.acquire()).await {
        assert!(permit.lease.is_valid(), "handed out, and not valid");
    }
    ok(holder.await);
}

pub(super) async fn acquire_permit_timeout(stage: &mut Stage) {
    let permits = semaphore(stage);
    let holder = taken(&permits).await;
    let limit = stage.lock.duration() / 2;
    if let Some(Ok(permit)) = stage.cut(permits.acquire_timeout(limit)).await {
        assert!(permit.lease.is_valid(), "handed out, and not valid");
    }
    ok(holder.await);
}

/// Another process holds both, and releases them one after the other.
async fn taken(permits: &Semaphore) -> JoinHandle<()> {
    let mut leases = Vec::new();
    for _ in 0..2 {
        let permit = ok(permits.try_acquire().await);
        leases.extend(permit.map(|permit| permit.lease));
    }
    assert_eq!(leases.len(), 2, "no other client has a permit");
    given_back_in_turn(leases)
}

fn given_back_in_turn(leases: impl Into<Vec<Lease>>) -> JoinHandle<()> {
    let leases = leases.into();
    crate::spawn(async move {
        for lease in leases {
            for _ in 0..HELD_FOR {
                turn().await;
            }
            // No task waits for the release, which may get no answer in bad weather.
            drop(lease);
        }
    })
}
