//! Tests of a program with locks.

use dlock::{DLock, Error, TryAcquire};

// ANCHOR: program
/// Writes the report, unless another process is writing it; returns whether it did.
pub async fn report(lock: &DLock, pages: &mut Vec<u32>) -> Result<bool, Error> {
    match lock.try_acquire().await? {
        TryAcquire::Acquired(lease) => {
            lease
                .with(async |_token| {
                    for page in 1..=3 {
                        tokio::time::sleep(std::time::Duration::from_secs(60))
                            .await;
                        pages.push(page);
                    }
                })
                .await?;
            Ok(true)
        }
        TryAcquire::Held(_) => Ok(false),
    }
}
// ANCHOR_END: program
