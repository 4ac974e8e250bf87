//! rslock: polls after a random pause of up to 200 ms.

use std::sync::Arc;

use anyhow::Result;
use async_trait::async_trait;

use super::{Held, LEASE, Lock, Places, System, redis::url};

pub(super) async fn open(places: Places) -> Result<Arc<dyn System>> {
    Ok(Arc::new(Rslock(::rslock::LockManager::new(vec![url(
        &places,
    )?]))))
}

struct Rslock(::rslock::LockManager);

struct RslockLock(::rslock::LockManager, String);

impl System for Rslock {
    fn lock(&self, name: &str) -> Result<Box<dyn Lock>> {
        Ok(Box::new(RslockLock(
            self.0.clone(),
            format!("rslock:{name}"),
        )))
    }
}

#[async_trait]
impl Lock for RslockLock {
    async fn acquire(&self) -> Result<Box<dyn Held>> {
        Ok(Box::new(self.0.acquire(self.1.as_str(), LEASE).await?))
    }
}

#[async_trait]
impl Held for ::rslock::LockGuard {
    async fn release(self: Box<Self>) -> Result<()> {
        ::rslock::LockGuard::release(*self).await;
        Ok(())
    }
}
