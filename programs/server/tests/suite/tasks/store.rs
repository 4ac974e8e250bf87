//! A store whose claims and counts are counted, and whose calls fail on demand.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::SystemTime,
};

use async_trait::async_trait;
use dlock_core::{Provider, ProviderError, provider::Wakeups};
use dlock_tasks::{
    Ages, Claim, ClaimKey, Claimed, Count, Ended, Ending, Enqueued, Filter, Kept, LimitedQueue,
    NewTask, PausedQueue, Served, State, Task, TaskId, TaskStore,
};
use dlock_testkit::tasks::memory::MemoryTasks;
use serde_json::Value;

use crate::reserved::{Crowd, Reserved};

/// The fate of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Refuse,
    /// It is applied, and its answer is lost.
    LoseReply,
    Fatal,
    /// It is never answered.
    Hang,
}

#[derive(Clone)]
pub(crate) struct Watched(Arc<Inner>, Crowd);

struct Inner {
    store: MemoryTasks,
    claims: AtomicUsize,
    counts: AtomicUsize,
    next: Mutex<VecDeque<Option<Fault>>>,
    /// Claims are never answered.
    claims_hang: AtomicBool,
    /// Endings are never answered, nor applied.
    endings_hang: AtomicBool,
    has_hints: AtomicBool,
}

impl Watched {
    pub(crate) fn new(store: MemoryTasks) -> Self {
        let inner = Arc::new(Inner {
            store,
            claims: AtomicUsize::new(0),
            counts: AtomicUsize::new(0),
            next: Mutex::default(),
            claims_hang: AtomicBool::new(false),
            endings_hang: AtomicBool::new(false),
            has_hints: AtomicBool::new(true),
        });
        Self(inner, Crowd::default())
    }

    /// The same, but only holders are served once this crowd comes.
    pub(crate) fn before(self, crowd: &Crowd) -> Self {
        Self(self.0, crowd.clone())
    }

    pub(crate) fn shared(&self) -> Arc<dyn TaskStore> {
        Arc::new(self.clone())
    }

    /// How many claims were sent.
    pub(crate) fn claims(&self) -> usize {
        self.0.claims.load(Ordering::SeqCst)
    }

    /// How often the tasks were counted.
    pub(crate) fn counts(&self) -> usize {
        self.0.counts.load(Ordering::SeqCst)
    }

    /// Sets the fate of the next call.
    pub(crate) fn next(&self, fault: Fault) {
        *self.0.next.lock().unwrap() = [Some(fault)].into();
    }

    /// Sets the fate of the call after the next one.
    pub(crate) fn second(&self, fault: Fault) {
        *self.0.next.lock().unwrap() = [None, Some(fault)].into();
    }

    pub(crate) fn let_claims_hang(&self) {
        self.0.claims_hang.store(true, Ordering::SeqCst);
    }

    pub(crate) fn let_endings_hang(&self) {
        self.0.endings_hang.store(true, Ordering::SeqCst);
    }

    pub(crate) fn without_hints(self) -> Self {
        self.0.has_hints.store(false, Ordering::SeqCst);
        self
    }

    async fn call<T>(
        &self,
        call: impl Future<Output = Result<T, ProviderError>> + Send,
    ) -> Result<T, ProviderError> {
        self.1.pass().await;
        self.call_of_holder(call).await
    }

    async fn call_of_holder<T>(
        &self,
        call: impl Future<Output = Result<T, ProviderError>> + Send,
    ) -> Result<T, ProviderError> {
        let fault = self.0.next.lock().unwrap().pop_front().flatten();
        match fault {
            None => call.await,
            Some(Fault::Refuse) => Err(ProviderError::not_applied("secret")),
            Some(Fault::Fatal) => Err(ProviderError::fatal("secret")),
            Some(Fault::Hang) => std::future::pending().await,
            Some(Fault::LoseReply) => {
                call.await?;
                Err(ProviderError::unknown("secret"))
            }
        }
    }
}

#[async_trait]
impl TaskStore for Watched {
    async fn enqueue(&self, tasks: &[NewTask]) -> Result<Vec<Enqueued>, ProviderError> {
        self.call(self.0.store.enqueue(tasks)).await
    }

    async fn enqueue_periodic(
        &self,
        schedule: &str,
        instant: SystemTime,
        task: &NewTask,
    ) -> Result<Served, ProviderError> {
        let served = self.0.store.enqueue_periodic(schedule, instant, task);
        self.call(served).await
    }

    async fn claim(&self, claim: &Claim) -> Result<Claimed, ProviderError> {
        self.0.claims.fetch_add(1, Ordering::SeqCst);
        if self.0.claims_hang.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        self.call(self.0.store.claim(claim)).await
    }

    async fn finish(&self, endings: &[Ending]) -> Result<Vec<Ended>, ProviderError> {
        if self.0.endings_hang.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        self.call_of_holder(self.0.store.finish(endings)).await
    }

    async fn checkpoint(
        &self,
        key: &ClaimKey,
        number: u64,
        checkpoint: &Value,
    ) -> Result<Kept, ProviderError> {
        let kept = self.0.store.checkpoint(key, number, checkpoint);
        self.call_of_holder(kept).await
    }

    fn claims(&self) -> Arc<dyn Provider> {
        Arc::new(Reserved::new(self.0.store.claims(), &self.1))
    }

    async fn watch(&self, claim: &Claim) -> Result<Option<Wakeups>, ProviderError> {
        if self.0.has_hints.load(Ordering::SeqCst) {
            return self.0.store.watch(claim).await;
        }
        Ok(None)
    }

    async fn cancel(&self, id: TaskId, force: bool) -> Result<Option<State>, ProviderError> {
        self.call(self.0.store.cancel(id, force)).await
    }

    async fn retry(&self, id: TaskId) -> Result<Option<Enqueued>, ProviderError> {
        self.call(self.0.store.retry(id)).await
    }

    async fn task(&self, id: TaskId) -> Result<Option<Task>, ProviderError> {
        self.call(self.0.store.task(id)).await
    }

    async fn list(&self, filter: &Filter) -> Result<Vec<Task>, ProviderError> {
        self.call(self.0.store.list(filter)).await
    }

    async fn set_paused(&self, queue: &str, paused: bool) -> Result<(), ProviderError> {
        self.call(self.0.store.set_paused(queue, paused)).await
    }

    async fn paused(&self) -> Result<Vec<PausedQueue>, ProviderError> {
        self.call(self.0.store.paused()).await
    }

    async fn set_limit(&self, queue: &str, limit: Option<u32>) -> Result<(), ProviderError> {
        self.call(self.0.store.set_limit(queue, limit)).await
    }

    async fn limits(&self) -> Result<Vec<LimitedQueue>, ProviderError> {
        self.call(self.0.store.limits()).await
    }

    async fn counts(&self) -> Result<Vec<Count>, ProviderError> {
        self.0.counts.fetch_add(1, Ordering::SeqCst);
        self.call(self.0.store.counts()).await
    }

    async fn prune(&self, ages: Ages, most: usize) -> Result<usize, ProviderError> {
        self.call(self.0.store.prune(ages, most)).await
    }
}
