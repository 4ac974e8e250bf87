//! The contract in memory, in both disciplines. `rules`, a page that reads like the contract's tables, decides the
//! answers; [`MemoryStore`] holds the state.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use dlock_core::{
    Client, Clock, Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Admin, Ask, AskOutcome, Capabilities, Durability, List, Page,
        Release, ReleaseOutcome, Renew, RenewOutcome, Revoke, RevokeOutcome, Sharing, Wakeups,
    },
};

use crate::{
    Key, MemoryStore,
    rules::{self, Decision, Now, Stored},
};

/// A provider on a [`MemoryStore`]. For tests, and to read how a provider answers.
///
/// ```
/// use dlock_memory::{MemoryProvider, MemoryStore};
///
/// let store = MemoryStore::store_clock();
/// let provider = MemoryProvider::new(&store).prefix("billing");
/// # let _ = provider;
/// ```
#[derive(Clone)]
pub struct MemoryProvider {
    store: MemoryStore,
    prefix: Arc<str>,
    watch: bool,
    cheap_reads: bool,
    sharing: Sharing,
}

impl MemoryProvider {
    /// A provider with wake-ups and without a prefix.
    #[must_use]
    pub fn new(store: &MemoryStore) -> Self {
        Self {
            store: store.clone(),
            prefix: Arc::default(),
            watch: true,
            cheap_reads: false,
            sharing: Sharing::default(),
        }
    }

    /// Keeps this provider's names apart from those of every other prefix on the store.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into().into();
        self.sharing = Sharing::default();
        self
    }

    /// Switches wake-ups on or off.
    #[must_use]
    pub fn wakeups(mut self, watch: bool) -> Self {
        self.watch = watch;
        self.sharing = Sharing::default();
        self
    }

    /// Declares that reads cost less than refused acquires, so that waiters read before they acquire.
    #[must_use]
    pub fn cheap_reads(mut self, cheap_reads: bool) -> Self {
        self.cheap_reads = cheap_reads;
        self.sharing = Sharing::default();
        self
    }

    /// The store of this provider.
    #[must_use]
    pub const fn store(&self) -> &MemoryStore {
        &self.store
    }

    /// The key under which a name is stored.
    #[doc(hidden)]
    pub fn key(&self, name: &Name) -> Result<Key, ProviderError> {
        if self.prefix.len() + name.as_str().len() > Name::MAX_BYTES {
            return Err(ProviderError::fatal(
                "prefix and name exceed 1024 bytes together; use a shorter name",
            ));
        }
        Ok((Arc::clone(&self.prefix), name.as_str().to_owned()))
    }

    #[doc(hidden)]
    #[must_use]
    pub fn own_prefix(&self) -> &str {
        &self.prefix
    }

    /// One atomic write as the rules decide it.
    #[doc(hidden)]
    pub fn write<A>(
        &self,
        name: &Name,
        decide: impl FnOnce(Option<&Stored>, &Now) -> Decision<A>,
    ) -> Result<A, ProviderError> {
        self.writable()?;
        self.store.decide(&self.key(name)?, |stored, now| {
            let Decision { write, answer } = decide(stored, now);
            (write, answer)
        })
    }

    #[doc(hidden)]
    pub fn writable(&self) -> Result<(), ProviderError> {
        if self.store.read_only() {
            return Err(ProviderError::not_applied("the store is read-only"));
        }
        Ok(())
    }
}

impl MemoryStore {
    /// A separate client: to other clients of this store, it is another process. It takes time from Tokio, as the store
    /// does: in paused time, leases run out and are renewed without waiting.
    ///
    /// Clones of a [`MemoryProvider`] share a client on the clocks of the operating system.
    #[must_use]
    pub fn client(&self) -> Client {
        Client::with_clock(MemoryProvider::new(self), Clock::tokio(1.0))
    }
}

#[async_trait]
impl Provider for MemoryProvider {
    fn capabilities(&self) -> Capabilities {
        Capabilities::new("memory", self.store.discipline())
            .watch(self.watch)
            .cheap_reads(self.cheap_reads)
            .batch(true)
            .closing(true)
            .marks(true)
            .durability(Durability::Volatile)
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        self.write(&request.name, |stored, now| {
            rules::acquire(stored, request, now)
        })
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        self.write(&request.name, |stored, now| {
            rules::renew(stored, request, now)
        })
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        let outcome = self.write(&request.name, |stored, now| {
            rules::release(stored, request, now)
        })?;
        // N3.
        if outcome == (ReleaseOutcome::Released { wanted: true }) {
            self.store.wake(&self.key(&request.name)?, &request.name);
        }
        Ok(outcome)
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        let key = self.key(name)?;
        Ok(self
            .store
            .look(|records, now| records.get(&key).map(|stored| now.shows(stored))))
    }

    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        requests
            .iter()
            .map(|request| {
                self.write(&request.name, |stored, now| {
                    rules::renew(stored, request, now)
                })
            })
            .collect()
    }

    async fn watch(&self) -> Result<Option<Wakeups>, ProviderError> {
        Ok(self.watch.then(|| self.store.watch(&self.prefix)))
    }

    fn sharing(&self) -> Option<&Sharing> {
        Some(&self.sharing)
    }
}

#[async_trait]
impl Admin for MemoryProvider {
    async fn list(&self, request: &List) -> Result<Page, ProviderError> {
        Ok(self.store.look(|records, now| {
            let mut found = records
                .iter()
                .filter(|((prefix, name), _)| {
                    *prefix == self.prefix && name.starts_with(&request.prefix)
                })
                .filter_map(|((_, name), stored)| Some((Name::new(name).ok()?, now.shows(stored))))
                .filter(|(name, _)| request.after.as_ref().is_none_or(|after| name > after));
            let records: Vec<_> = found.by_ref().take(request.limit.max(1)).collect();
            let next = found
                .next()
                .and(records.last().map(|(name, _)| name.clone()));
            Page::new(records, next)
        }))
    }

    async fn revoke(&self, request: &Revoke) -> Result<RevokeOutcome, ProviderError> {
        self.write(&request.name, |stored, now| {
            rules::revoke(stored, request, now)
        })
    }

    async fn ask(&self, request: &Ask) -> Result<AskOutcome, ProviderError> {
        self.write(&request.name, |stored, now| {
            rules::ask(stored, request, now)
        })
    }

    async fn purge(&self, limit: usize) -> Result<u64, ProviderError> {
        self.writable()?;
        Ok(self.store.delete(limit, |(prefix, _), stored, now| {
            *prefix == self.prefix && rules::purgeable(stored, now)
        }))
    }
}

impl fmt::Debug for MemoryProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryProvider")
            .field("store", &self.store)
            .field("prefix", &self.prefix)
            .field("watch", &self.watch)
            .finish_non_exhaustive()
    }
}
