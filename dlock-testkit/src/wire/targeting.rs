//! A wrapper that notifies the proxy of the call that is about to be sent, so that a fault of the wire strikes a
//! renewal, for example, and not the next exchange of any kind.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use dlock_core::{
    Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Release, ReleaseOutcome, Renew, RenewOutcome,
        Wakeups,
    },
};

use crate::{
    faults::Op,
    proxy::{Fault, Proxy},
};

/// The wrapper. It hits the intended call if the client has one call in progress at a time.
pub(super) struct Targeting {
    inner: Arc<dyn Provider>,
    proxy: Arc<Proxy>,
    targets: Mutex<Targets>,
}

#[derive(Default)]
struct Targets {
    next: BTreeMap<Op, VecDeque<Fault>>,
    always: BTreeMap<Op, Fault>,
}

impl Targeting {
    pub(super) fn new(inner: Arc<dyn Provider>, proxy: Arc<Proxy>) -> Self {
        Self {
            inner,
            proxy,
            targets: Mutex::default(),
        }
    }

    /// Strikes the next call of this operation.
    pub(super) fn next(&self, op: Op, fault: Fault) {
        self.targets().next.entry(op).or_default().push_back(fault);
    }

    /// Strikes every call of this operation.
    pub(super) fn always(&self, op: Op, fault: Fault) {
        self.targets().always.insert(op, fault);
    }

    /// From now on, strikes nothing.
    pub(super) fn clear(&self) {
        *self.targets() = Targets::default();
        self.proxy.clear();
    }

    fn fire(&self, op: Op) {
        let fault = {
            let mut targets = self.targets();
            let next = targets.next.get_mut(&op).and_then(VecDeque::pop_front);
            next.or_else(|| targets.always.get(&op).copied())
        };
        if let Some(fault) = fault {
            self.proxy.next(fault);
        }
    }

    fn targets(&self) -> MutexGuard<'_, Targets> {
        self.targets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Provider for Targeting {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        self.fire(Op::Acquire);
        self.inner.acquire(request).await
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        self.fire(Op::Renew);
        self.inner.renew(request).await
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        self.fire(Op::Release);
        self.inner.release(request).await
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        self.fire(Op::Read);
        self.inner.read(name).await
    }

    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        self.fire(Op::RenewMany);
        self.inner.renew_many(requests).await
    }

    fn shard(&self, name: &Name) -> u64 {
        self.inner.shard(name)
    }

    async fn watch(&self) -> Result<Option<Wakeups>, ProviderError> {
        self.inner.watch().await
    }
}
