//! dlock itself, through its frontend.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context, Result, bail};
use async_trait::async_trait;
use deadpool_postgres::tokio_postgres::NoTls;
use dlock_core::{Client, DLock, Lease, Provider, ReleaseEnd};
use dlock_dynamodb::DynamodbProvider;
use dlock_http::{HttpProvider, Server};
use dlock_postgres::PostgresProvider;
use dlock_redis::{Channels, RedisProvider};
use dlock_sqlite::SqliteProvider;

use super::{Held, LEASE, Lock, Places, Store, System, dynamodb, postgres};
use crate::counters::Counted;

/// The table of the DynamoDB-compatible store.
pub(crate) const TABLE: &str = "dlock";

/// How waiters in other processes learn of a release, where the store can notify them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Waiting {
    /// The store notifies them: the recommended setting.
    Called,
    /// They poll, as they do by default.
    Polled,
}

/// A provider of this process, as a user would make it.
pub(crate) fn provider(
    store: Store,
    places: &Places,
    waiting: Waiting,
) -> Result<Arc<dyn Provider>> {
    Ok(match store {
        Store::Redis => Arc::new(redis(places, waiting)?),
        Store::Postgres => Arc::new(postgres_provider(places, waiting)?),
        // A file counts no calls itself.
        Store::SQLite => Arc::new(Counted::new(SqliteProvider::open(file(places)?)?)),
        Store::DynamoDb => Arc::new(dynamodb_provider(places)?),
    })
}

fn redis(places: &Places, waiting: Waiting) -> Result<RedisProvider> {
    let port = places.redis.context("there is no Redis")?;
    let client = redis::Client::open(("127.0.0.1", port))?;
    let called = matches!(waiting, Waiting::Called);
    let provider = RedisProvider::builder()
        .client(client)
        .wakeups_opt(called.then_some(Channels::Plain))
        .build()?;
    Ok(provider)
}

pub(crate) fn postgres_provider(places: &Places, waiting: Waiting) -> Result<PostgresProvider> {
    let builder = PostgresProvider::builder().pool(postgres::pool_at(places)?);
    Ok(match waiting {
        Waiting::Called => builder.listen(postgres::config(places)?, NoTls).build()?,
        Waiting::Polled => builder.build()?,
    })
}

pub(crate) fn dynamodb_provider(places: &Places) -> Result<DynamodbProvider> {
    let client = dynamodb::client_at(places)?;
    Ok(DynamodbProvider::builder()
        .client(client)
        .table_name(TABLE)
        .build()?)
}

/// The file of the locks.
pub(crate) fn file(places: &Places) -> Result<std::path::PathBuf> {
    let folder: &Path = places.sqlite.as_deref().context("there is no SQLite")?;
    Ok(folder.join("dlock.db"))
}

pub(super) async fn open(
    store: Store,
    places: Places,
    waiting: Waiting,
) -> Result<Arc<dyn System>> {
    let lease = places.lease.unwrap_or(LEASE);
    // Opening a file blocks.
    let provider = tokio::task::spawn_blocking(move || provider(store, &places, waiting)).await??;
    through(Client::new(provider), lease)
}

/// Through one of our servers.
pub(crate) async fn over_http(port: u16) -> Result<Arc<dyn System>> {
    let address = format!("http://127.0.0.1:{port}");
    let server = Server::new(reqwest::Client::new(), [address.as_str()])?;
    through(Client::new(HttpProvider::connect(server).await?), LEASE)
}

fn through(client: Client, lease: Duration) -> Result<Arc<dyn System>> {
    Ok(Arc::new(Ours(build(client, "template", lease)?)))
}

pub(crate) fn build(client: Client, name: &str, lease: Duration) -> Result<DLock> {
    let lock = DLock::builder().name(name).duration(lease);
    Ok(lock.provider(client).build()?)
}

struct Ours(DLock);

impl System for Ours {
    fn lock(&self, name: &str) -> Result<Box<dyn Lock>> {
        Ok(Box::new(OurLock(self.0.named(name)?)))
    }

    fn owned(&self, name: &str, owner: &str) -> Result<Box<dyn Lock>> {
        Ok(Box::new(OurLock(self.0.named(name)?.owned_by(owner)?)))
    }
}

struct OurLock(DLock);

#[async_trait]
impl Lock for OurLock {
    async fn acquire(&self) -> Result<Box<dyn Held>> {
        Ok(Box::new(OurLease(self.0.acquire().await?)))
    }
}

struct OurLease(Lease);

#[async_trait]
impl Held for OurLease {
    async fn release(self: Box<Self>) -> Result<()> {
        match self.0.release().await? {
            ReleaseEnd::Released => Ok(()),
            other => bail!("the lease ended as {other:?}"),
        }
    }
}
