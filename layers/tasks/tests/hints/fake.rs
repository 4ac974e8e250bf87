//! A store whose answers a test sets.

use std::{
    collections::VecDeque,
    future::pending,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use dlock_core::{
    FencingToken, Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Discipline, Release, ReleaseOutcome, Renew,
        RenewOutcome, WakeupSender, Wakeups,
    },
};
use dlock_tasks::{
    Ages, Claim, ClaimKey, Claimed, ClaimedTask, Count, Ended, Ending, Enqueued, Filter, Kept,
    LimitedQueue, NewTask, PausedQueue, Payload, Served, State, Task, TaskId, TaskStore,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::sleep;

#[derive(Serialize, Deserialize)]
pub(crate) struct Nothing;

impl Payload for Nothing {
    const KIND: &'static str = "nothing";
}

/// A store with only the tasks that a test gives it.
#[derive(Clone, Default)]
pub(crate) struct Fake(pub(crate) Arc<Inner>);

#[derive(Default)]
pub(crate) struct Inner {
    pub(crate) claims: AtomicUsize,
    /// The number of tasks that each claim requested, and how long its answer takes.
    pub(crate) asked: Mutex<Vec<usize>>,
    pub(crate) delay: Mutex<Duration>,
    /// The number of tasks that the next claims find.
    pub(crate) tasks: AtomicUsize,
    pub(crate) numbers: AtomicUsize,
    /// The answers of the next calls of `watch`; later calls never answer.
    pub(crate) streams: Mutex<VecDeque<Result<Option<Wakeups>, ProviderError>>>,
    pub(crate) watched: AtomicUsize,
    /// The number of endings in each call of `finish`.
    pub(crate) finished: Mutex<Vec<usize>>,
}

impl Fake {
    /// The next call of `watch` gets this stream.
    pub(crate) fn stream(&self) -> WakeupSender {
        let (sender, stream) = Wakeups::channel(1);
        self.answer(Ok(Some(stream)));
        sender
    }

    pub(crate) fn answer(&self, answer: Result<Option<Wakeups>, ProviderError>) {
        self.0.streams.lock().unwrap().push_back(answer);
    }

    pub(crate) fn claims(&self) -> usize {
        self.0.claims.load(Ordering::SeqCst)
    }

    pub(crate) fn watched(&self) -> usize {
        self.0.watched.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl TaskStore for Fake {
    async fn enqueue(&self, _: &[NewTask]) -> Result<Vec<Enqueued>, ProviderError> {
        Err(ProviderError::fatal("not here"))
    }
    async fn enqueue_periodic(
        &self,
        _: &str,
        _: SystemTime,
        _: &NewTask,
    ) -> Result<Served, ProviderError> {
        Err(ProviderError::fatal("not here"))
    }
    async fn claim(&self, claim: &Claim) -> Result<Claimed, ProviderError> {
        self.0.claims.fetch_add(1, Ordering::SeqCst);
        self.0.asked.lock().unwrap().push(claim.max);
        let delay = *self.0.delay.lock().unwrap();
        if !delay.is_zero() {
            sleep(delay).await;
        }
        let mut tasks = Vec::new();
        let one = |tasks: usize| tasks.checked_sub(1);
        let take = || {
            self.0
                .tasks
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, one)
        };
        while tasks.len() < claim.max && take().is_ok() {
            let number = 1 + self.0.numbers.fetch_add(1, Ordering::SeqCst);
            let id = TaskId::new(number.try_into().unwrap()).unwrap();
            let key = ClaimKey::new(id, claim.uuid, FencingToken::new(1).unwrap());
            let kind = Nothing::KIND.to_owned();
            tasks.push(ClaimedTask::new(
                key,
                claim.queues[0].clone(),
                kind,
                json!(null),
            ));
        }
        Ok(Claimed::new(tasks, None))
    }
    async fn finish(&self, endings: &[Ending]) -> Result<Vec<Ended>, ProviderError> {
        self.0.finished.lock().unwrap().push(endings.len());
        Ok(endings
            .iter()
            .map(|_| Ended::Own(State::Succeeded))
            .collect())
    }
    async fn checkpoint(&self, _: &ClaimKey, _: u64, _: &Value) -> Result<Kept, ProviderError> {
        Err(ProviderError::fatal("not here"))
    }
    fn claims(&self) -> Arc<dyn Provider> {
        Arc::new(Beats)
    }
    async fn watch(&self, claim: &Claim) -> Result<Option<Wakeups>, ProviderError> {
        assert_eq!(claim.queues, ["default"]);
        let kinds = claim.kinds.as_deref().unwrap();
        assert_eq!(kinds, [Nothing::KIND]);
        self.0.watched.fetch_add(1, Ordering::SeqCst);
        let answer = self.0.streams.lock().unwrap().pop_front();
        match answer {
            Some(answer) => answer,
            None => pending().await,
        }
    }
    async fn cancel(&self, _: TaskId, _: bool) -> Result<Option<State>, ProviderError> {
        Ok(None)
    }
    async fn retry(&self, _: TaskId) -> Result<Option<Enqueued>, ProviderError> {
        Ok(None)
    }
    async fn task(&self, _: TaskId) -> Result<Option<Task>, ProviderError> {
        Ok(None)
    }
    async fn list(&self, _: &Filter) -> Result<Vec<Task>, ProviderError> {
        Ok(Vec::new())
    }
    async fn set_paused(&self, _: &str, _: bool) -> Result<(), ProviderError> {
        Ok(())
    }
    async fn paused(&self) -> Result<Vec<PausedQueue>, ProviderError> {
        Ok(Vec::new())
    }
    async fn set_limit(&self, _: &str, _: Option<u32>) -> Result<(), ProviderError> {
        Ok(())
    }
    async fn limits(&self) -> Result<Vec<LimitedQueue>, ProviderError> {
        Ok(Vec::new())
    }
    async fn counts(&self) -> Result<Vec<Count>, ProviderError> {
        Ok(Vec::new())
    }
    async fn prune(&self, _: Ages, _: usize) -> Result<usize, ProviderError> {
        Ok(0)
    }
}

struct Beats;

#[async_trait]
impl Provider for Beats {
    fn capabilities(&self) -> Capabilities {
        Capabilities::new("fake", Discipline::StoreClock)
    }
    async fn acquire(&self, _: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        Err(ProviderError::fatal("not here"))
    }
    async fn renew(&self, _: &Renew) -> Result<RenewOutcome, ProviderError> {
        Ok(RenewOutcome::Renewed { asked: false })
    }
    async fn release(&self, _: &Release) -> Result<ReleaseOutcome, ProviderError> {
        Ok(ReleaseOutcome::Released { wanted: false })
    }
    async fn read(&self, _: &Name) -> Result<Option<Record>, ProviderError> {
        Ok(None)
    }
}
