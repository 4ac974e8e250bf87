//! The memory store with one flaw.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use async_trait::async_trait;
use dlock_core::{
    Provider, ProviderError,
    provider::{Wakeup, WakeupSender, Wakeups},
};
use dlock_tasks::{
    Ages, Claim, ClaimKey, Claimed, Count, Ended, Ending, Enqueued, Filter, Kept, LimitedQueue,
    NewTask, PausedQueue, Served, State, Task, TaskId, TaskStore,
};
use dlock_testkit::tasks::memory::{MemoryTasks, table::Row};
use serde_json::Value;
use tokio::task::yield_now;

use super::{TaskFlaw, beats::PlantedBeats};

/// A task store with at most one flaw.
#[derive(Clone, Debug)]
pub struct PlantedTasks {
    pub(super) inner: MemoryTasks,
    pub(super) flaw: Option<TaskFlaw>,
    /// How often each task was claimed since it was retried, for flaws of tokens.
    pub(super) claims: Arc<Mutex<BTreeMap<TaskId, Claims>>>,
    listeners: Arc<Mutex<Vec<WakeupSender>>>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Claims {
    pub(super) number: u64,
    pub(super) retried: bool,
}

impl PlantedTasks {
    pub(super) fn over(inner: MemoryTasks, flaw: Option<TaskFlaw>) -> Self {
        Self {
            inner,
            flaw,
            claims: Arc::default(),
            listeners: Arc::default(),
        }
    }

    pub(super) fn has(&self, flaw: TaskFlaw) -> bool {
        self.flaw == Some(flaw)
    }

    /// Changes a task directly, past all calls.
    pub(super) fn edit<T>(
        &self,
        id: TaskId,
        edit: impl FnOnce(&mut Row, SystemTime) -> T,
    ) -> Option<T> {
        self.inner
            .call(|table, now| table.rows.get_mut(&id).map(|row| edit(row, now)))
    }

    /// Changes all tasks.
    pub(super) fn edit_all(&self, mut edit: impl FnMut(&mut Row, SystemTime)) {
        self.inner
            .call(|table, now| table.rows.values_mut().for_each(|row| edit(row, now)));
    }

    pub(super) fn rows(&self) -> BTreeMap<TaskId, Row> {
        self.inner.call(|table, _| table.rows.clone())
    }

    pub(super) fn claims_of(&self, id: TaskId) -> Claims {
        let claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        claims.get(&id).copied().unwrap_or_default()
    }

    pub(super) fn count(&self, id: TaskId, claims: Claims) {
        let mut all = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(id, claims);
    }

    /// The newest claim of a task.
    pub(super) fn newest(&self, id: TaskId) -> Option<ClaimKey> {
        self.edit(id, |row, _| {
            let record = &row.term.as_ref()?.record;
            Some(ClaimKey::new(id, record.uuid, record.token))
        })?
    }
}

impl PlantedTasks {
    /// Forwards the store's hints; with some of its own, or until one is not read.
    async fn listen(&self, claim: &Claim) -> Result<Option<Wakeups>, ProviderError> {
        let Some(mut heard) = self.inner.watch(claim).await? else {
            return Ok(None);
        };
        let (sender, wakeups) = Wakeups::channel(1);
        self.listeners().push(sender.clone());
        let deaf = self.has(TaskFlaw::UnreadHintIsTheLast);
        crate::spawn(async move {
            while let Some(hint) = heard.next().await {
                if !sender.send(hint) && deaf {
                    return;
                }
            }
        });
        Ok(Some(wakeups))
    }

    fn listeners(&self) -> MutexGuard<'_, Vec<WakeupSender>> {
        let listeners = self.listeners.lock();
        listeners.unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an ending notifies no worker that waits for a lane or a place.
    fn ends_unheard(&self) -> bool {
        self.has(TaskFlaw::LaneEndIsNotHinted) || self.has(TaskFlaw::PlaceIsNotHinted)
    }

    fn shown(&self, mut task: Task) -> Task {
        if self.has(TaskFlaw::LaneIsNotShown) {
            task.lane = None;
        }
        task
    }

    /// Hints that a heartbeat was sent, if that is the flaw.
    pub(super) fn hint_beat(&self) {
        if self.has(TaskFlaw::BeatsAreHinted) {
            self.listeners()
                .retain(|sender| sender.send(Wakeup::Everyone) || !sender.is_closed());
        }
    }
}

#[async_trait]
impl TaskStore for PlantedTasks {
    async fn enqueue(&self, tasks: &[NewTask]) -> Result<Vec<Enqueued>, ProviderError> {
        let added = self.add(tasks).await;
        if self.has(TaskFlaw::UnreadHintIsTheLast) {
            // Until the hint has been forwarded.
            yield_now().await;
        }
        added
    }

