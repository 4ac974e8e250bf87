//! A store whose connections are all taken except the one that it keeps for holders.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use dlock_core::{
    Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Admin, Ask, AskOutcome, Capabilities, List, Page, Release,
        ReleaseOutcome, Renew, RenewOutcome, Revoke, RevokeOutcome, Sharing, Wakeups,
        is_for_holder,
    },
};

/// Whether only holders are served from now on. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Crowd(Arc<AtomicBool>);

impl Crowd {
    pub(crate) fn comes(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Passes, or waits for a connection that never comes.
    pub(crate) async fn pass(&self) {
        if self.0.load(Ordering::SeqCst) && !is_for_holder() {
            pending::<()>().await;
        }
    }
}

pub(crate) struct Reserved<P: ?Sized> {
    pub(crate) crowd: Crowd,
    /// Batches of renewals are never answered.
    pub(crate) stuck: Arc<AtomicBool>,
    pub(crate) store: Arc<P>,
}

impl<P: ?Sized> Reserved<P> {
    pub(crate) fn new(store: Arc<P>, crowd: &Crowd) -> Self {
        Self {
            crowd: crowd.clone(),
            stuck: Arc::default(),
            store,
        }
    }
}

#[async_trait]
impl<P: Provider + ?Sized> Provider for Reserved<P> {
    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        self.crowd.pass().await;
        self.store.acquire(request).await
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        self.store.renew(request).await
    }

    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        if self.stuck.load(Ordering::SeqCst) {
            pending::<()>().await;
        }
        self.store.renew_many(requests).await
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        self.store.release(request).await
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        self.crowd.pass().await;
        self.store.read(name).await
    }

    async fn watch(&self) -> Result<Option<Wakeups>, ProviderError> {
        self.store.watch().await
    }

    fn sharing(&self) -> Option<&Sharing> {
        self.store.sharing()
    }
}

#[async_trait]
impl<P: Admin + ?Sized> Admin for Reserved<P> {
    async fn list(&self, request: &List) -> Result<Page, ProviderError> {
        self.crowd.pass().await;
        self.store.list(request).await
    }

    async fn revoke(&self, request: &Revoke) -> Result<RevokeOutcome, ProviderError> {
        self.crowd.pass().await;
        self.store.revoke(request).await
    }

    async fn ask(&self, request: &Ask) -> Result<AskOutcome, ProviderError> {
        self.crowd.pass().await;
        self.store.ask(request).await
    }

    async fn purge(&self, limit: usize) -> Result<u64, ProviderError> {
        self.crowd.pass().await;
        self.store.purge(limit).await
    }
}
