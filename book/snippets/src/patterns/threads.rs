//! A program without async.

// ANCHOR: work
use std::{path::Path, time::Duration};

use dlock::{
    DLock, FencingToken,
    blocking::{Runtime, TryAcquire},
    sqlite::SqliteProvider,
};

type Failure = Box<dyn std::error::Error>;

/// Returns whether this process did the work.
pub fn nightly(file: &Path) -> Result<bool, Failure> {
    let runtime = Runtime::new()?;
    let lock = DLock::builder()
        .name("nightly")
        .at_least(Duration::from_secs(600))
        .provider(SqliteProvider::open(file)?)
        .build()?;
    let TryAcquire::Acquired(lease) = runtime.lock(lock).try_acquire()? else {
        return Ok(false);
    };
    lease.with_result(|guard| {
        for page in 1..=3 {
            // A thread cannot be stopped from outside: it has to check.
            if !guard.is_valid() {
                break;
            }
            write(page, guard.token())?;
        }
        Ok(true)
    })
}
// ANCHOR_END: work

fn write(page: u32, token: FencingToken) -> Result<(), Failure> {
    println!("page {page} with token {token}");
    Ok(())
}
