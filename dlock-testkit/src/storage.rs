//! The proof of storage that checks fencing tokens (T3), whatever its implementation: four stories, each a function
//! that panics if the storage is wrong.
//!
//! `tests/own/storage.rs` of this crate has a minimal storage, and wrong ones that the stories find.

mod crowd;
mod paused;

use std::{fmt, future::Future, time::Duration};

use async_trait::async_trait;
use dlock_core::{DLock, FencingToken, Provider, Stale};

pub use self::{crowd::random_tokens_leave_the_highest, paused::paused_holder_is_refused};

/// One resource in the storage under test: a number, and the highest token the storage has seen.
///
/// An operation that fails for any reason other than a stale token should panic.
#[async_trait]
pub trait Storage: Send + Sync + Sized + 'static {
    /// The same resource for another writer, with its own connection if the storage has connections.
    async fn another(&self) -> Self;

    /// Writes a value, if the token is not stale.
    async fn write(&self, token: FencingToken, value: u64) -> Result<(), Stale>;

    /// The value and the remembered token at one instant; `None` before the first write.
    async fn read(&self) -> Option<(u64, FencingToken)>;
}

/// Equal and greater tokens pass, and a lower one changes nothing; exact up to the greatest token.
///
/// # Panics
/// If the storage is wrong.
pub async fn only_lower_tokens_are_refused(storage: &impl Storage) {
    assert_eq!(
        storage.read().await,
        None,
        "a resource that was never written"
    );
    let token = |number| FencingToken::new(number);
    let top = FencingToken::MAX.get();
    for (writes, highest) in [
        ([Some(5), Some(7), Some(7)], 7),
        ([Some(top - 1), Some(top), Some(top)], top),
    ] {
        for (value, number) in (0..).zip(writes) {
            let presented = number.and_then(token);
            admit(storage, presented, value).await;
            assert_eq!(storage.read().await, presented.map(|token| (value, token)));
        }
        let before = storage.read().await;
        let (Some(presented), Some(highest)) = (token(highest - 1), token(highest)) else {
            panic!("these are tokens");
        };
        let refused = storage.write(presented, 99).await;
        assert_eq!(refused, Err(Stale { presented, highest }));
        assert_eq!(storage.read().await, before, "a stale write changed it");
    }
}

/// T6: a holder whose write was refused although its lease is valid (the store of its lock lost its memory, and its
/// clock is behind) reports to its lock which token the resource has seen; its next grant is above that.
///
/// # Panics
/// If the storage or the lock is wrong.
pub async fn refused_holder_gets_above<P, F>(provider: impl Fn() -> F, storage: &impl Storage)
where
    P: Provider,
    F: Future<Output = P>,
{
    let lock = lock("behind", provider().await, Duration::from_secs(30));
    let lease = good(lock.acquire().await);
    // Some months ahead of the store's clock.
    let ahead = FencingToken::new(lease.token().get() + 10_000_000_000_000);
    admit(storage, ahead, 1).await;
    let Err(stale) = storage.write(lease.token(), 2).await else {
        panic!("a token below the highest was admitted");
    };
    assert_eq!(Some(stale.highest), ahead);
    lock.raise_floor(stale.highest);
    good(lease.release().await);
    let lease = good(lock.acquire().await);
    assert!(
        lease.token() > stale.highest,
        "{} was granted although {stale}",
        lease.token()
    );
    admit(storage, Some(lease.token()), 3).await;
    assert_eq!(storage.read().await, Some((3, lease.token())));
    good(lease.release().await);
}

/// A lock for a story, on a fresh name.
fn lock(name: &str, provider: impl Provider, duration: Duration) -> DLock {
    let lock = DLock::builder()
        .name(format!("{name}/{}", uuid::Uuid::new_v4()))
        .duration(duration)
        .provider(provider)
        .build();
    good(lock)
}

async fn admit(storage: &impl Storage, token: Option<FencingToken>, value: u64) {
    let Some(token) = token else {
        panic!("these are tokens");
    };
    if let Err(stale) = storage.write(token, value).await {
        panic!("a token that is not stale was refused: {stale}");
    }
}

fn good<T, E: fmt::Debug>(result: Result<T, E>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("the lock failed: {error:?}"),
    }
}
