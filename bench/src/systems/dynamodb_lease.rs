//! dynamodb-lease: polls every second across processes, queues in a process.

use std::sync::Arc;

use anyhow::Result;
use async_trait::async_trait;

use super::{Held, LEASE, Lock, Places, System, dynamodb::client_at};

/// Its table, and the key of that.
pub(super) const TABLE: (&str, &str) = ("dynamodb-lease", "key");

pub(super) async fn open(places: Places) -> Result<Arc<dyn System>> {
    let client = dynamodb_lease::Client::builder()
        .table_name(TABLE.0)
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
