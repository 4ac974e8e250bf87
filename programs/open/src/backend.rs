//! The kinds of stores, one file each; `location` has their list.

#[cfg(feature = "dynamodb")]
pub(crate) mod dynamodb;
#[cfg(feature = "etcd")]
pub(crate) mod etcd;
#[cfg(any(feature = "etcd", feature = "http"))]
mod handshake;
#[cfg(feature = "http")]
pub(crate) mod http;
#[allow(dead_code, reason = "each store uses a part of it")]
pub(crate) mod identity;
#[cfg(feature = "kubernetes")]
pub(crate) mod kubernetes;
#[cfg(feature = "mysql")]
pub(crate) mod mysql;
#[cfg(feature = "nats")]
pub(crate) mod nats;
#[cfg(feature = "object-store")]
pub(crate) mod object_store;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
#[allow(dead_code, reason = "each store uses a part of it")]
mod query;
#[cfg(feature = "redis")]
pub(crate) mod redis;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;
#[allow(dead_code, reason = "stores that observe use a part of it")]
mod state;
#[cfg(feature = "_tls")]
#[allow(dead_code, reason = "each store uses a part of it")]
pub(crate) mod tls;
#[cfg(feature = "http")]
pub(crate) mod token;
#[allow(dead_code, reason = "each store uses a part of it")]
mod url;

use std::fmt;

use async_trait::async_trait;

use crate::{Encryption, Program, Queue, Store, StoreError};

/// A store of one kind at its place, not opened yet. Its `Display` is for people, and has no secret.
#[async_trait]
pub(crate) trait Backend: fmt::Display + fmt::Debug + Send + Sync {
    /// Opens the store. Sends nothing to a server yet.
    async fn open(&self, program: &Program) -> Result<Store, StoreError>;

    /// Opens the queue, and makes its database if `make` is set. Sends nothing to a server yet.
    async fn open_queue(&self, _program: &Program, _make: bool) -> Result<Queue, StoreError> {
        Err(StoreError::unusable(format!(
            "stores of this kind have no queues: {self}"
        )))
    }

    /// Whether stores of this kind have queues.
    fn has_queues(&self) -> bool {
        false
    }

    /// Whether the store exists already; always true of a server.
    fn exists(&self) -> bool {
        true
    }

    /// How the traffic with the store is protected; `None` if not the location decides that, but the surroundings of
    /// the process, which are read when the store is opened.
    fn encryption(&self) -> Option<Encryption> {
        None
    }

    /// Whether this is the default, which the user did not name.
    fn is_default(&self) -> bool {
        false
    }
}
