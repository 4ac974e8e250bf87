//! The stores, each from both sides: a server that the controller starts and breaks, and the provider
//! that a worker opens on it.

#[cfg(feature = "dynamodb")]
mod dynamodb;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "sqlite")]
mod sqlite;

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

/// Which store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub(crate) enum Kind {
    Dynamodb,
    Postgres,
    Redis,
    Sqlite,
}

/// What can be done to a store as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "builds without a store do nothing to it")]
pub(crate) enum Blow {
    /// The server is killed, and started again after this time.
    Restart(Duration),
    /// The server stands still for this time.
    Freeze(Duration),
    /// The server closes every connection.
    Cut,
    /// Somebody keeps the file locked for this time.
    Occupy(Duration),
}

/// A running store. Dropping it ends it.
#[async_trait]
pub(crate) trait Store: Send {
    /// Where it is.
    fn place(&self) -> Place;

    /// What can be done to it, with a longest time of its own each.
    fn blows(&self, longest: Duration) -> Vec<Blow>;

    /// Does it. Returns when it is over and the store works again.
    async fn suffer(&mut self, blow: Blow) -> Result<(), Failure>;
}

/// Where a store is.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    #[cfg_attr(
        not(feature = "sqlite"),
        expect(dead_code, reason = "only SQLite is one")
    )]
    File(PathBuf),
    Server(SocketAddr),
}

/// Starts a store, which keeps its files in this folder if it has no own.
pub(crate) async fn start(kind: Kind, folder: &Path) -> Result<Box<dyn Store>, Failure> {
    match kind {
        #[cfg(feature = "dynamodb")]
        Kind::Dynamodb => Ok(Box::new(dynamodb::Server::start().await?)),
        #[cfg(feature = "postgres")]
        Kind::Postgres => Ok(Box::new(postgres::Server::start().await?)),
        #[cfg(feature = "redis")]
        Kind::Redis => Ok(Box::new(redis::Server::start().await?)),
        #[cfg(feature = "sqlite")]
        Kind::Sqlite => Ok(Box::new(sqlite::File::new(folder))),
        #[allow(unreachable_patterns, reason = "with all features there are all")]
        kind => Err(missing(kind, folder)),
    }
}

/// A worker's provider on the store at this place.
pub(crate) async fn connect(kind: Kind, place: &str) -> Result<Arc<dyn Provider>, Failure> {
    match kind {
        #[cfg(feature = "dynamodb")]
        Kind::Dynamodb => dynamodb::provider(place.parse()?),
        #[cfg(feature = "postgres")]
        Kind::Postgres => postgres::provider(place.parse()?),
        #[cfg(feature = "redis")]
        Kind::Redis => redis::provider(place.parse()?),
        #[cfg(feature = "sqlite")]
        Kind::Sqlite => sqlite::provider(place.as_ref()).await,
        #[allow(unreachable_patterns, reason = "with all features there are all")]
        kind => Err(missing(kind, place.as_ref())),
    }
}

/// Serves a DynamoDB-compatible store until the process is ended.
pub(crate) async fn serve_dynamodb(file: PathBuf, port: u16) -> Result<(), Failure> {
    #[cfg(feature = "dynamodb")]
    return dynamodb::serve(&file, port).await;
    #[cfg(not(feature = "dynamodb"))]
    Err(format!("{}, port {port}", missing(Kind::Dynamodb, &file)).into())
}

#[allow(dead_code, reason = "with all features nothing is missing")]
fn missing(kind: Kind, place: &Path) -> Failure {
    format!(
        "built without the feature `{kind}` ({} is its)",
        place.display()
    )
    .into()
}

impl Blow {
    /// What it is called in the history and in the figures.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Restart(_) => "store killed",
            Self::Freeze(_) => "store frozen",
            Self::Cut => "connections killed",
            Self::Occupy(_) => "file locked",
        }
    }

    /// The same with a time drawn up to its own.
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
            Self::Postgres => "postgres",
            Self::Redis => "redis",
            Self::Sqlite => "sqlite",
        })
    }
}
