//! The provider: its clones, and the way from an async call to the one blocking connection. The rules themselves are in
//! `requests.rs`.

use std::{
    fmt,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use dlock_core::{
    Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Discipline, Durability, Prefix, Release,
        ReleaseOutcome, Renew, RenewOutcome, Sharing, Wakeups,
    },
};

use crate::{
    clock::StoreClock,
    error::OpenError,
    key::Key,
    requests,
    store::{Failure, Store, View},
    wakeups::Watch,
    worker::{Caller, Reader, Worker},
};

/// Locks in one SQLite file, shared by every process of one host.
///
/// Cheap to clone; clones use one connection and one [`Client`](dlock_core::Client). The [documentation of the
/// crate](crate) says what the file guarantees, and how it can lose a lock. Calls run one at a time on one shared
/// thread, those of holders first, and need no runtime. Lists have their own connection and thread.
///
/// # Cancel safety
/// A future that is dropped while its call is queued has done nothing. One that is dropped later leaves a call that
/// runs to its end, at most the busy timeout and a few writes: it may be applied, and the connection stays usable.
#[derive(Clone)]
pub struct SqliteProvider {
    /// Declared before the store, so that its connection closes first.
    pub(crate) watch: Arc<Watch>,
    /// Lists, which may be long. Declared before the store as well.
    pub(crate) reader: Arc<Reader<Store>>,
    /// Only calls on the worker's thread lock it.
    pub(crate) store: Arc<Mutex<Store>>,
    pub(crate) clock: StoreClock,
    pub(crate) worker: Worker,
    pub(crate) path: Arc<Path>,
    pub(crate) prefix: Prefix,
    pub(crate) sharing: Sharing,
}

impl SqliteProvider {
    /// The same file over the same connection with another prefix: other locks, so another
    /// [`Client`](dlock_core::Client).
    ///
    /// # Errors
    /// [`OpenError::Prefix`] if the text cannot be one.
    pub fn with_prefix(&self, prefix: &str) -> Result<Self, OpenError> {
        Ok(Self {
            prefix: Prefix::new(prefix)?,
            sharing: Sharing::default(),
            ..self.clone()
        })
    }

    /// The absolute path of the lock file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs `work` with the connection when its turn comes.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        caller: Caller,
        work: impl FnOnce(&mut Store) -> Result<T, ProviderError> + Send + 'static,
    ) -> Result<T, ProviderError> {
        let store = Arc::clone(&self.store);
        let called = self.clock.now().instant;
        let work = move || {
            let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
            store.call_of(called);
            work(&mut store)
        };
        self.worker.run(caller, work).await
    }

    /// Runs a read that may be long, when its turn comes among such reads.
    pub(crate) async fn look<T: Send + 'static>(
        &self,
        work: impl FnOnce(View<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, ProviderError> {
        let (watch, clock) = (Arc::clone(&self.watch), self.clock.clone());
        let open = move || Store::only_to_read(watch.files(), &clock);
        self.reader.run(open, |store| store.read(work)).await
    }

    /// Runs the transaction of a request about one lock.
    pub(crate) async fn write<R: Clone + Send + Sync + 'static, T: Send + 'static>(
        &self,
        caller: Caller,
        name: &Name,
        request: &R,
        rule: fn(View<'_>, &Key, &R) -> Result<T, Failure>,
    ) -> Result<T, ProviderError> {
        let key = Key::new(&self.prefix, name)?;
        let request = request.clone();
        self.call(caller, move |store| {
            store.write(|view| view.lease(&key), |view| rule(view, &key, &request))
        })
        .await
    }
}

impl fmt::Debug for SqliteProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteProvider")
            .field("path", &self.path)
            .field("prefix", &self.prefix.as_str())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Provider for SqliteProvider {
    fn capabilities(&self) -> Capabilities {
        Capabilities::new("sqlite", Discipline::StoreClock)
            .closing(true)
            .marks(true)
            .watch(true)
            .batch(true)
            .durability(Durability::Durable)
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        let key = Key::new(&self.prefix, &request.name)?;
        let (request, watch) = (request.clone(), Arc::clone(&self.watch));
        self.call(Caller::Other, move |store| {
            let outcome = requests::acquire(store, &key, &request)?;
            // A waiter counts on a hint only if the record has a mark.
            if let AcquireOutcome::Held(record) = &outcome
                && record.wanted != 0
            {
                watch.refused(&key, record);
            }
            Ok(outcome)
        })
        .await
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        self.write(Caller::Holder, &request.name, request, requests::renew)
            .await
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        let key = Key::new(&self.prefix, &request.name)?;
        let (request, watch) = (request.clone(), Arc::clone(&self.watch));
        self.call(Caller::Holder, move |store| {
            let outcome = store.write(
                |view| view.lease(&key),
                |view| requests::release(view, &key, &request),
            )?;
            // N3.
            if outcome == (ReleaseOutcome::Released { wanted: true }) {
                watch.released(&key);
            }
            Ok(outcome)
        })
        .await
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        let key = Key::new(&self.prefix, name)?;
        let watch = Arc::clone(&self.watch);
        self.call(Caller::Other, move |store| {
            let record = store.read(|view| requests::read(view, &key))?;
            let marked = |record: &&Record| !record.released && record.wanted != 0;
            if let Some(record) = record.as_ref().filter(marked) {
                watch.refused(&key, record);
            }
            Ok(record)
        })
        .await
    }

    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        if requests.is_empty() {
            return Vec::new();
        }
        let item = |request: &Renew| Ok((Key::new(&self.prefix, &request.name)?, request.clone()));
        let items: Vec<requests::Item> = requests.iter().map(item).collect();
        let renew = move |store: &mut Store| Ok(requests::renew_many(store, &items));
        self.call(Caller::Holder, renew)
            .await
            .unwrap_or_else(|error| requests.iter().map(|_| Err(error.clone())).collect())
    }

    /// Hints about names on which a caller was refused, or saw a holder, through a provider of this file in this
    /// process: at once when a provider of this process releases one, otherwise within a few milliseconds.
    async fn watch(&self) -> Result<Option<Wakeups>, ProviderError> {
        Ok(Some(self.watch.listen(&self.prefix)))
    }

    fn sharing(&self) -> Option<&Sharing> {
        Some(&self.sharing)
    }
}
