//! A memory store can step its clocks, lose writes and refuse writes for its tests.

#![expect(
    clippy::unwrap_used,
    reason = "what is unwrapped here is a failed test"
)]

use std::time::Duration;

use dlock_core::{
    ErrorKind, FencingToken, Name, Provider, Record,
    provider::{Acquire, AcquireOutcome, Release, Renew, RenewOutcome},
};
use dlock_testkit::memory::{MemoryProvider, MemoryStore};
use tokio::time::sleep;
use uuid::Uuid;

const SECOND: Duration = Duration::from_secs(1);
const HOURS: Duration = Duration::from_hours(5);

fn try_for(lease: Duration) -> Acquire {
    Acquire::new(Name::new("door").unwrap(), Uuid::new_v4(), lease)
}

async fn granted(provider: &MemoryProvider, request: &Acquire) -> FencingToken {
    match provider.acquire(request).await {
        Ok(AcquireOutcome::Acquired(tokens)) => tokens.last(),
        other => panic!("{other:?}"),
    }
}

async fn refused(provider: &MemoryProvider, request: &Acquire) -> Record {
    match provider.acquire(request).await {
        Ok(AcquireOutcome::Held(record)) => record,
        other => panic!("{other:?}"),
    }
}

async fn seen(provider: &MemoryProvider) -> Record {
    let name = Name::new("door").unwrap();
    provider.read(&name).await.unwrap().unwrap()
}

async fn released(provider: &MemoryProvider, term: &Acquire) {
    provider
        .release(&Release::new(term.name.clone(), term.new, None))
        .await
        .unwrap();
}

#[test]
fn store_and_provider_are_made_outside_a_runtime() {
    let provider = MemoryProvider::new(&MemoryStore::store_clock()).prefix("billing");
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_time().build().unwrap();
    runtime.block_on(granted(&provider, &try_for(SECOND)));
}

#[tokio::test(start_paused = true)]
async fn forward_step_of_the_stores_clock_ends_a_lease_early() {
    let store = MemoryStore::store_clock();
    let provider = MemoryProvider::new(&store);
    let a = try_for(10 * SECOND);
    let token = granted(&provider, &a).await;
    store.clock_forward(11 * SECOND);
    assert!(granted(&provider, &try_for(SECOND)).await > token);
}

#[tokio::test(start_paused = true)]
async fn backward_step_of_the_stores_clock_ends_with_an_observation() {
    let store = MemoryStore::store_clock();
    let provider = MemoryProvider::new(&store);
    let a = try_for(SECOND);
    let token = granted(&provider, &a).await;
    store.clock_backward(HOURS);
    sleep(2 * SECOND).await;
    // Seen unchanged for longer than its lease.
    let seen = refused(&provider, &try_for(SECOND)).await;
    assert_eq!(
        seen.remaining,
        Some(SECOND),
        "what remains is never more than the lease"
    );
    let b = try_for(SECOND).prev(Some(seen.version()));
    assert!(
        granted(&provider, &b).await > token,
        "the token continues from the last one"
    );
}

#[tokio::test(start_paused = true)]
async fn step_of_the_wall_clock_changes_no_lease() {
    for store in [MemoryStore::store_clock(), MemoryStore::observer()] {
        let provider = MemoryProvider::new(&store);
        let a = try_for(10 * SECOND);
        let mut last = granted(&provider, &a).await;
        for forward in [true, false, false] {
            if forward {
                store.wall_forward(HOURS);
            } else {
                store.wall_backward(HOURS);
            }
            refused(&provider, &try_for(SECOND)).await;
        }
        released(&provider, &a).await;
        for _ in 0..3 {
            let b = try_for(SECOND);
            let token = granted(&provider, &b).await;
            assert!(
                token > last,
                "{token} does not follow {last} after the clock was set back"
            );
            last = token;
            released(&provider, &b).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn token_grows_although_the_store_lost_writes() {
    let store = MemoryStore::store_clock();
    let provider = MemoryProvider::new(&store);
    let mut highest = granted(&provider, &try_for(SECOND)).await;
    for _ in 0..5 {
        let seen = seen(&provider).await;
        highest = granted(&provider, &try_for(SECOND).prev(Some(seen.version()))).await;
        sleep(Duration::from_millis(1)).await;
    }
    // A failover loses three acknowledged grants; the clock is ahead of them all (T1).
    store.rollback(3);
    let seen = seen(&provider).await;
    assert!(seen.token < highest);
    let token = granted(&provider, &try_for(SECOND).prev(Some(seen.version()))).await;
    assert!(token > highest);

    // With its clock set back as well, only the floor helps, which the clients remember (T6).
    store.wipe();
    store.wall_backward(HOURS);
    let again = granted(&provider, &try_for(SECOND).floor(token.get() + 1)).await;
    assert!(again > token);
    store.wipe();
    assert!(
        granted(&provider, &try_for(SECOND)).await < again,
        "so the floor was needed"
    );
}

#[tokio::test(start_paused = true)]
async fn rollback_brings_back_what_was_there() {
    let store = MemoryStore::observer();
    let provider = MemoryProvider::new(&store);
    let a = try_for(SECOND);
    granted(&provider, &a).await;
    let before = provider.read(&a.name).await.unwrap();
    provider
        .renew(&Renew::new(a.name.clone(), a.new, 1))
        .await
        .unwrap();
    released(&provider, &a).await;
    assert_eq!(store.writes(), 3);
    store.rollback(2);
    assert_eq!(provider.read(&a.name).await.unwrap(), before);
    store.rollback(100);
    assert_eq!(provider.read(&a.name).await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn read_only_store_answers_reads_alone() {
    let store = MemoryStore::store_clock();
    let provider = MemoryProvider::new(&store);
    let a = try_for(SECOND);
    granted(&provider, &a).await;
    store.set_read_only(true);
    let renewal = Renew::new(a.name.clone(), a.new, 1);
    assert_eq!(
        provider.renew(&renewal).await.unwrap_err().kind(),
        ErrorKind::NotApplied
    );
    assert_eq!(
        provider.acquire(&a).await.unwrap_err().kind(),
        ErrorKind::NotApplied
    );
    assert_eq!(seen(&provider).await.renewals, 0);
    store.set_read_only(false);
    assert_eq!(
        provider.renew(&renewal).await.unwrap(),
        RenewOutcome::Renewed { asked: false }
    );
}
