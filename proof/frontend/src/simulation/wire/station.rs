//! The provider with which a client's locks are built.

use async_trait::async_trait;
use dlock_core::{
    Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Release, ReleaseOutcome, Renew, RenewOutcome,
        Sharing, Wakeups,
    },
};

use super::Wire;
use crate::history::Recorded;

/// The provider with which a client's locks are built: its wire, recorded, whose clones share the client.
#[derive(Clone, Debug)]
pub(in super::super) struct Station {
    wire: Recorded<Wire>,
    sharing: Sharing,
}

impl Station {
    pub(in super::super) fn new(wire: Recorded<Wire>) -> Self {
        Self {
            wire,
            sharing: Sharing::default(),
        }
    }
}

#[async_trait]
impl Provider for Station {
    fn capabilities(&self) -> Capabilities {
        self.wire.capabilities()
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        self.wire.acquire(request).await
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        self.wire.renew(request).await
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        self.wire.release(request).await
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        self.wire.read(name).await
    }

    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        self.wire.renew_many(requests).await
    }

    fn shard(&self, name: &Name) -> u64 {
        self.wire.shard(name)
    }

    async fn watch(&self) -> Result<Option<Wakeups>, ProviderError> {
        self.wire.watch().await
    }

    fn sharing(&self) -> Option<&Sharing> {
        Some(&self.sharing)
    }
}
