//! rlock: polls every 100 ms, renews in the background.

use std::sync::Arc;

use ::rlock::{AcquireOptions, async_lock::RLockGuard};
use anyhow::Result;
use async_trait::async_trait;

use super::{Held, LEASE, Lock, Places, System, redis::url};

pub(super) async fn open(places: Places) -> Result<Arc<dyn System>> {
    let options = AcquireOptions::builder().ttl(LEASE).build()?;
    let manager = ::rlock::async_lock::RLock::new(url(&places)?).await?;
    Ok(Arc::new(Rlock(manager, options)))
}

struct Rlock(::rlock::async_lock::RLock, AcquireOptions);

struct RlockLock(::rlock::async_lock::RLock, AcquireOptions, String);

impl System for Rlock {
    fn lock(&self, name: &str) -> Result<Box<dyn Lock>> {
        let Self(manager, options) = self;
        Ok(Box::new(RlockLock(
            manager.clone(),
            options.clone(),
            format!("rlock:{name}"),
        )))
    }
}

#[async_trait]
impl Lock for RlockLock {
    async fn acquire(&self) -> Result<Box<dyn Held>> {
        let Self(manager, options, key) = self;
        let guard = manager.acquire_mutex_with_options(key, options.clone());
        Ok(Box::new(guard.await?))
    }
}

#[async_trait]
impl Held for RLockGuard {
    async fn release(mut self: Box<Self>) -> Result<()> {
        Ok(RLockGuard::release(&mut self).await?)
    }
}
