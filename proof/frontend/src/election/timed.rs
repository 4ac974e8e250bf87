//! Notes how long each call of a store takes: a busy store may be late for less time than a question after the
//! failure would show.

use std::sync::Arc;

use async_trait::async_trait;
use dlock_core::{
    Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Admin, Ask, AskOutcome, Capabilities, List, Page, Release,
        ReleaseOutcome, Renew, RenewOutcome, Revoke, RevokeOutcome, Wakeups,
    },
};
use dlock_testkit::stall::Lag;

/// A provider whose calls are timed, but for the one that listens: it waits for nothing that a lease needs.
pub(super) struct Timed {
    pub(super) inner: Arc<dyn Admin>,
    pub(super) lag: Lag,
}

#[async_trait]
impl Provider for Timed {
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
}

#[async_trait]
impl Admin for Timed {
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
