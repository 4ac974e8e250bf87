//! What a server must have before it can keep locks: made by `dlock setup` and by nothing else, and
//! looked at when the server has refused something.

use std::error::Error as StdError;

use async_trait::async_trait;
use dlock_core::ProviderError;

/// The schema or the table of a server.
#[async_trait]
pub(crate) trait Tables: Send + Sync {
    /// Makes what is missing; looks only, if all is there.
    async fn make(&self) -> Result<(), TablesError>;

    /// Looks whether all is there.
    async fn check(&self) -> Result<(), TablesError>;

    /// Looks for what keeps a server that answers from writing.
    async fn obstacle(&self) -> Option<Box<dyn StdError + Send + Sync>> {
        None
    }
}

/// Why there are none.
#[derive(Debug, thiserror::Error)]
#[cfg_attr(
    not(any(
        test,
        feature = "dynamodb",
        feature = "mysql",
        feature = "nats",
        feature = "postgres"
    )),
    expect(dead_code, reason = "only servers with tables say so")
)]
pub(crate) enum TablesError {
    /// They can be made.
    #[error("{0}")]
    Missing(String),
    /// There is no queue at all, nor an older one, and one can be made.
    #[error("{0}")]
    #[cfg_attr(
        not(feature = "postgres"),
        expect(dead_code, reason = "an embedded queue is made when it is opened")
    )]
    NoQueue(String),
    /// There is something else in their place.
    #[error("{0}")]
    Wrong(String),
    /// No answer.
    #[error(transparent)]
    Store(ProviderError),
}
