//! Several locks as one: all or none, and no two wait for each other in a circle.

#![expect(clippy::unwrap_used, reason = "a test panics where it fails")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use dlock_core::{
    Client, Clock, DLock, Error, Name, Provider, State, TryAcquire,
    provider::{Admin, Revoke},
};
use dlock_several::{BuildError, MultiLock, TryHold};
use dlock_testkit::{
    faults::{Fault, Faulty, Op},
    memory::{MemoryProvider, MemoryStore},
};
use tokio::time::{Instant, sleep, timeout};

const LEASE: Duration = Duration::from_secs(30);
/// In paused time: for ever.
const EVER: Duration = Duration::from_hours(1);

fn one(client: &Client, name: &str) -> DLock {
    let lock = DLock::builder().name(name).duration(LEASE).provider(client);
    lock.build().unwrap()
}

fn many(client: &Client, names: &[&str]) -> MultiLock {
    MultiLock::new(names.iter().map(|name| one(client, name))).unwrap()
}

async fn is_free(store: &MemoryStore, name: &str) -> bool {
    let answer = one(&store.client(), name).try_acquire().await.unwrap();
    matches!(answer, TryAcquire::Acquired(_))
}

async fn revoke(store: &MemoryStore, name: &str) {
    let (provider, name) = (MemoryProvider::new(store), Name::new(name).unwrap());
    let record = provider.read(&name).await.unwrap().unwrap();
    let revoke = Revoke::new(name, record.version()).unwrap();
    drop(provider.revoke(&revoke).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn all_are_held_and_all_are_given_back() {
    let store = MemoryStore::store_clock();
    let both = many(&store.client(), &["b", "a"]);
    let tokens = both
        .with(async |tokens| {
            assert!(!is_free(&store, "a").await);
            assert!(!is_free(&store, "b").await);
            tokens
        })
        .await
        .unwrap();
    assert!(tokens["a"].get() > 0 && tokens["b"].get() > 0);
    assert!(is_free(&store, "a").await);
    assert!(is_free(&store, "b").await);

    let guard = both.hold().await.unwrap();
    assert!(guard.tokens()["a"] > tokens["a"]);
    sleep(3 * LEASE).await;
    assert!(guard.is_valid(), "they are renewed");
    let ends = guard.release().await;
    assert_eq!(ends.len(), 2);
    assert!(ends.values().all(Result::is_ok), "{ends:?}");
    assert!(is_free(&store, "a").await);
}

#[tokio::test(start_paused = true)]
async fn free_locks_are_acquired_at_once() {
    const CALL: Duration = Duration::from_secs(1);
    let store = Faulty::new(MemoryProvider::new(&MemoryStore::store_clock()));
    store.always(Op::Acquire, Fault::DelayReply(CALL));
    let client = Client::with_clock(store.clone(), Clock::tokio(1.0));
    let five = many(&client, &["a", "b", "c", "d", "e"]);
    let began = Instant::now();
    let guard = five.hold().await.unwrap();
    assert_eq!((began.elapsed(), store.count(Op::Acquire)), (CALL, 5));
    guard.release().await;
}

/// Otherwise two that want each other's locks would wait in a circle.
#[tokio::test(start_paused = true)]
async fn waiter_holds_no_lock_that_follows_the_one_it_waits_for() {
    let store = MemoryStore::store_clock();
    let held = one(&store.client(), "b").hold().await.unwrap();
    let all = many(&store.client(), &["a", "b", "c"]);
    let waiting = tokio::spawn(async move { all.hold().await });
    held_above(&store, "a", 0).await;
    sleep(Duration::from_secs(1)).await;
    assert!(!is_free(&store, "a").await);
    assert!(is_free(&store, "c").await);
    held.release().await.unwrap();
    drop(timeout(EVER, waiting).await.unwrap().unwrap().unwrap());
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_in_a_circle() {
    let store = MemoryStore::store_clock();
    let inside = Arc::new(AtomicBool::new(false));
    let contend = |names: &'static [&'static str]| {
        let (lock, inside) = (many(&store.client(), names), Arc::clone(&inside));
        tokio::spawn(async move {
            for _ in 0..50 {
                lock.with(async |_| {
                    assert!(!inside.swap(true, Ordering::SeqCst));
                    sleep(Duration::from_millis(5)).await;
                    inside.store(false, Ordering::SeqCst);
                })
                .await
                .unwrap();
            }
        })
    };
    let contenders = [
        contend(&["a", "b", "c"]),
        contend(&["c", "b", "a"]),
        contend(&["b", "c", "a"]),
    ];
    for contender in contenders {
        timeout(EVER, contender).await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_leaves_nothing_held_and_nothing_closed() {
    let store = MemoryStore::store_clock();
    let (client, other) = (store.client(), store.client());
    let held = one(&other, "b").hold().await.unwrap();
    let at_least = |name| {
        let lock = DLock::builder().name(name).duration(LEASE);
        lock.at_least(EVER).provider(&client).build().unwrap()
    };
    let both = MultiLock::new([at_least("a"), at_least("b")]).unwrap();
    match both.try_hold().await.unwrap() {
        TryHold::Refused { name, holder } => {
            assert_eq!(name.as_str(), "b");
            assert_eq!(holder.record.token, held.token());
        }
        TryHold::Held(guard) => panic!("{guard:?}"),
    }
    assert!(is_free(&store, "a").await);

    let Err(Error::Timeout { waited, holder, .. }) = both.hold_timeout(LEASE).await else {
        panic!("it is held");
    };
    assert!(waited >= LEASE);
    assert_eq!(holder.unwrap().record.token, held.token());
    assert!(is_free(&store, "a").await);

    timeout(LEASE, both.hold()).await.unwrap_err();
    client.close().await;
    assert!(is_free(&store, "a").await);
}

/// The token of the lock's holder, once it is above this one.
async fn held_above(store: &MemoryStore, name: &str, token: u64) -> u64 {
    let lock = one(&store.client(), name);
    loop {
        match lock.read().await.unwrap() {
            Some(record) if !record.released && record.token.get() > token => {
                return record.token.get();
            }
            _ => sleep(Duration::from_millis(10)).await,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_is_lost_in_the_waiting_is_asked_for_again() {
    let store = MemoryStore::store_clock();
    let held = one(&store.client(), "b").hold().await.unwrap();
    let both = many(&store.client(), &["a", "b"]);
    let waiting = tokio::spawn(async move { both.hold().await });
    let lost = held_above(&store, "a", 0).await;
    revoke(&store, "a").await;
    // The waiter has it again, and continues to wait for the other.
    let again = timeout(EVER, held_above(&store, "a", lost)).await.unwrap();
    sleep(LEASE).await;
    assert!(!waiting.is_finished());
    held.release().await.unwrap();
    let guard = timeout(EVER, waiting).await.unwrap().unwrap().unwrap();
    assert!(guard.is_valid());
    assert_eq!(guard.tokens()["a"].get(), again);
}

#[tokio::test(start_paused = true)]
async fn the_loss_of_one_ends_the_work_and_frees_the_others() {
    let store = MemoryStore::store_clock();
    let both = many(&store.client(), &["a", "b"]);
    let work = both.with(async |_| {
        revoke(&store, "b").await;
        sleep(EVER).await;
    });
    assert!(matches!(work.await, Err(Error::Lost(end)) if !end.work_finished));
    assert!(is_free(&store, "a").await);

    let guard = both.hold().await.unwrap();
    revoke(&store, "b").await;
    assert!(guard.ended().await.is_loss());
    assert!(!guard.is_valid());
    assert!(guard.remaining().is_zero());
    assert!(matches!(guard.state(), State::Ended(_)));
}

#[tokio::test]
async fn what_cannot_be_one_is_refused() {
    let store = MemoryStore::store_clock();
    let (client, other) = (store.client(), store.client());
    let reason = |locks: Vec<DLock>| match MultiLock::new(locks) {
        Err(BuildError::Many { reason }) => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(reason(Vec::new()), "there is none");
    let twice = vec![one(&client, "a"), one(&client, "b"), one(&client, "a")];
    assert!(reason(twice).contains("same name"));
    let foreign = vec![one(&client, "a"), one(&other, "b")];
    assert!(reason(foreign).contains("different clients"));
}
