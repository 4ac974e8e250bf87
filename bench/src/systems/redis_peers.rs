//! The peers on Redis, with their own defaults except for the lease.

use std::sync::Arc;

use ::redis_lock::LockAcrossOptions;
use ::rlock::{AcquireOptions, async_lock::RLockGuard};
use anyhow::{Context, Result, anyhow};
use async_trait::async_trait;
use distributed_lock_core::traits::{DistributedLock as _, LockProvider as _};
use distributed_lock_redis::{RedisDistributedLock, RedisLockHandle, RedisLockProvider};
use redis_0_27::aio::MultiplexedConnection;
use tokio::{
    sync::{Mutex, oneshot},
    task::{JoinHandle, spawn_blocking},
};

use super::{Held, LEASE, Lock, Places, System};

fn url(places: &Places) -> Result<String> {
    let port = places.redis.context("there is no Redis")?;
    Ok(format!("redis://127.0.0.1:{port}/"))
}

// rslock: polls after a random pause of up to 200 ms.

pub(super) async fn rslock(places: Places) -> Result<Arc<dyn System>> {
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

// rlock: polls every 100 ms, renews in the background.

pub(super) async fn rlock(places: Places) -> Result<Arc<dyn System>> {
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

// redlock: blocks a thread and connects anew for each call; polls after up to 200 ms.

pub(super) async fn redlock(places: Places) -> Result<Arc<dyn System>> {
    let manager = ::redlock::RedLock::new(vec![url(&places)?]);
    Ok(Arc::new(Redlock(Arc::new(manager))))
}

struct Redlock(Arc<::redlock::RedLock>);

struct RedlockLock(Arc<::redlock::RedLock>, String);

struct RedlockHeld {
    manager: Arc<::redlock::RedLock>,
    resource: Vec<u8>,
    value: Vec<u8>,
}

impl System for Redlock {
    fn lock(&self, name: &str) -> Result<Box<dyn Lock>> {
        Ok(Box::new(RedlockLock(
            Arc::clone(&self.0),
            format!("redlock:{name}"),
        )))
    }
}

#[async_trait]
impl Lock for RedlockLock {
    async fn acquire(&self) -> Result<Box<dyn Held>> {
        let lease = usize::try_from(LEASE.as_millis())?;
        // Its own `acquire` is this loop; here it ends when nobody waits any more.
        loop {
            let (manager, key) = (Arc::clone(&self.0), self.1.clone());
            let held = spawn_blocking(move || {
                let taken = manager.lock(key.as_bytes(), lease)?;
                Ok::<_, anyhow::Error>(taken.map(|lock| (lock.resource, lock.val)))
            });
            if let Some((resource, value)) = held.await?? {
                let manager = Arc::clone(&self.0);
                return Ok(Box::new(RedlockHeld {
                    manager,
                    resource,
                    value,
                }));
            }
        }
    }
}

#[async_trait]
impl Held for RedlockHeld {
    async fn release(self: Box<Self>) -> Result<()> {
        let unlocked = spawn_blocking(move || {
            let Self {
                manager,
                resource,
                value,
            } = *self;
            manager.unlock(&::redlock::Lock {
                resource,
                val: value,
                validity_time: 0,
                lock_manager: &manager,
            });
        });
        Ok(unlocked.await?)
    }
}

// redis-lock: runs a future under the lock; polls every 100 ms.

type Shared = Arc<Mutex<MultiplexedConnection>>;

pub(super) async fn redis_lock(places: Places) -> Result<Arc<dyn System>> {
    let client = redis_0_27::Client::open(url(&places)?)?;
    let connection = client.get_multiplexed_async_connection().await?;
    Ok(Arc::new(RedisLock(Arc::new(Mutex::new(connection)))))
}

struct RedisLock(Shared);

struct RedisLockLock(Shared, String);

struct RedisLockHeld {
    work_ends: oneshot::Sender<()>,
    call: JoinHandle<Result<()>>,
}

impl System for RedisLock {
    fn lock(&self, name: &str) -> Result<Box<dyn Lock>> {
        Ok(Box::new(RedisLockLock(
            Arc::clone(&self.0),
            name.to_owned(),
        )))
    }
}

#[async_trait]
impl Lock for RedisLockLock {
    async fn acquire(&self) -> Result<Box<dyn Held>> {
        let options = LockAcrossOptions {
            ttl: LEASE,
            ..LockAcrossOptions::default()
        };
        let (connection, name) = (Arc::clone(&self.0), self.1.clone());
        let (work_begins, begun) = oneshot::channel();
        let (work_ends, ended) = oneshot::channel::<()>();
        let mut call = tokio::spawn(async move {
            let work = async move {
                // Nobody waits for it any more: the lock goes back at once.
                if work_begins.send(()).is_ok() {
                    ended.await.unwrap_or_default();
                }
            };
            let done = ::redis_lock::lock_across(&[connection], &name, work, options).await;
            done.map_err(|error| anyhow!("redis-lock: {error}"))
        });
        tokio::select! {
            Ok(()) = begun => Ok(Box::new(RedisLockHeld { work_ends, call })),
            failed = &mut call => {
                failed??;
                Err(anyhow!("redis-lock ended without running the work"))
            }
        }
    }
}

#[async_trait]
impl Held for RedisLockHeld {
    async fn release(self: Box<Self>) -> Result<()> {
        let Self { work_ends, call } = *self;
        drop(work_ends);
        call.await?
    }
}

// distributed-lock-redis: tries once and does not wait, renews in the background.

pub(super) async fn distributed_lock(places: Places) -> Result<Arc<dyn System>> {
    let provider = RedisLockProvider::builder()
        .url(url(&places)?)
        .expiry(LEASE)
        .min_validity(LEASE * 9 / 10)
        .extension_cadence(LEASE / 3)
        .build();
    Ok(Arc::new(Distributed(provider.await?)))
}

struct Distributed(RedisLockProvider);

struct DistributedLock(RedisDistributedLock);

impl System for Distributed {
    fn lock(&self, name: &str) -> Result<Box<dyn Lock>> {
        Ok(Box::new(DistributedLock(self.0.create_lock(name))))
    }
}

#[async_trait]
impl Lock for DistributedLock {
    async fn acquire(&self) -> Result<Box<dyn Held>> {
        Ok(Box::new(self.0.acquire(None).await?))
    }
}

#[async_trait]
impl Held for RedisLockHandle {
    async fn release(self: Box<Self>) -> Result<()> {
        Ok(distributed_lock_core::traits::LockHandle::release(*self).await?)
    }
}
