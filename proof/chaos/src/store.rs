//! The stores, each from both sides: a server that the controller starts and breaks, and the provider
//! that a worker opens on it.

#[cfg(feature = "dynamodb")]
pub(crate) mod dynamodb;
#[cfg(feature = "etcd")]
mod etcd;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
#[cfg(any(
    feature = "dynamodb",
    feature = "etcd",
    feature = "postgres",
    feature = "redis"
))]
mod server;
#[cfg(feature = "sqlite")]
mod sqlite;

#[cfg(feature = "postgres")]
pub(crate) use self::postgres::config as postgres_config;

use std::{
    fmt,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use clap::ValueEnum;
use dlock_core::Provider;
use serde::{Deserialize, Serialize};

use crate::cli::Failure;

/// The kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub(crate) enum Kind {
    Dynamodb,
    Etcd,
    Postgres,
    Redis,
    Sqlite,
}

/// A fault of a store as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blow {
    /// The server is killed, and started again after this time.
    Restart(Duration),
    /// The server is stopped for this time.
    Freeze(Duration),
    /// The server closes every connection.
    Cut,
    /// Another connection keeps the file locked for this time.
    Occupy(Duration),
}

/// A running store. Dropping it ends it.
#[async_trait]
pub(crate) trait Store: Send {
    /// The address or the file of the store.
    fn place(&self) -> Place;

    /// The faults that it supports; the durations are the longest.
    fn blows(&self, longest: Duration) -> Vec<Blow>;

    /// Carries the fault out. Returns when it has ended and the store works again.
    async fn suffer(&mut self, blow: Blow) -> Result<(), Failure>;
}

/// The address or the file of a store.
#[derive(Clone, Debug)]
#[cfg_attr(
    not(all(
        feature = "sqlite",
        any(
            feature = "dynamodb",
            feature = "etcd",
            feature = "postgres",
            feature = "redis"
        )
    )),
    expect(dead_code, reason = "a store has one of them")
)]
pub(crate) enum Place {
    File(PathBuf),
    Server(SocketAddr),
}

/// One kind of store, from both sides.
#[async_trait]
pub(crate) trait Backend: Sync {
    /// Starts a store, which may keep its files in this folder.
    async fn start(&self, folder: &Path) -> Result<Box<dyn Store>, Failure>;

    /// A worker's provider for the store at this place.
    async fn connect(&self, place: &str) -> Result<Arc<dyn Provider>, Failure>;
}

/// The code for this kind of store, if it was built in.
pub(crate) fn backend(kind: Kind) -> Result<&'static dyn Backend, Failure> {
    let backend: Option<&dyn Backend> = match kind {
        #[cfg(feature = "dynamodb")]
        Kind::Dynamodb => Some(&dynamodb::DynamoDb),
        #[cfg(feature = "etcd")]
        Kind::Etcd => Some(&etcd::Etcd),
        #[cfg(feature = "postgres")]
        Kind::Postgres => Some(&postgres::Postgres),
        #[cfg(feature = "redis")]
        Kind::Redis => Some(&redis::Redis),
        #[cfg(feature = "sqlite")]
        Kind::Sqlite => Some(&sqlite::Sqlite),
        #[cfg(not(all(
            feature = "dynamodb",
            feature = "etcd",
            feature = "postgres",
            feature = "redis",
            feature = "sqlite"
        )))]
        _ => None,
    };
    backend.ok_or_else(|| format!("built without the feature `{kind}`").into())
}

impl Blow {
    /// Its name in the history and in the figures.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Restart(_) => "store killed",
            Self::Freeze(_) => "store frozen",
            Self::Cut => "connections killed",
            Self::Occupy(_) => "file locked",
        }
    }

    /// The same with a random time, at most its own.
    pub(crate) fn drawn(self, random: &mut fastrand::Rng) -> Self {
        let mut up_to = |most: Duration| most.mul_f64(random.f64());
        match self {
            Self::Restart(most) => Self::Restart(up_to(most)),
            Self::Freeze(most) => Self::Freeze(up_to(most)),
            Self::Cut => Self::Cut,
            Self::Occupy(most) => Self::Occupy(up_to(most)),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Server(address) => address.fmt(f),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dynamodb => "dynamodb",
            Self::Etcd => "etcd",
            Self::Postgres => "postgres",
            Self::Redis => "redis",
            Self::Sqlite => "sqlite",
        })
    }
}
