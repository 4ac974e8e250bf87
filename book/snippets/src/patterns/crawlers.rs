//! At most N at a time, over all hosts.

// ANCHOR: crawl
use std::time::Duration;

use dlock::{DLock, Error, several::Semaphore};

/// Fetches a page, while all hosts together fetch at most eight at a time.
pub async fn crawl(
    lock: &DLock,
    page: &str,
) -> Result<String, Box<dyn std::error::Error>> {
    let crawlers = Semaphore::new(&lock.named("crawlers")?, 8)?;
    match crawlers.acquire_timeout(Duration::from_secs(30)).await {
        Ok(permit) => Ok(permit.lease.with(async |_| fetch(page).await).await?),
        Err(error @ Error::Timeout { .. }) if error.store_error().is_none() => {
            Err("too many are at it already".into())
        }
        Err(error) => Err(error.into()),
    }
}
// ANCHOR_END: crawl

async fn fetch(page: &str) -> String {
    tokio::time::sleep(Duration::from_millis(20)).await;
    page.to_uppercase()
}
