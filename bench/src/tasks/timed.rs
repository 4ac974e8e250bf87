//! A store of tasks that notes how long its claims took. Everything else goes straight through.

use std::{sync::Arc, time::SystemTime};

use async_trait::async_trait;
use dlock_core::{Provider, ProviderError, provider::Wakeups};
use dlock_tasks::{
    Ages, Claim, ClaimKey, Claimed, Count, Ended, Ending, Enqueued, Filter, Kept, LimitedQueue,
    NewTask, PausedQueue, Served, State, Task, TaskId, TaskStore,
};
use serde_json::Value;

use super::driver::{now, tally};
use crate::clock::Moment;

pub(crate) struct Timed {
    store: Arc<dyn TaskStore>,
    is_on: bool,
}

impl Timed {
    pub(crate) fn new(store: Arc<dyn TaskStore>, is_on: bool) -> Self {
        Self { store, is_on }
    }
}

#[async_trait]
impl TaskStore for Timed {
    async fn enqueue(&self, tasks: &[NewTask]) -> Result<Vec<Enqueued>, ProviderError> {
        self.store.enqueue(tasks).await
    }

    async fn enqueue_periodic(
        &self,
        schedule: &str,
        instant: SystemTime,
        task: &NewTask,
    ) -> Result<Served, ProviderError> {
        self.store.enqueue_periodic(schedule, instant, task).await
    }

    async fn claim(&self, claim: &Claim) -> Result<Claimed, ProviderError> {
        let (at, began) = (now(), Moment::now());
        let claimed = self.store.claim(claim).await;
        if self.is_on {
            let took = Moment::now().since(began).as_micros();
            tally().note(format!("claim {at} {took}"));
        }
        claimed
    }

    async fn finish(&self, endings: &[Ending]) -> Result<Vec<Ended>, ProviderError> {
        self.store.finish(endings).await
    }

    async fn checkpoint(
        &self,
        key: &ClaimKey,
        number: u64,
        checkpoint: &Value,
    ) -> Result<Kept, ProviderError> {
        self.store.checkpoint(key, number, checkpoint).await
    }

    fn claims(&self) -> Arc<dyn Provider> {
        self.store.claims()
    }

    async fn watch(&self, claim: &Claim) -> Result<Option<Wakeups>, ProviderError> {
        self.store.watch(claim).await
    }

    async fn cancel(&self, id: TaskId, force: bool) -> Result<Option<State>, ProviderError> {
        self.store.cancel(id, force).await
    }

    async fn retry(&self, id: TaskId) -> Result<Option<Enqueued>, ProviderError> {
        self.store.retry(id).await
    }

    async fn task(&self, id: TaskId) -> Result<Option<Task>, ProviderError> {
        self.store.task(id).await
    }

    async fn list(&self, filter: &Filter) -> Result<Vec<Task>, ProviderError> {
        self.store.list(filter).await
    }

    async fn set_paused(&self, queue: &str, paused: bool) -> Result<(), ProviderError> {
        self.store.set_paused(queue, paused).await
    }

    async fn paused(&self) -> Result<Vec<PausedQueue>, ProviderError> {
        self.store.paused().await
    }

    async fn set_limit(&self, queue: &str, limit: Option<u32>) -> Result<(), ProviderError> {
        self.store.set_limit(queue, limit).await
    }

    async fn limits(&self) -> Result<Vec<LimitedQueue>, ProviderError> {
        self.store.limits().await
    }

    async fn counts(&self) -> Result<Vec<Count>, ProviderError> {
        self.store.counts().await
    }

    async fn prune(&self, ages: Ages, most: usize) -> Result<usize, ProviderError> {
        self.store.prune(ages, most).await
    }
}
