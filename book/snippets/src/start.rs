//! "Start here": two jobs that cron starts on every host.

// ANCHOR: once
use std::time::Duration;

use dlock::{DLock, FencingToken, Provider, TryAcquire};

/// Every host calls this at three in the morning; one of them writes the report.
pub async fn nightly_report(
    store: impl Provider,
    reports: &Reports,
) -> Result<(), crate::Failure> {
    let lock = DLock::builder()
        .name("nightly-report")
        .at_least(Duration::from_secs(600))
        .provider(store)
        .build()?;
    match lock.try_acquire().await? {
        TryAcquire::Acquired(lease) => {
            lease.with_result(|token| reports.write(token)).await?
        }
        TryAcquire::Held(holder) => println!("nothing to do: {holder}"),
    }
    // Waits for releases that are still in progress. Without this, the end of
    // `main` would cut them off.
    lock.client().close().await;
    Ok(())
}
// ANCHOR_END: once

// ANCHOR: each
/// Every call does the work, one after the other, whichever host it is on.
pub async fn import(
    store: impl Provider,
    reports: &Reports,
) -> Result<(), crate::Failure> {
    let lock = DLock::builder().name("import").provider(store).build()?;
    lock.with_result(|token| reports.write(token)).await?;
    lock.client().close().await;
    Ok(())
}
// ANCHOR_END: each

/// The place where reports are written; it counts them, and notices two at once.
#[derive(Debug, Default)]
pub struct Reports {
    /// The tokens with which reports were written.
    pub written: std::sync::Mutex<Vec<FencingToken>>,
    writing: tokio::sync::Mutex<()>,
}

impl Reports {
    async fn write(&self, token: FencingToken) -> Result<(), crate::Failure> {
        let _alone = self.writing.try_lock()?;
        tokio::time::sleep(Duration::from_millis(20)).await;
        if let Ok(mut written) = self.written.lock() {
            written.push(token);
        }
        Ok(())
    }
}
