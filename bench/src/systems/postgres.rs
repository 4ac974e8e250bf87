//! Postgres without a lock manager: the raw compare-and-set statements, and the handwritten locks,
//! which live and die with a connection.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use anyhow::{Context, Result, ensure};
use async_trait::async_trait;
use deadpool_postgres::{
    Manager, Object, Pool,
    tokio_postgres::{Config, NoTls},
};
use uuid::Uuid;

use super::{Held, LEASE, Lock, Places, System};

/// The most connections of each system in one process.
const POOL: usize = 32;

/// The tables of the handwritten locks. No parameters, no result; safe to repeat.
pub(crate) const TABLES: &str = "
CREATE TABLE IF NOT EXISTS raw_lock (
    name text PRIMARY KEY, uuid uuid NOT NULL, token bigint NOT NULL,
    expiry timestamptz NOT NULL, released boolean NOT NULL
) WITH (fillfactor = 70);
CREATE TABLE IF NOT EXISTS row_lock (name text PRIMARY KEY);";

/// Takes a row that is free or expired, with the next token. $1 name, $2 uuid, $3 lease in
/// milliseconds. Result: the token, or no row.
pub(super) const TAKE: &str = "
INSERT INTO raw_lock AS l (name, uuid, token, expiry, released)
VALUES ($1, $2, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
    clock_timestamp() + $3::bigint * interval '1 millisecond', false)
ON CONFLICT (name) DO UPDATE SET uuid = excluded.uuid, expiry = excluded.expiry, released = false,
    token = greatest(l.token + 1, excluded.token)
WHERE l.released OR l.expiry <= clock_timestamp()
RETURNING token";

/// Frees it, without waiting for the disk. $1 name, $2 uuid. Result: a row if it was ours.
const FREE: &str = "
WITH careless AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true) AS set)
UPDATE raw_lock SET released = true FROM careless
WHERE name = $1 AND uuid = $2 AND NOT released AND careless.set = 'off'
RETURNING true";

/// The address of the server.
pub(super) fn config(places: &Places) -> Result<Config> {
    let port = places.postgres.context("there is no Postgres")?;
    let mut config = Config::new();
    config
        .host("127.0.0.1")
        .port(port)
        .user("postgres")
        .dbname("postgres")
        .connect_timeout(std::time::Duration::from_secs(5));
    Ok(config)
}

/// A pool of the same driver that dlock uses.
pub(crate) fn pool_at(places: &Places) -> Result<Pool> {
    let manager = Manager::new(config(places)?, NoTls);
    Ok(Pool::builder(manager).max_size(POOL).build()?)
}

pub(super) async fn raw(places: Places) -> Result<Arc<dyn System>> {
    open(&places, Way::Raw).await
}

pub(super) async fn for_update(places: Places) -> Result<Arc<dyn System>> {
    open(&places, Way::ForUpdate).await
}

pub(super) async fn advisory(places: Places) -> Result<Arc<dyn System>> {
    open(&places, Way::Advisory).await
}

async fn open(places: &Places, way: Way) -> Result<Arc<dyn System>> {
    let pool = pool_at(places)?;
    // Connected before anything is measured.
    drop(pool.get().await?);
    Ok(Arc::new(Postgres(pool, way)))
}

#[derive(Clone, Copy)]
enum Way {
    Raw,
    ForUpdate,
    Advisory,
}

struct Postgres(Pool, Way);

struct PostgresLock {
    pool: Pool,
    way: Way,
    name: String,
    /// Makes sure that the row that FOR UPDATE locks exists.
    made: AtomicBool,
}

impl System for Postgres {
    fn lock(&self, name: &str) -> Result<Box<dyn Lock>> {
        Ok(Box::new(PostgresLock {
            pool: self.0.clone(),
            way: self.1,
            name: name.to_owned(),
            made: AtomicBool::new(false),
        }))
    }
}

#[async_trait]
impl Lock for PostgresLock {
    async fn acquire(&self) -> Result<Box<dyn Held>> {
        let name = self.name.as_str();
        let connection = Connection(Some(self.pool.get().await?));
        let mut held = PostgresHeld {
            connection,
            way: self.way,
            name: name.to_owned(),
            uuid: Uuid::nil(),
        };
        let client = held.connection.client()?;
        match self.way {
            Way::Raw => {
                let uuid = Uuid::new_v4();
                let lease = i64::try_from(LEASE.as_millis())?;
                let take = client.prepare_cached(TAKE).await?;
                let row = client.query_opt(&take, &[&name, &uuid, &lease]).await?;
                ensure!(row.is_some(), "{name} is held");
                held.uuid = uuid;
            }
            Way::ForUpdate => {
                if !self.made.load(Ordering::Relaxed) {
                    let make = "INSERT INTO row_lock VALUES ($1) ON CONFLICT DO NOTHING";
                    client.execute(make, &[&name]).await?;
                    self.made.store(true, Ordering::Relaxed);
                }
                client.batch_execute("BEGIN").await?;
                let take = "SELECT FROM row_lock WHERE name = $1 FOR UPDATE";
                let take = client.prepare_cached(take).await?;
                client.query_one(&take, &[&name]).await?;
            }
            Way::Advisory => {
                let take = "SELECT pg_advisory_lock(hashtextextended($1, 0))";
                let take = client.prepare_cached(take).await?;
                client.query_one(&take, &[&name]).await?;
            }
        }
        Ok(Box::new(held))
    }
}

struct PostgresHeld {
    connection: Connection,
    way: Way,
    name: String,
    uuid: Uuid,
}

#[async_trait]
impl Held for PostgresHeld {
    async fn release(mut self: Box<Self>) -> Result<()> {
        let client = self.connection.client()?;
        match self.way {
            Way::Raw => {
                let free = client.prepare_cached(FREE).await?;
                let row = client.query_opt(&free, &[&self.name, &self.uuid]).await?;
                ensure!(row.is_some(), "{} was lost", self.name);
            }
            Way::ForUpdate => client.batch_execute("COMMIT").await?,
            Way::Advisory => {
                let free = "SELECT pg_advisory_unlock(hashtextextended($1, 0))";
                let free = client.prepare_cached(free).await?;
                client.query_one(&free, &[&self.name]).await?;
            }
        }
        self.connection.give_back();
        Ok(())
    }
}

/// A connection that is closed, not returned to its pool, unless its work ended: a statement that waits
/// for a lock would otherwise keep waiting on it.
struct Connection(Option<Object>);

impl Connection {
    fn client(&self) -> Result<&Object> {
        self.0.as_ref().context("the connection was given back")
    }

    fn give_back(&mut self) {
        drop(self.0.take());
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(connection) = self.0.take() {
            drop(Object::take(connection));
        }
    }
}