    async fn enqueue_periodic(
        &self,
        schedule: &str,
        instant: SystemTime,
        task: &NewTask,
    ) -> Result<Served, ProviderError> {
        self.serve(schedule, instant, task).await
    }

    async fn claim(&self, claim: &Claim) -> Result<Claimed, ProviderError> {
        self.take(claim).await
    }

    async fn finish(&self, endings: &[Ending]) -> Result<Vec<Ended>, ProviderError> {
        if self.ends_unheard() {
            return self
                .unheard(async || self.inner.finish(endings).await)
                .await;
        }
        self.end(endings).await
    }

    async fn checkpoint(
        &self,
        key: &ClaimKey,
        number: u64,
        checkpoint: &Value,
    ) -> Result<Kept, ProviderError> {
        self.keep(key, number, checkpoint).await
    }

    fn claims(&self) -> Arc<dyn Provider> {
        Arc::new(PlantedBeats(self.clone()))
    }

    async fn watch(&self, claim: &Claim) -> Result<Option<Wakeups>, ProviderError> {
        if self.has(TaskFlaw::NothingIsHinted) {
            let (sender, wakeups) = Wakeups::channel(1);
            self.listeners().push(sender);
            return Ok(Some(wakeups));
        }
        if self.has(TaskFlaw::BeatsAreHinted) || self.has(TaskFlaw::UnreadHintIsTheLast) {
            return self.listen(claim).await;
        }
        self.inner.watch(claim).await
    }

    async fn cancel(&self, id: TaskId, force: bool) -> Result<Option<State>, ProviderError> {
        if self.ends_unheard() {
            return self
                .unheard(async || self.inner.cancel(id, force).await)
                .await;
        }
        self.stop(id, force).await
    }

    async fn retry(&self, id: TaskId) -> Result<Option<Enqueued>, ProviderError> {
        let retried = self.again(id).await;
        if self.has(TaskFlaw::RetryForgetsLane)
            && let Ok(Some(Enqueued::New(id))) = retried
        {
            self.edit(id, |row, _| row.new.lane = None);
        }
        retried
    }

    async fn task(&self, id: TaskId) -> Result<Option<Task>, ProviderError> {
        let task = self.inner.task(id).await;
        Ok(task?.map(|task| self.shown(task)))
    }

    async fn list(&self, filter: &Filter) -> Result<Vec<Task>, ProviderError> {
        let mut filter = filter.clone();
        match self.flaw {
            Some(TaskFlaw::ListIgnoresQueue) => filter.queue = None,
            Some(TaskFlaw::ListIgnoresState) => filter.state = None,
            Some(TaskFlaw::ListIgnoresPlace) => filter.after = None,
            Some(TaskFlaw::ListIsUnlimited) => filter.limit = 1000,
            _ => {}
        }
        let mut tasks = self.inner.list(&filter).await?;
        if self.has(TaskFlaw::EndedIsNotListed) {
            tasks.retain(|task| !task.state.has_ended());
        }
        Ok(tasks.into_iter().map(|task| self.shown(task)).collect())
    }

    async fn set_paused(&self, queue: &str, paused: bool) -> Result<(), ProviderError> {
        self.pause(queue, paused).await
    }

    async fn paused(&self) -> Result<Vec<PausedQueue>, ProviderError> {
        self.shown_as_paused().await
    }

    async fn set_limit(&self, queue: &str, limit: Option<u32>) -> Result<(), ProviderError> {
        self.limit(queue, limit).await
    }

    async fn limits(&self) -> Result<Vec<LimitedQueue>, ProviderError> {
        self.shown_as_limited().await
    }

    async fn counts(&self) -> Result<Vec<Count>, ProviderError> {
        let mut counts = self.inner.counts().await?;
        if self.has(TaskFlaw::EndedIsNotCounted) {
            counts.retain(|count| !count.state.has_ended());
        }
        if self.has(TaskFlaw::StalledIsRunning) {
            for count in &mut counts {
                if count.state == State::Stalled {
                    count.state = State::Running;
                }
            }
        }
        Ok(counts)
    }

    async fn prune(&self, ages: Ages, most: usize) -> Result<usize, ProviderError> {
        self.forget(ages, most).await
    }
}
