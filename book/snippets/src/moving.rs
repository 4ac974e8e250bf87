//! "Coming from another lock": both locks for a while, the old one first.

// ANCHOR: advisory
use dlock::{
    DLock, FencingToken, postgres::deadpool_postgres::tokio_postgres::Client,
};

use crate::Failure;

/// The advisory lock around dlock's, while processes of the old release remain. Use
/// `client` for nothing else meanwhile, since its session holds the lock.
pub async fn report(
    client: &Client,
    lock: &DLock,
    work: impl AsyncFnOnce(FencingToken) -> Result<(), Failure>,
) -> Result<(), Failure> {
    client.execute("SELECT pg_advisory_lock(4711)", &[]).await?;
    let done = lock.with_result(async |token| work(token).await).await;
    client
        .execute("SELECT pg_advisory_unlock(4711)", &[])
        .await?;
    done
}
// ANCHOR_END: advisory
