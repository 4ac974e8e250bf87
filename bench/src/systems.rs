//! What is measured: ours, the raw calls, the locks one writes by hand, and the peers, all behind
//! one trait, one line each in [`SYSTEMS`].

mod dynamodb;
#[cfg(feature = "peers")]
mod dynamodb_peers;
pub(crate) mod layers;
pub(crate) mod ours;
mod postgres;
mod postgres_notify;
#[cfg(feature = "peers")]
mod postgres_peers;
mod redis;
#[cfg(feature = "peers")]
mod redis_peers;
mod sqlite;

use std::{fmt, path::PathBuf, pin::Pin, sync::Arc, time::Duration};

use anyhow::Result;
use async_trait::async_trait;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use self::ours::Waiting;
pub(crate) use self::{
    dynamodb::{
        client_at as dynamodb_client, client_with as dynamodb_client_with,
        tables as dynamodb_tables,
    },
    postgres::{TABLES as POSTGRES_TABLES, pool_at as postgres_pool},
};

/// A lock manager, connected: what one process has of it.
pub(crate) trait System: Send + Sync {
    /// The lock of this name. Sends nothing.
    fn lock(&self, name: &str) -> Result<Box<dyn Lock>>;
}

/// A lock that can be acquired again and again.
#[async_trait]
pub(crate) trait Lock: Send + Sync {
    /// Waits until it is ours. Systems that cannot wait fail when it is not free.
    async fn acquire(&self) -> Result<Box<dyn Held>>;
}

/// What is given back.
#[async_trait]
pub(crate) trait Held: Send {
    /// Gives it back, and returns when the store has it.
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
    /// Beside servers of ours; nothing of ours keeps locks in it.
    #[value(skip)]
    Etcd,
}

/// The part a system plays in a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Ours,
    /// The fewest calls that do the same to the store: compare and set, with a token and an expiry.
    Raw,
    /// What one writes by hand where a lock without a token will do.
    Hand,
    Peer,
}

/// Where the servers of a run are.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Places {
    pub(crate) redis: Option<u16>,
    pub(crate) postgres: Option<u16>,
    pub(crate) sqlite: Option<PathBuf>,
    pub(crate) dynamodb: Option<u16>,
    /// Commits in Postgres wait for no disk.
    #[serde(default)]
    pub(crate) careless: bool,
}

impl Places {
    /// Where the server of a store listens, if it has one.
    pub(crate) const fn port(&mut self, store: Store) -> Option<&mut u16> {
        match store {
            Store::Redis => self.redis.as_mut(),
            Store::Postgres => self.postgres.as_mut(),
            Store::DynamoDb => self.dynamodb.as_mut(),
            Store::SQLite | Store::Etcd => None,
        }
    }
}

/// The lease that every system gets that has one: longer than anything measured.
pub(crate) const LEASE: Duration = Duration::from_secs(15);

type Opening = Pin<Box<dyn Future<Output = Result<Arc<dyn System>>> + Send>>;

/// A line of the comparison.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) store: Store,
    pub(crate) kind: Kind,
    /// It can wait for a lock that is held.
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

/// Everything that is compared. The order is that of the tables.
pub(crate) const SYSTEMS: &[Entry] = &[
    entry(Store::Redis, Kind::Ours, "dlock", |p| {
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
        Box::pin(redis_peers::rslock(p))
    }),
    #[cfg(feature = "peers")]
    entry(Store::Redis, Kind::Peer, "rlock", |p| {
        Box::pin(redis_peers::rlock(p))
    }),
    #[cfg(feature = "peers")]
    entry(Store::Redis, Kind::Peer, "redlock", |p| {
        Box::pin(redis_peers::redlock(p))
    }),
    #[cfg(feature = "peers")]
    entry(Store::Redis, Kind::Peer, "redis-lock", |p| {
        Box::pin(redis_peers::redis_lock(p))
    }),
    #[cfg(feature = "peers")]
    entry(Store::Redis, Kind::Peer, "distributed-lock-redis", |p| {
        Box::pin(redis_peers::distributed_lock(p))
    })
    .cannot_wait(),
    entry(Store::Postgres, Kind::Ours, "dlock", |p| {
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
    #[cfg(feature = "peers")]
    entry(Store::Postgres, Kind::Peer, "sqlx advisory lock", |p| {
        Box::pin(postgres_peers::sqlx(p))
    }),
    #[cfg(feature = "peers")]
    entry(
        Store::Postgres,
        Kind::Peer,
        "distributed-lock-postgres",
        |p| Box::pin(postgres_peers::distributed_lock(p)),
    ),
    entry(Store::SQLite, Kind::Ours, "dlock", |p| {
        Box::pin(ours::open(Store::SQLite, p, Waiting::Called))
    }),
    entry(Store::SQLite, Kind::Raw, "raw statements", |p| {
        Box::pin(sqlite::raw(p))
    }),
    entry(Store::DynamoDb, Kind::Ours, "dlock", |p| {
        Box::pin(ours::open(Store::DynamoDb, p, Waiting::Called))
    }),
    entry(Store::DynamoDb, Kind::Raw, "raw UpdateItem", |p| {
        Box::pin(dynamodb::raw(p))
    }),
    #[cfg(feature = "peers")]
    entry(Store::DynamoDb, Kind::Peer, "dynamodb-lease", |p| {
        Box::pin(dynamodb_peers::lease(p))
    }),
    #[cfg(feature = "peers")]
    entry(Store::DynamoDb, Kind::Peer, "dlock 0.2.0", |p| {
        Box::pin(dynamodb_peers::dlock_0_2(p))
    }),
];

impl Store {
    pub(crate) const ALL: [Self; 4] = [Self::Redis, Self::Postgres, Self::SQLite, Self::DynamoDb];

    /// The raw calls on it: what is physically possible.
    pub(crate) fn raw(self) -> Option<&'static Entry> {
        let mut raw = SYSTEMS.iter().filter(|entry| entry.kind == Kind::Raw);
        raw.find(|entry| entry.store == self)
    }

    /// Ours in the recommended setting: the first line.
    pub(crate) fn ours(self) -> Option<&'static Entry> {
        let mut ours = SYSTEMS.iter().filter(|entry| entry.kind == Kind::Ours);
        ours.find(|entry| entry.store == self)
    }
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Redis => "Redis",
            Self::Postgres => "Postgres",
            Self::SQLite => "SQLite",
            Self::DynamoDb => "DynamoDB-compatible",
            Self::Etcd => "etcd",
        })
    }
}

/// The entry of this name on this store.
pub(crate) fn find(store: Store, name: &str) -> Result<&'static Entry> {
    let found = SYSTEMS
        .iter()
        .find(|entry| entry.store == store && entry.name == name);
    found.ok_or_else(|| anyhow::anyhow!("there is no system {name:?} on {store}"))
}
