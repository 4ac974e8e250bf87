//! A provider whose calls are timed: a busy store may be late for less time than a question after the failure would
//! show.

use std::sync::Arc;

use async_trait::async_trait;
use dlock_core::{
    Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Admin, Ask, AskOutcome, Capabilities, List, Page, Release,
        ReleaseOutcome, Renew, RenewOutcome, Revoke, RevokeOutcome, Sharing, Wakeups,
    },
};

use super::Lag;

/// A wrapper around a provider that notes in a [`Lag`] how long each call takes, but for the one that listens: no lease
/// waits for it. Clones of the provider inside still find the same client.
#[derive(Debug)]
pub struct Timed<P: ?Sized> {
    inner: Arc<P>,
    lag: Lag,
}

impl<P: ?Sized> Timed<P> {
    /// Wraps a provider.
    #[must_use]
    pub const fn new(inner: Arc<P>, lag: Lag) -> Self {
        Self { inner, lag }
    }
}

#[async_trait]
impl<P: Provider + ?Sized> Provider for Timed<P> {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        self.lag.time(self.inner.acquire(request)).await
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        self.lag.time(self.inner.renew(request)).await
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        self.lag.time(self.inner.release(request)).await
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        self.lag.time(self.inner.read(name)).await
    }

    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        self.lag.time(self.inner.renew_many(requests)).await
    }

    fn shard(&self, name: &Name) -> u64 {
        self.inner.shard(name)
    }

    async fn watch(&self) -> Result<Option<Wakeups>, ProviderError> {
        self.inner.watch().await
    }

    fn sharing(&self) -> Option<&Sharing> {
        self.inner.sharing()
    }
}

#[async_trait]
impl<P: Admin + ?Sized> Admin for Timed<P> {
    async fn list(&self, request: &List) -> Result<Page, ProviderError> {
        self.lag.time(self.inner.list(request)).await
    }

    async fn revoke(&self, request: &Revoke) -> Result<RevokeOutcome, ProviderError> {
        self.lag.time(self.inner.revoke(request)).await
    }

    async fn ask(&self, request: &Ask) -> Result<AskOutcome, ProviderError> {
        self.lag.time(self.inner.ask(request)).await
    }

    async fn purge(&self, limit: usize) -> Result<u64, ProviderError> {
        self.lag.time(self.inner.purge(limit)).await
    }
}
