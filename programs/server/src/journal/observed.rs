//! A store whose answers are passed to a journal. Those of renewals are not: reads count the renewals, and they are the
//! majority of all calls.

use std::sync::Arc;

use async_trait::async_trait;
use dlock_core::{
    Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Admin, Ask, AskOutcome, Capabilities, List, Page, Release,
        ReleaseOutcome, Renew, RenewOutcome, Revoke, RevokeOutcome, Sharing, Wakeups,
    },
};
use dlock_http::leases::What;

use super::Journal;

/// A store, and the journal that gets its answers.
pub(crate) struct Observed {
    store: Arc<dyn Admin>,
    journal: Arc<Journal>,
}

impl Observed {
    pub(crate) fn new(store: Arc<dyn Admin>, journal: Arc<Journal>) -> Self {
        Self { store, journal }
    }
}

#[async_trait]
impl Provider for Observed {
    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        let sent = self.journal.sent();
        let outcome = self.store.acquire(request).await?;
        match &outcome {
            AcquireOutcome::Acquired(tokens) => self.journal.granted(request, tokens.last()),
            AcquireOutcome::Held(record) => self.journal.found(sent, &request.name, record),
            AcquireOutcome::Spent => {}
        }
        Ok(outcome)
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        self.store.renew(request).await
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        let outcome = self.store.release(request).await?;
        if outcome.is_released() {
            let Release {
                name,
                uuid,
                closing,
                ..
            } = request;
            match closing {
                Some(closing) => self.journal.done(name, *uuid, What::Closed, closing.uuid()),
                None => self.journal.done(name, *uuid, What::Released, *uuid),
            }
        }
        Ok(outcome)
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        let sent = self.journal.sent();
        let record = self.store.read(name).await?;
        if let Some(record) = &record {
            self.journal.found(sent, name, record);
        }
        Ok(record)
    }

    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        self.store.renew_many(requests).await
    }

    fn shard(&self, name: &Name) -> u64 {
        self.store.shard(name)
    }

    async fn watch(&self) -> Result<Option<Wakeups>, ProviderError> {
        self.store.watch().await
    }

    fn sharing(&self) -> Option<&Sharing> {
        self.store.sharing()
    }
}

#[async_trait]
impl Admin for Observed {
    async fn list(&self, request: &List) -> Result<Page, ProviderError> {
        let sent = self.journal.sent();
        let page = self.store.list(request).await?;
        for (name, record) in &page.records {
            self.journal.found(sent, name, record);
        }
        Ok(page)
    }

    async fn revoke(&self, request: &Revoke) -> Result<RevokeOutcome, ProviderError> {
        let outcome = self.store.revoke(request).await?;
        if outcome == RevokeOutcome::Revoked {
            let Revoke {
                name, version, new, ..
            } = request;
            self.journal.done(name, version.uuid, What::Revoked, *new);
        }
        Ok(outcome)
    }

    async fn ask(&self, request: &Ask) -> Result<AskOutcome, ProviderError> {
        let outcome = self.store.ask(request).await?;
        if outcome == AskOutcome::Asked {
            let Ask { name, uuid, .. } = request;
            self.journal.done(name, *uuid, What::Asked, *uuid);
        }
        Ok(outcome)
    }

    async fn purge(&self, limit: usize) -> Result<u64, ProviderError> {
        self.store.purge(limit).await
    }

    async fn force_release(
        &self,
        name: &Name,
        seen: &Record,
    ) -> Result<ReleaseOutcome, ProviderError> {
        self.store.force_release(name, seen).await
    }
}
