//! The systems under measurement: ours, the raw calls, handwritten locks and the peers, all behind one trait,
//! one line each in [`SYSTEMS`].

#[cfg(feature = "peers")]
mod dlock_0_2;
mod dynamodb;
#[cfg(feature = "peers")]
mod dynamodb_lease;
pub(crate) mod ours;
mod postgres;
mod postgres_notify;
mod redis;
#[cfg(feature = "peers")]
mod redis_lock;
#[cfg(feature = "peers")]
mod rlock;
#[cfg(feature = "peers")]
mod rslock;
mod sqlite;

use std::{fmt, path::PathBuf, pin::Pin, sync::Arc, time::Duration};

use anyhow::{Context as _, Result};
use async_trait::async_trait;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use self::ours::Waiting;
pub(crate) use self::{
    dynamodb::{client_at as dynamodb_client, tables as dynamodb_tables},
    postgres::{TABLES as POSTGRES_TABLES, pool_at as postgres_pool},
};

/// A connected lock manager: the part of it in one process.
pub(crate) trait System: Send + Sync {
    /// The lock of this name. Sends no request.
    fn lock(&self, name: &str) -> Result<Box<dyn Lock>>;

    /// The same lock under an owner's name, where a system has owners.
    fn owned(&self, name: &str, _owner: &str) -> Result<Box<dyn Lock>> {
        self.lock(name)
    }
}

/// A lock that can be acquired again and again.
#[async_trait]
pub(crate) trait Lock: Send + Sync {
    /// Waits until the lock is acquired. Systems that cannot wait fail when it is held.
    async fn acquire(&self) -> Result<Box<dyn Held>>;
}

/// A lock that is held.
#[async_trait]
pub(crate) trait Held: Send {
    /// Returns when the store has applied the release.
    async fn release(self: Box<Self>) -> Result<()>;
}

/// Where locks are kept.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Store {
    Redis,
    Postgres,
    #[value(name = "sqlite")]
    SQLite,
    #[value(name = "dynamodb")]
    DynamoDb,
}

/// The part a system plays in a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Ours,
    /// The fewest calls that do the same to the store: compare and set, with a token and an expiry.
    Raw,
    /// A handwritten lock, for cases in which a lock without a token suffices.
    Hand,
    Peer,
}

/// The addresses of the servers of a run, and the lease of dlock where it is compared with other systems.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Places {
    pub(crate) redis: Option<u16>,
    pub(crate) postgres: Option<u16>,
    pub(crate) sqlite: Option<PathBuf>,
    pub(crate) dynamodb: Option<u16>,
    /// `None`: `LEASE`.
    pub(crate) lease: Option<Duration>,
}

impl Places {
    /// Where the server of a store listens, if it has one.
    pub(crate) const fn port(&mut self, store: Store) -> Option<&mut u16> {
        match store {
            Store::Redis => self.redis.as_mut(),
            Store::Postgres => self.postgres.as_mut(),
            Store::DynamoDb => self.dynamodb.as_mut(),
            Store::SQLite => None,
        }
    }
}

/// The lease of every system that has one, unless `--lease` sets that of dlock: longer than any load.
pub(crate) const LEASE: Duration = Duration::from_secs(15);

/// Ours in the recommended setting, in all loads and on all stores.
pub(crate) const OURS: &str = "dlock";

type Opening = Pin<Box<dyn Future<Output = Result<Arc<dyn System>>> + Send>>;

/// A line of the comparison.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) store: Store,
    pub(crate) kind: Kind,
    /// Whether it can wait for a lock that is held.
    pub(crate) waits: bool,
    open: fn(Places) -> Opening,
}

const fn entry(store: Store, kind: Kind, name: &'static str, open: fn(Places) -> Opening) -> Entry {
    Entry {
        name,
        store,
        kind,
        waits: true,
        open,
    }
}

impl Entry {
    /// Connects it.
    pub(crate) async fn open(&self, places: &Places) -> Result<Arc<dyn System>> {
        (self.open)(places.clone()).await
    }

