//! The peers on Postgres. Both are session locks: they live and die with a connection.

use std::sync::Arc;

use ::sqlx::{
    PgConnection, PgPool, Postgres,
    pool::PoolConnection,
    postgres::{PgAdvisoryLock, PgPoolOptions},
};
use anyhow::{Context, Result};
use async_trait::async_trait;
use distributed_lock_core::traits::{DistributedLock as _, LockProvider as _};
use distributed_lock_postgres::{
    PostgresLockProvider, handle::PostgresLockHandle, lock::PostgresDistributedLock,
};

use super::{Held, Lock, Places, System, postgres::POOL};

async fn pool(places: &Places) -> Result<PgPool> {
    let port = places.postgres.context("there is no Postgres")?;
    let url = format!("postgres://postgres@127.0.0.1:{port}/postgres?sslmode=disable");
    Ok(PgPoolOptions::new()
        .max_connections(u32::try_from(POOL)?)
        .connect(&url)
        .await?)
}

// sqlx's PgAdvisoryLock.

pub(super) async fn sqlx(places: Places) -> Result<Arc<dyn System>> {
    Ok(Arc::new(Sqlx(pool(&places).await?)))
}

struct Sqlx(PgPool);

struct SqlxLock(PgPool, Arc<PgAdvisoryLock>);

struct SqlxHeld(Connection, Arc<PgAdvisoryLock>);

impl System for Sqlx {
    fn lock(&self, name: &str) -> Result<Box<dyn Lock>> {
        let lock = PgAdvisoryLock::new(name);
        Ok(Box::new(SqlxLock(self.0.clone(), Arc::new(lock))))
    }
}

#[async_trait]
impl Lock for SqlxLock {
    async fn acquire(&self) -> Result<Box<dyn Held>> {
        let connection = Connection(Some(self.0.acquire().await?));
        let guard = self.1.acquire(connection).await?;
        Ok(Box::new(SqlxHeld(guard.leak(), Arc::clone(&self.1))))
    }
}

#[async_trait]
impl Held for SqlxHeld {
    async fn release(self: Box<Self>) -> Result<()> {
        let Self(connection, lock) = *self;
        let (mut connection, _released) = lock.force_release(connection).await?;
        // Back to its pool.
        drop(connection.0.take());
        Ok(())
    }
}

/// A connection that is closed, not returned to its pool, unless its work ended.
struct Connection(Option<PoolConnection<Postgres>>);

impl AsMut<PgConnection> for Connection {
    #[expect(
        clippy::expect_used,
        reason = "the connection is taken out only by the owner of the whole value"
    )]
    fn as_mut(&mut self) -> &mut PgConnection {
        self.0.as_mut().expect("the connection is there")
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(connection) = self.0.take() {
            drop(connection.detach());
        }
    }
}

// distributed-lock-postgres: an advisory lock of a session, taken in five statements.

pub(super) async fn distributed_lock(places: Places) -> Result<Arc<dyn System>> {
    let provider = PostgresLockProvider::builder()
        .pool(pool(&places).await?)
        .build();
    Ok(Arc::new(Distributed(provider.await?)))
}

struct Distributed(PostgresLockProvider);

struct DistributedLock(PostgresDistributedLock);

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
impl Held for PostgresLockHandle {
    async fn release(self: Box<Self>) -> Result<()> {
        Ok(distributed_lock_core::traits::LockHandle::release(*self).await?)
    }
}
