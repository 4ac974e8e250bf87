//! redis-lock: runs a future under the lock; polls every 100 ms.

use std::sync::Arc;

use ::redis_lock::LockAcrossOptions;
use anyhow::{Result, anyhow};
use async_trait::async_trait;
use redis_0_27::aio::MultiplexedConnection;
use tokio::{
    sync::{Mutex, oneshot},
    task::JoinHandle,
};

use super::{Held, LEASE, Lock, Places, System, redis::url};

type Shared = Arc<Mutex<MultiplexedConnection>>;

pub(super) async fn open(places: Places) -> Result<Arc<dyn System>> {
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
                // No caller waits for it any more, so the lock is released at once.
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