    const fn cannot_wait(mut self) -> Self {
        self.waits = false;
        self
    }
}

/// All systems. The order is that of the tables.
pub(crate) const SYSTEMS: &[Entry] = &[
    entry(Store::Redis, Kind::Ours, OURS, |p| {
        Box::pin(ours::open(Store::Redis, p, Waiting::Called))
    }),
    entry(Store::Redis, Kind::Ours, "dlock, polling", |p| {
        Box::pin(ours::open(Store::Redis, p, Waiting::Polled))
    }),
    entry(Store::Redis, Kind::Raw, "raw compare-and-set", |p| {
        Box::pin(redis::raw(p))
    })
    .cannot_wait(),
    entry(Store::Redis, Kind::Hand, "SET NX + Lua, by hand", |p| {
        Box::pin(redis::by_hand(p))
    }),
    #[cfg(feature = "peers")]
    entry(Store::Redis, Kind::Peer, "rslock", |p| {
        Box::pin(rslock::open(p))
    }),
    #[cfg(feature = "peers")]
    entry(Store::Redis, Kind::Peer, "rlock", |p| {
        Box::pin(rlock::open(p))
    }),
    #[cfg(feature = "peers")]
    entry(Store::Redis, Kind::Peer, "redis-lock", |p| {
        Box::pin(redis_lock::open(p))
    }),
    entry(Store::Postgres, Kind::Ours, OURS, |p| {
        Box::pin(ours::open(Store::Postgres, p, Waiting::Called))
    }),
    entry(Store::Postgres, Kind::Ours, "dlock, polling", |p| {
        Box::pin(ours::open(Store::Postgres, p, Waiting::Polled))
    }),
    entry(Store::Postgres, Kind::Raw, "raw compare-and-set", |p| {
        Box::pin(postgres::raw(p))
    })
    .cannot_wait(),
    entry(
        Store::Postgres,
        Kind::Hand,
        "SELECT FOR UPDATE, by hand",
        |p| Box::pin(postgres::for_update(p)),
    ),
    entry(Store::Postgres, Kind::Hand, "advisory lock, by hand", |p| {
        Box::pin(postgres::advisory(p))
    }),
    entry(
        Store::Postgres,
        Kind::Hand,
        "compare-and-set + NOTIFY, by hand",
        |p| Box::pin(postgres_notify::open(p)),
    ),
    entry(Store::SQLite, Kind::Ours, OURS, |p| {
        Box::pin(ours::open(Store::SQLite, p, Waiting::Called))
    }),
    entry(Store::SQLite, Kind::Raw, "raw statements", |p| {
        Box::pin(sqlite::raw(p))
    }),
    entry(Store::DynamoDb, Kind::Ours, OURS, |p| {
        Box::pin(ours::open(Store::DynamoDb, p, Waiting::Called))
    }),
    entry(Store::DynamoDb, Kind::Raw, "raw UpdateItem", |p| {
        Box::pin(dynamodb::raw(p))
    }),
    #[cfg(feature = "peers")]
    entry(Store::DynamoDb, Kind::Peer, "dynamodb-lease", |p| {
        Box::pin(dynamodb_lease::open(p))
    }),
    #[cfg(feature = "peers")]
    entry(Store::DynamoDb, Kind::Peer, "dlock 0.2.0", |p| {
        Box::pin(dlock_0_2::open(p))
    }),
];

impl Store {
    /// Ours in the recommended setting.
    pub(crate) fn ours(self) -> Option<&'static Entry> {
        find(self, OURS).ok()
    }
}

/// The entry of this name on this store.
pub(crate) fn find(store: Store, name: &str) -> Result<&'static Entry> {
    let mut entries = SYSTEMS.iter();
    let found = entries.find(|entry| entry.store == store && entry.name == name);
    found.with_context(|| format!("no system {name:?} on {store}"))
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Redis => "Redis",
            Self::Postgres => "Postgres",
            Self::SQLite => "SQLite",
            Self::DynamoDb => "DynamoDB-compatible",
        })
    }
}
