//! dlock 0.2.0, the crate of that name on crates.io: retries at once, without a pause.

use std::{sync::Arc, time::Duration};

use ::dlock_0_2::{
    DLock as OldLock, DynamodbLease as OldLease, DynamodbProvider as OldProvider,
    Lease as OldRelease, error::DLockError,
};
use anyhow::{Result, anyhow};
use async_trait::async_trait;

use super::{Held, LEASE, Lock, Places, System, dynamodb::client_at};

/// Its table, and the key of that.
pub(super) const TABLE: (&str, &str) = ("dlock-0-2", OldProvider::NAME_ATTRIBUTE);

pub(super) async fn open(places: Places) -> Result<Arc<dyn System>> {
    let provider = OldProvider::builder()
        .client(client_at(&places)?)
        .table_name(TABLE.0.to_owned())
        .build();
    Ok(Arc::new(Old(provider)))
}

struct Old(OldProvider);

struct OldWaiter(OldLock<OldProvider>);

impl System for Old {
    fn lock(&self, name: &str) -> Result<Box<dyn Lock>> {
        let lock = OldLock::builder()
            .name(name.to_owned())
            .owner("bench".to_owned())
            .duration(LEASE)
            .provider(self.0.clone())
            .build();
        Ok(Box::new(OldWaiter(lock)))
    }
}

#[async_trait]
impl Lock for OldWaiter {
    // The way its own `with` waits, with its default pause.
    async fn acquire(&self) -> Result<Box<dyn Held>> {
        let mut seen = None;
        loop {
            let answer = match seen.take() {
                None => self.0.acquire().await,
                Some(retry) => self.0.retry(retry).await,
            };
            match answer {
                Ok(lease) => return Ok(Box::new(lease)),
                Err(DLockError::AlreadyAcquired(retry)) => seen = Some(retry),
                Err(DLockError::AlreadyReleased) => {}
                Err(DLockError::ProviderError(error)) => return Err(anyhow!(error)),
            }
            tokio::time::sleep(Duration::ZERO).await;
        }
    }
}

#[async_trait]
impl Held for OldLease {
    async fn release(self: Box<Self>) -> Result<()> {
        let released = OldRelease::release(&*self).await;
        released.map_err(|error| anyhow!("dlock 0.2.0: {error}"))
    }
}
