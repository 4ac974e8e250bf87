//! The claims of a store as leases, behind the same passage.

use std::sync::Arc;

use async_trait::async_trait;
use dlock_core::{
    Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Release, ReleaseOutcome, Renew, RenewOutcome,
        Sharing,
    },
};

use super::{Call, Passage};

pub(super) struct Claims<P> {
    provider: Arc<dyn Provider>,
    passage: P,
    /// Not the store's own: every process has its own client.
    sharing: Sharing,
}

impl<P: Passage> Claims<P> {
    pub(super) fn new(provider: Arc<dyn Provider>, passage: P) -> Self {
        Self {
            provider,
            passage,
            sharing: Sharing::default(),
        }
    }
}

impl<P> std::fmt::Debug for Claims<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Claims")
    }
}

#[async_trait]
impl<P: Passage> Provider for Claims<P> {
    fn capabilities(&self) -> Capabilities {
        self.provider.capabilities()
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        self.provider.acquire(request).await
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        let mut outcomes = self.renew_many(std::slice::from_ref(request)).await;
        outcomes
            .pop()
            .unwrap_or_else(|| Err(ProviderError::unknown("no answer")))
    }

    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        let (provider, items) = (Arc::clone(&self.provider), requests.to_vec());
        let answer = self.passage.pass(Call::Renew(items.clone()), move || {
            let (provider, items) = (Arc::clone(&provider), items.clone());
            async move { Ok(provider.renew_many(&items).await) }
        });
        answer
            .await
            .unwrap_or_else(|error| requests.iter().map(|_| Err(error.clone())).collect())
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        let (provider, request) = (Arc::clone(&self.provider), request.clone());
        self.passage
            .pass(Call::Release(request.clone()), move || {
                let (provider, request) = (Arc::clone(&provider), request.clone());
                async move { provider.release(&request).await }
            })
            .await
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        let (provider, name) = (Arc::clone(&self.provider), name.clone());
        self.passage
            .pass(Call::Look, move || {
                let (provider, name) = (Arc::clone(&provider), name.clone());
                async move { provider.read(&name).await }
            })
            .await
    }

    fn sharing(&self) -> Option<&Sharing> {
        Some(&self.sharing)
    }
}
