//! The peers on the DynamoDB-compatible store.

use std::{sync::Arc, time::Duration};

use ::dlock_0_2::{
    DLock as OldLock, DynamodbLease as OldLease, DynamodbProvider as OldProvider,
    Lease as OldRelease, error::DLockError,
};
use anyhow::{Result, anyhow};
use async_trait::async_trait;

use super::{Held, LEASE, Lock, Places, System, dynamodb::client_at};

pub(super) const LEASE_TABLE: &str = "dynamodb-lease";
/// The table of dlock 0.2.0, and its key.
pub(super) const OLD_TABLE: (&str, &str) = ("dlock-0-2", OldProvider::NAME_ATTRIBUTE);

// dynamodb-lease: polls every second across processes, queues in a process.

pub(super) async fn lease(places: Places) -> Result<Arc<dyn System>> {
    let client = dynamodb_lease::Client::builder()
        .table_name(LEASE_TABLE)
        .lease_ttl_seconds(u32::try_from(LEASE.as_secs())?)
        .build_and_check_db(client_at(&places)?);
    Ok(Arc::new(Leases(client.await?)))
}

struct Leases(dynamodb_lease::Client);

struct LeaseLock(dynamodb_lease::Client, String);

impl System for Leases {
    fn lock(&self, name: &str) -> Result<Box<dyn Lock>> {
        Ok(Box::new(LeaseLock(self.0.clone(), name.to_owned())))
    }
}

#[async_trait]
impl Lock for LeaseLock {
    async fn acquire(&self) -> Result<Box<dyn Held>> {
        Ok(Box::new(self.0.acquire(&self.1).await?))
    }
}

#[async_trait]
impl Held for dynamodb_lease::Lease {
    async fn release(self: Box<Self>) -> Result<()> {
        dynamodb_lease::Lease::release(*self).await
    }
}

// dlock 0.2.0, the crate of that name on crates.io: tries again at once, without a pause.

pub(super) async fn dlock_0_2(places: Places) -> Result<Arc<dyn System>> {
    let provider = OldProvider::builder()
        .client(client_at(&places)?)
        .table_name(OLD_TABLE.0.to_owned())
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
    // The way its own `with` waits, with the pause that is its default.
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
