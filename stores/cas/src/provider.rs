//! The provider: clones, and the contract. `rules.rs` decides on a record, `rounds.rs` reads and writes it.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use dlock_core::{
    Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Discipline, InvalidPrefix, Release, ReleaseOutcome,
        Renew, RenewOutcome, Sharing, Wakeups,
    },
};

use crate::{clock::Wall, hints::Hints, key::Keys, rounds::Records, rules, store::CasStore};

/// How many wake-ups may wait to be read.
const HINTS: usize = 1024;

/// Locks in a store with conditional writes.
///
/// Cheap to clone; clones share one [`Client`](dlock_core::Client). The [documentation of the crate](crate) says what
/// it guarantees.
///
/// # Cancel safety
/// A call whose future is dropped may have been applied.
pub struct CasProvider<S: CasStore> {
    pub(crate) records: Arc<Records<S>>,
    pub(crate) keys: Keys,
    sharing: Sharing,
}

impl<S: CasStore> CasProvider<S> {
    /// Locks in this store, without a prefix. Sends nothing.
    #[must_use]
    pub fn new(store: S) -> Self {
        Self {
            records: Arc::new(Records::new(store)),
            keys: Keys::default(),
            sharing: Sharing::default(),
        }
    }

    /// The same store with another prefix: other locks, so another [`Client`](dlock_core::Client).
    /// The key of a lock is `prefix/name`, with `%25` and `%2F` for the `%` and `/` of a prefix.
    ///
    /// # Errors
    /// [`InvalidPrefix`] if the text cannot be a prefix.
    pub fn with_prefix(&self, prefix: &str) -> Result<Self, InvalidPrefix> {
        Ok(Self {
            records: Arc::clone(&self.records),
            keys: Keys::new(prefix)?,
            sharing: Sharing::default(),
        })
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &S {
        &self.records.store
    }
}

impl<S: CasStore> Clone for CasProvider<S> {
    fn clone(&self) -> Self {
        Self {
            records: Arc::clone(&self.records),
            keys: self.keys.clone(),
            sharing: self.sharing.clone(),
        }
    }
}

// Without the store, which may print credentials.
impl<S: CasStore> fmt::Debug for CasProvider<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CasProvider")
            .field("backend", &self.store().capabilities().backend)
            .field("prefix", &self.keys.prefix())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl<S: CasStore> Provider for CasProvider<S> {
    fn capabilities(&self) -> Capabilities {
        let mut capabilities = self.store().capabilities().closing(true).batch(false);
        capabilities.discipline = Discipline::Observer;
        capabilities
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        request.check()?;
        let key = self.keys.key(&request.name)?;
        let silent = request.marks != 0 && !self.store().capabilities().marks;
        let unmarking = silent.then(|| request.clone().marks(0));
        let request = unmarking.as_ref().unwrap_or(request);
        let rule = |found: Option<&Record>, _| rules::acquire(request, found, Wall::now());
        self.records.decide(&key, rule).await
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        request.check()?;
        let key = self.keys.key(&request.name)?;
        let rule = |found: Option<&Record>, _| rules::renew(request, found);
        self.records.decide(&key, rule).await
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        let key = self.keys.key(&request.name)?;
        let repeats = self.store().repeats_puts();
        let rule = |found: Option<&Record>, lost| rules::release(request, found, lost && repeats);
        self.records.decide(&key, rule).await
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        self.records.read(&self.keys.key(name)?).await
    }

    async fn watch(&self) -> Result<Option<Wakeups>, ProviderError> {
        if !self.store().capabilities().watch {
            return Ok(None);
        }
        let (sender, wakeups) = Wakeups::channel(HINTS);
        let hints = Hints::new(sender, self.keys.clone());
        self.store().watch(&self.keys.stored(""), hints).await?;
        Ok(Some(wakeups))
    }

    fn sharing(&self) -> Option<&Sharing> {
        Some(&self.sharing)
    }
}
