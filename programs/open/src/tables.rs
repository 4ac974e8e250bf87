//! The objects that a server needs before it can keep locks: only `dlock setup` makes them, and a refusal by the server
//! leads to a check of them.

use std::error::Error as StdError;

use async_trait::async_trait;
use dlock_core::ProviderError;

/// The schema or the table of a server.
#[async_trait]
pub(crate) trait Tables: Send + Sync {
    /// Makes what is missing; only reads, if nothing is.
    async fn make(&self) -> Result<(), TablesError>;

    /// Checks that nothing is missing.
    async fn check(&self) -> Result<(), TablesError>;

    /// Looks for an obstacle that keeps a server that answers from writing.
    async fn obstacle(&self) -> Option<Box<dyn StdError + Send + Sync>> {
        None
    }
}

/// Why there are no tables.
#[derive(Debug, thiserror::Error)]
#[allow(dead_code, reason = "servers with tables say so")]
pub(crate) enum TablesError {
    /// They can be made.
    #[error("{0}")]
    Missing(String),
    /// There is no queue at all, not even an older one, and one can be made.
    #[error("{0}")]
    NoQueue(String),
    /// Something else is in their place.
    #[error("{0}")]
    Wrong(String),
    /// No answer.
    #[error(transparent)]
    Store(ProviderError),
}
