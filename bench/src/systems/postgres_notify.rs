//! The raw compare-and-set on Postgres, with NOTIFY for the waiters: the handwritten way to wake waiters without a
//! connection for each of them. This shows the cost of a message between two processes.

use std::{pin::pin, sync::Arc, time::Duration};

use anyhow::{Result, ensure};
use async_trait::async_trait;
use deadpool_postgres::{
    Pool,
    tokio_postgres::{AsyncMessage, Client, NoTls},
};
use futures_util::{StreamExt, stream::poll_fn};
use tokio::{sync::Notify, time::timeout};
use uuid::Uuid;

use super::{
    Held, LEASE, Lock, Places, System,
    postgres::{TAKE, config, pool_at},
};

/// A message may be lost with its connection.
const POLL: Duration = Duration::from_secs(1);

/// Frees it, without waiting for the disk, and notifies all listeners. $1 name, $2 uuid. Result: a row if it was ours.
const FREE: &str = "
WITH careless AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true) AS set),
freed AS (
    UPDATE raw_lock SET released = true FROM careless
    WHERE name = $1 AND uuid = $2 AND NOT released AND careless.set = 'off'
    RETURNING name)
SELECT pg_notify('raw_lock', name) FROM freed";

pub(super) async fn open(places: Places) -> Result<Arc<dyn System>> {
    let pool = pool_at(&places)?;
    // Connected before anything is measured.
    drop(pool.get().await?);
    let (listener, mut connection) = config(&places)?.connect(NoTls).await?;
    let freed = Arc::new(Notify::new());
    let told = Arc::clone(&freed);
    tokio::spawn(async move {
        let mut messages = poll_fn(|context| connection.poll_message(context));
        while let Some(Ok(message)) = messages.next().await {
            if matches!(message, AsyncMessage::Notification(_)) {
                told.notify_waiters();
            }
        }
    });
    listener.batch_execute("LISTEN raw_lock").await?;
    Ok(Arc::new(Notified(Arc::new(Process {
        pool,
        freed,
        _listener: listener,
    }))))
}

/// The part of the system in one process.
struct Process {
    pool: Pool,
    /// Notified whenever some lock was released.
    freed: Arc<Notify>,
    /// Dropping it ends the connection.
    _listener: Client,
}

struct Notified(Arc<Process>);

struct NotifiedLock {
    process: Arc<Process>,
    name: String,
}

impl System for Notified {
    fn lock(&self, name: &str) -> Result<Box<dyn Lock>> {
        Ok(Box::new(NotifiedLock {
            process: Arc::clone(&self.0),
            name: name.to_owned(),
        }))
    }
}

impl NotifiedLock {
    async fn take(&self, uuid: Uuid) -> Result<bool> {
        let client = self.process.pool.get().await?;
        let lease = i64::try_from(LEASE.as_millis())?;
        let take = client.prepare_cached(TAKE).await?;
        let row = client
            .query_opt(&take, &[&self.name, &uuid, &lease])
            .await?;
        Ok(row.is_some())
    }
}

#[async_trait]
impl Lock for NotifiedLock {
    async fn acquire(&self) -> Result<Box<dyn Held>> {
        let uuid = Uuid::new_v4();
        loop {
            // Armed before the try.
            let mut freed = pin!(self.process.freed.notified());
            freed.as_mut().enable();
            if self.take(uuid).await? {
                break;
            }
            let _told = timeout(POLL, freed).await;
        }
        Ok(Box::new(NotifiedHeld {
            pool: self.process.pool.clone(),
            name: self.name.clone(),
            uuid,
        }))
    }
}

struct NotifiedHeld {
    pool: Pool,
    name: String,
    uuid: Uuid,
}

#[async_trait]
impl Held for NotifiedHeld {
    async fn release(self: Box<Self>) -> Result<()> {
        let client = self.pool.get().await?;
        let free = client.prepare_cached(FREE).await?;
        let row = client.query_opt(&free, &[&self.name, &self.uuid]).await?;
        ensure!(row.is_some(), "{} was lost", self.name);
        Ok(())
    }
}
