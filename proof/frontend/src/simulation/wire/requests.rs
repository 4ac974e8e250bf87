//! The traffic on the wire: every request to the store, and its hints on their way back.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use dlock_core::{
    Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Release, ReleaseOutcome, Renew, RenewOutcome,
        Wakeup, WakeupSender, Wakeups,
    },
};
use dlock_testkit::{
    faults::{Op, Outcome, Request},
    memory::MemoryProvider,
};
use tokio::time::sleep;

use super::Wire;
use crate::simulation::plan::Effect;

#[async_trait]
impl Provider for Wire {
    fn capabilities(&self) -> Capabilities {
        self.0.store.capabilities()
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        let sent = request.clone();
        let ask = move |store: MemoryProvider| {
            let sent = sent.clone();
            async move { store.acquire(&sent).await }
        };
        self.call(Op::Acquire, Request::Acquire(request.clone()), ask)
            .await
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        let sent = request.clone();
        let ask = move |store: MemoryProvider| {
            let sent = sent.clone();
            async move { store.renew(&sent).await }
        };
        self.call(Op::Renew, Request::Renew(request.clone()), ask)
            .await
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        let sent = request.clone();
        let ask = move |store: MemoryProvider| {
            let sent = sent.clone();
            async move { store.release(&sent).await }
        };
        self.call(Op::Release, Request::Release(request.clone()), ask)
            .await
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        let (sent, monitor) = (name.clone(), self.0.monitor.clone());
        let next = self.0.counts.lock().map_or(0, |counts| {
            counts.get(&Op::Read).copied().unwrap_or_default()
        });
        let stale = match self.0.single.get(&(Op::Read, next)) {
            Some(Effect::Stale(writes)) => Some(*writes),
            _ => None,
        };
        let ask = move |store: MemoryProvider| {
            let (sent, monitor) = (sent.clone(), monitor.clone());
            async move {
                match stale {
                    Some(writes) => Ok(monitor.stale(sent.as_str(), writes)),
                    None => store.read(&sent).await,
                }
            }
        };
        self.call(Op::Read, Request::Read(name.clone()), ask).await
    }

    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        self.batch(requests).await
    }

    fn shard(&self, name: &Name) -> u64 {
        self.shard_of(name)
    }

    async fn watch(&self) -> Result<Option<Wakeups>, ProviderError> {
        let slot = Arc::new(Mutex::new(None));
        let put = Arc::clone(&slot);
        let ask = move |store: MemoryProvider| {
            let put = Arc::clone(&put);
            async move {
                let stream = store.watch().await?;
                let there = stream.is_some();
                *put.lock().unwrap_or_else(PoisonError::into_inner) = stream;
                Ok(Opened(there))
            }
        };
        self.call(Op::Watch, Request::Watch, ask).await?;
        let source = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok(source.map(|source| {
            let (to, stream) = Wakeups::channel(256);
            crate::spawn(self.clone().relay(source, to));
            stream
        }))
    }
}

/// Whether there is a stream of hints.
#[derive(Clone)]
struct Opened(bool);

impl From<Opened> for Outcome {
    fn from(Opened(there): Opened) -> Self {
        Self::Watch(there)
    }
}

impl Wire {
    /// Forwards hints, after their latency and in order, until the source ends.
    async fn relay(self, mut source: Wakeups, to: WakeupSender) {
        let Self(inner) = &self;
        let mut message = 0;
        while let Some(hint) = source.next().await {
            message += 1;
            sleep(self.latency(Op::Watch, 1_000_000 + message)).await;
            inner.machine.running().await;
            let now = inner.start.elapsed();
            if inner
                .mutes
                .iter()
                .any(|(from, until)| (*from..*until).contains(&now))
            {
                inner.monitor.figures(|figures| figures.fault("lost hints"));
                continue;
            }
            let name = match &hint {
                Wakeup::Name(name) => Some(name.as_str()),
                Wakeup::Everyone => None,
            };
            inner.monitor.hinted(inner.client, name);
            if !to.send(hint) {
                break;
            }
        }
        inner.machine.running().await;
    }
}
