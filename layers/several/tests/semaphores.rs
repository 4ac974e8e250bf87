//! As many holders at a time as there are permits, and no more.

#![expect(clippy::unwrap_used, reason = "a test panics where it fails")]

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use dlock_core::{Client, DLock, Error};
use dlock_several::{BuildError, Semaphore};
use dlock_testkit::memory::MemoryStore;
use tokio::time::{Instant, sleep, timeout};

const LEASE: Duration = Duration::from_secs(30);
/// In paused time: for ever.
const EVER: Duration = Duration::from_hours(1);

fn semaphore(client: &Client, permits: usize) -> Semaphore {
    let lock = DLock::builder()
        .name("crawlers")
        .duration(LEASE)
        .provider(client);
    Semaphore::new(&lock.build().unwrap(), permits).unwrap()
}

#[tokio::test(start_paused = true)]
async fn never_more_than_the_permits_and_all_of_them() {
    let store = MemoryStore::store_clock();
    let (inside, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut contenders = Vec::new();
    for _ in 0..4 {
        let semaphore = semaphore(&store.client(), 3);
        for _ in 0..3 {
            let (semaphore, inside, most) = (semaphore.clone(), inside.clone(), most.clone());
            contenders.push(tokio::spawn(async move {
                for _ in 0..10 {
                    let permit = semaphore.acquire().await.unwrap();
                    let work = async |_| {
                        most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        sleep(Duration::from_millis(50)).await;
                        inside.fetch_sub(1, Ordering::SeqCst);
                    };
                    permit.lease.with(work).await.unwrap();
                }
            }));
        }
    }
    for contender in contenders {
        timeout(EVER, contender).await.unwrap().unwrap();
    }
    assert_eq!(most.load(Ordering::SeqCst), 3);
}

#[tokio::test(start_paused = true)]
async fn holder_of_all_is_alone() {
    let store = MemoryStore::store_clock();
    let (readers, writers) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let most = Arc::new(AtomicUsize::new(0));
    let mut contenders = Vec::new();
    for n in 0..9 {
        let semaphore = semaphore(&store.client(), 3);
        let (readers, writers, most) = (readers.clone(), writers.clone(), most.clone());
        contenders.push(tokio::spawn(async move {
            for _ in 0..8 {
                if n % 3 == 0 {
                    let write = async |_| {
                        assert_eq!(writers.fetch_add(1, Ordering::SeqCst), 0, "two writers");
                        assert_eq!(readers.load(Ordering::SeqCst), 0, "beside readers");
                        sleep(Duration::from_millis(50)).await;
                        writers.fetch_sub(1, Ordering::SeqCst);
                    };
                    semaphore.all().with(write).await.unwrap();
                } else {
                    let permit = semaphore.acquire().await.unwrap();
                    let read = async |_| {
                        most.fetch_max(
                            readers.fetch_add(1, Ordering::SeqCst) + 1,
                            Ordering::SeqCst,
                        );
                        assert_eq!(writers.load(Ordering::SeqCst), 0, "beside a writer");
                        sleep(Duration::from_millis(50)).await;
                        readers.fetch_sub(1, Ordering::SeqCst);
                    };
                    permit.lease.with(read).await.unwrap();
                }
            }
        }));
    }
    for contender in contenders {
        timeout(EVER, contender).await.unwrap().unwrap();
    }
    assert_eq!(most.load(Ordering::SeqCst), 3, "readers are kept apart");
}

#[tokio::test(start_paused = true)]
async fn later_holder_of_all_has_larger_tokens() {
    let semaphore = semaphore(&MemoryStore::store_clock().client(), 2);
    let mut before = None;
    for _ in 0..3 {
        let guard = semaphore.all().hold().await.unwrap();
        let tokens: Vec<_> = guard.tokens().into_values().collect();
        assert_eq!(tokens.len(), 2);
        if let Some(before) = before.replace(tokens.clone()) {
            assert!(tokens.iter().zip(&before).all(|(now, then)| now > then));
        }
        guard.release().await;
    }
}

#[tokio::test(start_paused = true)]
async fn slots_are_different_and_come_back_when_their_holders_die() {
    let store = MemoryStore::store_clock();
    let ours = semaphore(&store.client(), 3);
    let mut slots = BTreeSet::new();
    for _ in 0..3 {
        let permit = ours.try_acquire().await.unwrap().unwrap();
        slots.insert(permit.slot);
        // It dies with its permit.
        std::mem::forget(permit.lease);
    }
    assert_eq!(slots, BTreeSet::from([1, 2, 3]));
    assert!(ours.try_acquire().await.unwrap().is_none());

    let theirs = semaphore(&store.client(), 3);
    assert!(theirs.try_acquire().await.unwrap().is_none());
    let Err(Error::Timeout { waited, holder, .. }) = theirs.acquire_timeout(LEASE / 3).await else {
        panic!("all are held");
    };
    assert!(waited <= LEASE / 3, "{waited:?}");
    assert!(holder.is_some());
    let permit = timeout(EVER, theirs.acquire()).await.unwrap().unwrap();
    assert!(permit.lease.is_valid());
}

#[tokio::test(start_paused = true)]
async fn what_is_dropped_in_the_waiting_leaves_nothing() {
    let store = MemoryStore::store_clock();
    let held = semaphore(&store.client(), 2);
    let holders = [held.acquire().await.unwrap(), held.acquire().await.unwrap()];
    let client = store.client();
    let waiting = semaphore(&client, 2);
    timeout(LEASE, waiting.acquire()).await.unwrap_err();
    for holder in holders {
        holder.lease.release().await.unwrap();
    }
    client.close().await;
    let other = semaphore(&store.client(), 2);
    let all = [
        other.try_acquire().await.unwrap().unwrap(),
        other.try_acquire().await.unwrap().unwrap(),
    ];
    assert_ne!(all[0].slot, all[1].slot);
}

#[tokio::test]
async fn a_number_that_cannot_be_is_refused() {
    let client = MemoryStore::store_clock().client();
    let lock = DLock::builder().name("crawlers").provider(&client);
    let lock = lock.build().unwrap();
    for permits in [0, Semaphore::MOST + 1] {
        let error = Semaphore::new(&lock, permits).unwrap_err();
        assert_eq!(error, BuildError::Permits { permits });
    }
    let long = "x".repeat(1023);
    let error = Semaphore::new(&lock.named(long).unwrap(), 1).unwrap_err();
    assert!(matches!(error, BuildError::Name { .. }));
}

/// A try passes all waiters by, so one at the beginning of each acquire would keep them out.
#[tokio::test(start_paused = true)]
async fn process_that_acquires_again_and_again_lets_others_in() {
    for (permits, processes) in [(1, 3), (2, 5)] {
        let store = MemoryStore::store_clock();
        let end = Instant::now() + Duration::from_secs(10);
        let contend = |number| {
            let lock = DLock::builder()
                .name("crawlers")
                .owner(format!("process {number}"))
                .duration(LEASE / 10)
                .provider(store.client());
            let semaphore = Semaphore::new(&lock.build().unwrap(), permits).unwrap();
            tokio::spawn(async move {
                let mut had = 0;
                while Instant::now() < end {
                    let permit = semaphore.acquire().await.unwrap();
                    sleep(Duration::from_millis(5)).await;
                    permit.lease.release().await.unwrap();
                    had += 1;
                }
                had
            })
        };
        let contenders: Vec<_> = (0..processes).map(contend).collect();
        let mut had = Vec::new();
        for contender in contenders {
            had.push(contender.await.unwrap());
        }
        let (least, most) = (*had.iter().min().unwrap(), *had.iter().max().unwrap());
        assert!(
            most <= 2 * least,
            "{permits} permits were had so often: {had:?}"
        );
    }
}
