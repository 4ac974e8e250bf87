//! The lock in a few lines: automatic, by hand, and with a competitor.
//!
//! ```sh
//! cargo run -p dlock-examples --bin quickstart
//! cargo run -p dlock-examples --bin quickstart --features redis -- --store redis://localhost
//! ```

use std::time::Duration;

use dlock::{DLock, FencingToken, TryAcquire};
use dlock_examples::Failure;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let store = dlock_examples::store()?;
    let provider = store.provider().await?;
    let lock = DLock::builder()
        .name("nightly-report")
        .owner("worker-7")
        .duration(Duration::from_secs(5))
        .provider(provider)
        .build()?;

    // Automatic: waits, renews, ends the work if the lease is lost, releases.
    let rows = lock
        .with_result(|token| async move { write_report(token).await })
        .await?;
    println!("wrote {rows} rows");

    // By hand.
    let mut lease = lock.acquire().await?;
    println!(
        "holding {} with token {} for {:?}",
        lock.name(),
        lease.token(),
        lease.remaining()
    );
    lease.renew().await?;

    // A competitor tries meanwhile. A refusal is a value, not an error.
    match lock.try_acquire().await? {
        TryAcquire::Acquired(_) => return Err(Failure::new("two holders")),
        TryAcquire::Held(holder) => {
            println!("{holder}");
        }
    }
    println!("released: {:?}", lease.release().await?);

    // Same settings, another name: independent.
    let other = lock.named("customer-7")?;
    let guard = other.hold().await?;
    println!("holding {}, renewed until it is dropped", other.name());

    // Complete all releases before the runtime ends.
    drop(guard);
    other.client().close().await;
    Ok(())
}

/// Work under the lock passes the token to its storage, which refuses older ones.
async fn write_report(token: FencingToken) -> Result<u32, Failure> {
    println!("writing the report with token {token}");
    tokio::time::sleep(Duration::from_millis(50)).await;
    Ok(3)
}
