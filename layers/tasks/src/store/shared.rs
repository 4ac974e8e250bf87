//! A shared store, chosen at run time.

use std::{sync::Arc, time::SystemTime};

use async_trait::async_trait;
use dlock_core::{Provider, ProviderError, provider::Wakeups};
use serde_json::Value;

use super::{Ages, Count, Filter, TaskStore};
use crate::{
    Claim, ClaimKey, Claimed, Ended, Ending, Enqueued, Kept, LimitedQueue, NewTask, PausedQueue,
    Served, State, Task, TaskId,
};

#[async_trait]
impl<S: TaskStore + ?Sized> TaskStore for Arc<S> {
    async fn enqueue(&self, tasks: &[NewTask]) -> Result<Vec<Enqueued>, ProviderError> {
        (**self).enqueue(tasks).await
    }

    async fn enqueue_periodic(
        &self,
        schedule: &str,
        instant: SystemTime,
        task: &NewTask,
    ) -> Result<Served, ProviderError> {
        (**self).enqueue_periodic(schedule, instant, task).await
    }

    async fn claim(&self, claim: &Claim) -> Result<Claimed, ProviderError> {
        (**self).claim(claim).await
    }

    async fn finish(&self, endings: &[Ending]) -> Result<Vec<Ended>, ProviderError> {
        (**self).finish(endings).await
    }

    async fn checkpoint(
        &self,
        key: &ClaimKey,
        number: u64,
        checkpoint: &Value,
    ) -> Result<Kept, ProviderError> {
        (**self).checkpoint(key, number, checkpoint).await
    }

    fn claims(&self) -> Arc<dyn Provider> {
        (**self).claims()
    }

    async fn watch(&self, claim: &Claim) -> Result<Option<Wakeups>, ProviderError> {
        (**self).watch(claim).await
    }

    async fn cancel(&self, id: TaskId, force: bool) -> Result<Option<State>, ProviderError> {
        (**self).cancel(id, force).await
    }

    async fn retry(&self, id: TaskId) -> Result<Option<Enqueued>, ProviderError> {
        (**self).retry(id).await
    }

    async fn task(&self, id: TaskId) -> Result<Option<Task>, ProviderError> {
        (**self).task(id).await
    }

    async fn list(&self, filter: &Filter) -> Result<Vec<Task>, ProviderError> {
        (**self).list(filter).await
    }

    async fn set_paused(&self, queue: &str, paused: bool) -> Result<(), ProviderError> {
        (**self).set_paused(queue, paused).await
    }

    async fn paused(&self) -> Result<Vec<PausedQueue>, ProviderError> {
        (**self).paused().await
    }

    async fn set_limit(&self, queue: &str, limit: Option<u32>) -> Result<(), ProviderError> {
        (**self).set_limit(queue, limit).await
    }

    async fn limits(&self) -> Result<Vec<LimitedQueue>, ProviderError> {
        (**self).limits().await
    }

    async fn counts(&self) -> Result<Vec<Count>, ProviderError> {
        (**self).counts().await
    }

    async fn prune(&self, ages: Ages, most: usize) -> Result<usize, ProviderError> {
        (**self).prune(ages, most).await
    }
}
