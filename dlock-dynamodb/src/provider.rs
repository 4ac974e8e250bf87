//! The provider: its clones, and the contract. The rules themselves are in `requests.rs`.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use dlock_core::{
    Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Discipline, Durability, Release, ReleaseOutcome,
        Renew, RenewOutcome, Sharing,
    },
};
use futures_util::{StreamExt, stream};

use crate::{error::BuildError, key::Keys, requests, store::Store};

/// How many renewals of one batch are in flight at once: requests of some milliseconds renew 1,000 locks in well below
/// a second, and one batch does not take all of a client's connections.
const AT_ONCE: usize = 32;

/// Locks in one DynamoDB table, through the user's own client.
///
/// Cheap to clone; clones share one [`Client`](dlock_core::Client). The [documentation of the crate](crate) says what
/// the store guarantees, what it costs and how it can lose a lock.
///
/// # Panics
/// The methods of [`Provider`] and [`Admin`](dlock_core::provider::Admin) need a tokio runtime with its time driver,
/// and panic outside one.
///
/// # Cancel safety
/// A call whose future is dropped may have been applied; the client closes a connection that has
/// not answered.
#[derive(Clone)]
pub struct DynamodbProvider {
    pub(crate) store: Arc<Store>,
    pub(crate) keys: Keys,
    pub(crate) sharing: Sharing,
}

impl DynamodbProvider {
    /// The same table over the same client with another prefix: other locks, so another
    /// [`Client`](dlock_core::Client).
    ///
    /// # Errors
    /// [`BuildError::Prefix`] if the text cannot be one.
    pub fn with_prefix(&self, prefix: &str) -> Result<Self, BuildError> {
        Ok(Self {
            store: Arc::clone(&self.store),
            keys: Keys::new(Arc::clone(&self.store.layout), prefix)?,
            sharing: Sharing::default(),
        })
    }

    /// The name of the table.
    #[must_use]
    pub fn table_name(&self) -> &str {
        &self.store.table
    }

    /// Reads another wall clock.
    #[cfg(test)]
    pub(crate) fn with_wall(&self, now: fn() -> std::time::SystemTime) -> Self {
        let mut store = Store::clone(&self.store);
        store.wall = crate::clock::Wall::fake(now);
        Self {
            store: Arc::new(store),
            keys: self.keys.clone(),
            sharing: Sharing::default(),
        }
    }
}

impl fmt::Debug for DynamodbProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamodbProvider")
            .field("table", &self.store.table)
            .field("prefix", &self.keys.prefix())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Provider for DynamodbProvider {
    fn capabilities(&self) -> Capabilities {
        Capabilities::new("dynamodb", Discipline::Observer)
            .closing(true)
            .marks(true)
            .durability(Durability::Durable)
            .cheap_reads(true)
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        requests::acquire(&self.store, &self.keys.key(&request.name)?, request).await
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        requests::renew(&self.store, &self.keys.key(&request.name)?, request).await
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        requests::release(&self.store, &self.keys.key(&request.name)?, request).await
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        self.store.read(&self.keys.key(name)?).await
    }

    /// DynamoDB has no batch of conditional writes: a transaction costs twice as much and fails as a whole. So renewals
    /// are sent concurrently, 32 at once. One that hangs keeps one of these places until its attempt's time limit, and
    /// no other renewal waits for it. Dropping the future ends those in flight and sends no others.
    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        let mut answers: Vec<_> = stream::iter(requests.iter().cloned().enumerate())
            .map(|(index, request)| async move { (index, self.renew(&request).await) })
            // In the order of their answers: in the order of the requests, the places of those that have answered would
            // stay taken behind one that hangs.
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        answers.sort_unstable_by_key(|(index, _)| *index);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }

    fn sharing(&self) -> Option<&Sharing> {
        Some(&self.sharing)
    }
}
