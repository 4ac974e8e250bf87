//! The memory that a lease in a guard's hands and a waiter in line cost; and that nothing remains of locks that were
//! released. One test in a process of its own: every allocation counts.

#![expect(
    clippy::unwrap_used,
    reason = "what is unwrapped here is a failed test"
)]

use std::{
    alloc::System,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use dlock_core::{
    Client, DLock, FencingToken, Guard, Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Discipline, Release, ReleaseOutcome, Renew,
        RenewOutcome,
    },
};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use tokio::task::JoinSet;
use uuid::Uuid;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The most that an allocator keeps for itself with each piece of memory.
const OVERHEAD: usize = 16;

/// The number of renewals.
static RENEWED: AtomicUsize = AtomicUsize::new(0);

/// A name that another client holds.
const TAKEN: &str = "taken";

/// Grants everything except for that name, and remembers nothing.
struct Generous;

#[async_trait]
impl Provider for Generous {
    fn capabilities(&self) -> Capabilities {
        Capabilities::new("generous", Discipline::StoreClock).batch(true)
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        if request.name.as_str() == TAKEN {
            let (uuid, since) = (Uuid::from_u128(1), SystemTime::UNIX_EPOCH);
            let held = Record::new(uuid, "another", since, FencingToken::MAX, request.duration);
            return Ok(AcquireOutcome::Held(held));
        }
        Ok(AcquireOutcome::Acquired(FencingToken::MAX.into()))
    }

    async fn renew(&self, _: &Renew) -> Result<RenewOutcome, ProviderError> {
        RENEWED.fetch_add(1, Ordering::Relaxed);
        Ok(RenewOutcome::Renewed { asked: false })
    }

    async fn release(&self, _: &Release) -> Result<ReleaseOutcome, ProviderError> {
        Ok(ReleaseOutcome::Released { wanted: false })
    }

    async fn read(&self, _: &Name) -> Result<Option<Record>, ProviderError> {
        Ok(None)
    }

    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        RENEWED.fetch_add(requests.len(), Ordering::Relaxed);
        vec![Ok(RenewOutcome::Renewed { asked: false }); requests.len()]
    }
}

/// Bytes that are in use, with what the allocator needs for them.
fn in_use() -> usize {
    let stats = ALLOCATOR.stats();
    let pieces = stats.allocations - stats.deallocations;
    stats.bytes_allocated - stats.bytes_deallocated + pieces * OVERHEAD
}

async fn hold(lock: &DLock, count: usize) -> Vec<Guard> {
    let mut guards = Vec::with_capacity(count);
    for number in 0..count {
        let name = format!("a name of a usual length/{number}");
        guards.push(lock.named(name).unwrap().hold().await.unwrap());
    }
    guards
}

#[tokio::test]
async fn leases_take_little_memory_and_leave_none() {
    const LEASES: usize = 20_000;
    let client = Client::new(Generous);
    let lock = DLock::builder()
        .name("lock")
        .duration(Duration::from_secs(15))
        .provider(&client)
        .build()
        .unwrap();

    // The machinery is there already.
    drop(hold(&lock, 10).await);
    let before = in_use();
    let guards = hold(&lock, LEASES).await;
    let each = (in_use() - before) / LEASES;
    println!("{each} bytes a lease");
    assert!(each < 1024, "{each} bytes a lease");
    // After the first renewals, too.
    tokio::time::timeout(Duration::from_secs(60), async {
        while RENEWED.load(Ordering::Relaxed) < LEASES {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await
    .unwrap();
    assert!(guards.iter().all(|guard| !guard.remaining().is_zero()));
    let each = (in_use() - before) / LEASES;
    println!("{each} bytes a lease after a renewal");
    assert!(each < 1024, "{each} bytes a lease after a renewal");
    drop(guards);
    assert_eq!(client.close().await, 0);

    // Names that are used once. The longest lease, so that nothing is forgotten for its age.
    const NAMES: usize = 40_000;
    let client = Client::new(Generous);
    let lock = DLock::builder()
        .name("lock")
        .duration(Duration::from_secs(24 * 3600))
        .provider(&client)
        .build()
        .unwrap();
    let before = in_use();
    for number in 0..NAMES {
        let lock = lock.named(format!("a name of a usual length/{number}"));
        lock.unwrap().hold().await.unwrap().release().await.unwrap();
    }
    let grown = in_use().saturating_sub(before);
    println!("{grown} bytes after {NAMES} names");
    assert!(grown < 40 * NAMES, "{grown} bytes after {NAMES} names");

    // Cycles of one lock, none of which would be due before the end of the test.
    let lock = DLock::builder()
        .name("a name of a usual length/0")
        .duration(Duration::from_secs(3600))
        .provider(Generous)
        .build()
        .unwrap();
    for _ in 0..100 {
        lock.hold().await.unwrap().release().await.unwrap();
    }
    let before = in_use();
    const CYCLES: usize = 40_000;
    for _ in 0..CYCLES {
        lock.hold().await.unwrap().release().await.unwrap();
    }
    let grown = in_use().saturating_sub(before);
    assert!(grown < CYCLES, "{grown} bytes more after {CYCLES} cycles");

    // Waiters of one name, each in its own task of the program.
    const WAITERS: usize = 2_000;
    let lock = lock.named(TAKEN).unwrap();
    let before = in_use();
    let mut waiters = JoinSet::new();
    for _ in 0..WAITERS {
        let lock = lock.clone();
        waiters.spawn(async move { lock.acquire().await.map(drop) });
    }
    // By then the first of them has asked, and all of them are in tasks of ours.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let each = (in_use() - before) / WAITERS;
    println!("{each} bytes a waiter");
    assert!(each < 6 * 1024, "{each} bytes a waiter");
    assert!(waiters.try_join_next().is_none());
    waiters.shutdown().await;
}
