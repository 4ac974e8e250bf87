//! The kinds of store, and choosing one by its URL. A feature of the same name brings each.

#[cfg(feature = "dynamodb")]
mod dynamodb;
#[cfg(feature = "etcd")]
mod etcd;
#[cfg(feature = "kubernetes")]
mod kubernetes;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "nats")]
mod nats;
#[cfg(feature = "object-store")]
mod object_store;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::sync::Arc;

use async_trait::async_trait;
use dlock::{FencingToken, Provider, Stale};

use crate::Failure;

/// Where a store is.
#[async_trait]
pub trait Store: Send + Sync {
    /// A provider with connections of its own, as another process would have.
    async fn provider(&self) -> Result<Arc<dyn Provider>, Failure>;

    /// Storage in the same kind of store. What one lock guards is nobody else's: tokens of two locks
    /// have no order.
    async fn storage(&self, page: &str) -> Result<Box<dyn Storage>, Failure>;
}

/// One page of text in storage that checks fencing tokens (T3).
#[async_trait]
pub trait Storage: Send + Sync {
    /// Writes the page, unless a later holder has: that is the inner error.
    async fn write(&self, token: FencingToken, text: &str) -> Result<Result<(), Stale>, Failure>;

    /// The page, if there is one.
    async fn read(&self) -> Result<Option<String>, Failure>;
}

/// The kinds, by the beginnings of their URLs.
const KINDS: &[(&str, &str)] = &[
    ("sqlite:", "sqlite"),
    ("postgres://", "postgres"),
    ("postgresql://", "postgres"),
    ("redis://", "redis"),
    ("dynamodb:", "dynamodb"),
    ("etcd://", "etcd"),
    ("nats://", "nats"),
    ("mysql://", "mysql"),
    ("kubernetes://", "kubernetes"),
    ("s3://", "object-store"),
    ("azure://", "object-store"),
];

/// The store with this URL; without one, an SQLite file that is gone when the value is dropped.
///
/// # Errors
/// If there is no such kind of store, or none in this build.
pub fn choose(url: Option<&str>) -> Result<Box<dyn Store>, Failure> {
    let url = url.unwrap_or("sqlite:");
    // What is not understood is not repeated: there may be a password in it.
    let Some((prefix, kind)) = KINDS.iter().find(|(prefix, _)| url.starts_with(prefix)) else {
        let beginnings: Vec<_> = KINDS.iter().map(|(prefix, _)| *prefix).collect();
        return Err(Failure::new(format!(
            "--store takes a URL that begins with one of {} (mostly without TLS: these are examples)",
            beginnings.join(", ")
        )));
    };
    let _place = &url[prefix.len()..];
    match *kind {
        #[cfg(feature = "sqlite")]
        "sqlite" => Ok(Box::new(sqlite::Sqlite::new(_place)?)),
        #[cfg(feature = "postgres")]
        "postgres" => Ok(Box::new(postgres::Postgres::new(url)?)),
        #[cfg(feature = "mysql")]
        "mysql" => Ok(Box::new(mysql::Mysql::new(url)?)),
        #[cfg(feature = "redis")]
        "redis" => Ok(Box::new(redis::Redis::new(url)?)),
        #[cfg(feature = "dynamodb")]
        "dynamodb" => Ok(Box::new(dynamodb::DynamoDb::new(_place))),
        #[cfg(feature = "etcd")]
        "etcd" => Ok(Box::new(etcd::Etcd::new(_place)?)),
        #[cfg(feature = "nats")]
        "nats" => Ok(Box::new(nats::Nats::new(_place)?)),
        #[cfg(feature = "kubernetes")]
        "kubernetes" => Ok(Box::new(kubernetes::Kubernetes::new(_place)?)),
        #[cfg(feature = "object-store")]
        "object-store" => Ok(Box::new(object_store::Bucket::new(prefix, _place)?)),
        missing => Err(Failure::new(format!(
            "this program was built without the store {missing:?}: add --features {missing} to the \
             command, before the --"
        ))),
    }
}

/// The URL of a store that other processes can open too: this one, or else that of an SQLite file, which
/// is gone when the value beside it is dropped.
///
/// # Errors
/// If there is none, and this build has no SQLite.
pub fn shared(url: Option<String>) -> Result<(String, Option<Temporary>), Failure> {
    match url {
        Some(url) => Ok((url, None)),
        #[cfg(feature = "sqlite")]
        None => {
            let folder = tempfile::tempdir()?;
            let url = format!("sqlite:{}", folder.path().join("locks.db").display());
            Ok((url, Some(Temporary { _folder: folder })))
        }
        #[cfg(not(feature = "sqlite"))]
        None => Err(Failure::new(
            "this program was built without SQLite: say --store URL",
        )),
    }
}

/// A folder that is gone when this is dropped.
#[derive(Debug)]
#[non_exhaustive]
pub struct Temporary {
    #[cfg(feature = "sqlite")]
    _folder: tempfile::TempDir,
}
