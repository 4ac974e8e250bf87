//! SQLite without a lock manager: the raw statements on a separate file, set up as dlock sets up
//! its file, one connection a process.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior::Immediate, params};
use tokio::task::spawn_blocking;
use uuid::Uuid;

use super::{Held, LEASE, Lock, Places, System};
use crate::counters;

/// How long a waiter sleeps between two tries.
const POLL: Duration = Duration::from_millis(20);

const TABLE: &str = "
CREATE TABLE IF NOT EXISTS raw_lock (
    name TEXT PRIMARY KEY, uuid TEXT NOT NULL, token INTEGER NOT NULL,
    expiry REAL NOT NULL, released INTEGER NOT NULL
) STRICT, WITHOUT ROWID";

/// Takes a row that is free or expired, with the next token. ?1 name, ?2 uuid, ?3 lease in seconds.
const TAKE: &str = "
INSERT INTO raw_lock AS l (name, uuid, token, expiry, released)
VALUES (?1, ?2, CAST(unixepoch('subsec') * 1000000 AS INTEGER), unixepoch('subsec') + ?3, 0)
ON CONFLICT (name) DO UPDATE SET uuid = excluded.uuid, expiry = excluded.expiry, released = 0,
    token = max(l.token + 1, excluded.token)
WHERE l.released OR l.expiry <= unixepoch('subsec')
RETURNING token";

/// Frees it. ?1 name, ?2 uuid.
const FREE: &str =
    "UPDATE raw_lock SET released = 1 WHERE name = ?1 AND uuid = ?2 AND NOT released";

type Shared = Arc<Mutex<Connection>>;

pub(super) async fn raw(places: Places) -> Result<Arc<dyn System>> {
    let folder: &Path = places.sqlite.as_deref().context("there is no SQLite")?;
    let connection = Connection::open(folder.join("raw.db"))?;
    connection.busy_timeout(Duration::from_secs(2))?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.execute(TABLE, [])?;
    Ok(Arc::new(Raw(Arc::new(Mutex::new(connection)))))
}

struct Raw(Shared);

struct RawLock(Shared, String);

struct RawHeld(Shared, String, String);

impl System for Raw {
    fn lock(&self, name: &str) -> Result<Box<dyn Lock>> {
        Ok(Box::new(RawLock(Arc::clone(&self.0), name.to_owned())))
    }
}

/// Runs statements on a blocking thread, as every asynchronous program must.
async fn on<T: Send + 'static>(
    shared: &Shared,
    work: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
) -> Result<T> {
    counters::count();
    let shared = Arc::clone(shared);
    let answer =
        spawn_blocking(move || work(&mut shared.lock().unwrap_or_else(PoisonError::into_inner)));
    Ok(answer.await??)
}

#[async_trait]
impl Lock for RawLock {
    async fn acquire(&self) -> Result<Box<dyn Held>> {
        let uuid = Uuid::new_v4().to_string();
        loop {
            let (name, new) = (self.1.clone(), uuid.clone());
            let token: Option<i64> = on(&self.0, move |connection| {
                let transaction = connection.transaction_with_behavior(Immediate)?;
                let mut take = transaction.prepare_cached(TAKE)?;
                let token = take
                    .query_row(params![name, new, LEASE.as_secs_f64()], |row| row.get(0))
                    .optional()?;
                drop(take);
                transaction.commit()?;
                Ok(token)
            })
            .await?;
            if token.is_some() {
                return Ok(Box::new(RawHeld(Arc::clone(&self.0), self.1.clone(), uuid)));
            }
            tokio::time::sleep(POLL).await;
        }
    }
}

#[async_trait]
impl Held for RawHeld {
    async fn release(self: Box<Self>) -> Result<()> {
        let Self(shared, name, uuid) = *self;
        let changed = on(&shared, move |connection| {
            let transaction = connection.transaction_with_behavior(Immediate)?;
            let changed = transaction
                .prepare_cached(FREE)?
                .execute(params![name, uuid])?;
            transaction.commit()?;
            Ok(changed)
        });
        ensure!(changed.await? == 1, "the lock was lost");
        Ok(())
    }
}
