//! "Leases in ten minutes": the ways to hold a lock.

use std::time::Duration;

use dlock::{DLock, Error, FencingToken};

use crate::Failure;

// ANCHOR: limit
/// Waits for the lock for at most two seconds; if that fails, reports the holder.
pub async fn book(
    lock: &DLock,
    orders: &mut Vec<FencingToken>,
) -> Result<(), Failure> {
    match lock.acquire_timeout(Duration::from_secs(2)).await {
        Ok(lease) => Ok(lease.with(async |token| orders.push(token)).await?),
        // The store does not answer: no competitor has the lock, and its operators
        // have to look into it.
        Err(error) if error.store_error().is_some() => Err(error.into()),
        Err(Error::Timeout { holder, .. }) => {
            Err(format!("busy: {holder:?}").into())
        }
        Err(error) => Err(error.into()),
    }
}
// ANCHOR_END: limit

// ANCHOR: guard
/// Holds the lock over many steps. The guard renews itself meanwhile.
pub async fn steps(
    lock: &DLock,
    mut step: impl AsyncFnMut(FencingToken) -> bool,
) -> Result<(), Failure> {
    let guard = lock.hold().await?;
    // Computed from the clock at every call: it is not a flag that can be stale.
    while guard.is_valid() {
        if !step(guard.token()).await {
            guard.release().await?;
            return Ok(());
        }
    }
    Err(guard.ended().await.to_string().into())
}
// ANCHOR_END: guard
