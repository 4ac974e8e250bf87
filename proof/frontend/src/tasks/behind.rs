//! A store of tasks whose calls pass through something: a network that loses them, a watcher, a delay.

mod claims;

use std::{sync::Arc, time::SystemTime};

use async_trait::async_trait;
use dlock_core::{
    Provider, ProviderError, Record,
    provider::{Release, ReleaseOutcome, Renew, RenewOutcome},
};
use dlock_tasks::{
    Ages, Claim, ClaimKey, Claimed, Count, Ended, Ending, Enqueued, Filter, Kept, LimitedQueue,
    NewTask, PausedQueue, Served, State, Task, TaskId, TaskStore,
};
use serde_json::Value;

use self::claims::Claims;

/// What is asked of a store.
#[derive(Clone, Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a passage decides about every call"
)]
pub enum Call {
    /// [`TaskStore::enqueue`].
    Enqueue(Vec<NewTask>),
    /// [`TaskStore::enqueue_periodic`]: the name, and the instant.
    Periodic(String, SystemTime),
    /// [`TaskStore::claim`].
    Claim(Claim),
    /// [`TaskStore::finish`].
    Finish(Vec<Ending>),
    /// [`TaskStore::checkpoint`]: the claim, the number, and what.
    Checkpoint(ClaimKey, u64, Value),
    /// [`TaskStore::cancel`]: the task, and whether by force.
    Cancel(TaskId, bool),
    /// [`TaskStore::retry`].
    Retry(TaskId),
    /// [`TaskStore::set_paused`]: the queue, and whether it is to be.
    Pause(String, bool),
    /// [`TaskStore::set_limit`]: the queue, and its limit.
    Limit(String, Option<u32>),
    /// [`TaskStore::prune`].
    Prune,
    /// Heartbeats.
    Renew(Vec<Renew>),
    /// A release of a claim.
    Release(Release),
    /// What only looks.
    Look,
}

/// What a store answers.
#[derive(Clone, Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a passage decides about every answer"
)]
pub enum Answer {
    /// To an enqueue.
    Enqueued(Vec<Enqueued>),
    /// To an instant of a schedule.
    Served(Served),
    /// To a claim.
    Claimed(Claimed),
    /// To endings.
    Ended(Vec<Ended>),
    /// To a checkpoint.
    Kept(Kept),
    /// To heartbeats.
    Renewed(Vec<Result<RenewOutcome, ProviderError>>),
    /// To a release.
    Released(ReleaseOutcome),
    /// To a cancel.
    Cancelled(Option<State>),
    /// To a retry.
    Retried(Option<Enqueued>),
    /// To anything else.
    Other,
}

/// What calls pass through on their way to a store and back.
#[async_trait]
pub trait Passage: Clone + Send + Sync + 'static {
    /// One call. `ask` sends it to the store, each time that it is called.
    async fn pass<A, F, Fut>(&self, call: Call, ask: F) -> Result<A, ProviderError>
    where
        A: Clone + Into<Answer> + Send + Sync + 'static,
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<A, ProviderError>> + Send + 'static;
}

/// A store behind a [`Passage`]. Clones are the same process: they share a client of its claims.
#[derive(Clone, Debug)]
pub struct Behind<S, P> {
    store: S,
    passage: P,
    claims: Arc<Claims<P>>,
}

impl<S: TaskStore + Clone, P: Passage> Behind<S, P> {
    /// The store, as a process sees it that reaches it this way.
    pub fn new(store: S, passage: P) -> Self {
        let claims = Arc::new(Claims::new(store.claims(), passage.clone()));
        Self {
            store,
            passage,
            claims,
        }
    }
}

#[async_trait]
impl<S: TaskStore + Clone, P: Passage> TaskStore for Behind<S, P> {
    async fn enqueue(&self, tasks: &[NewTask]) -> Result<Vec<Enqueued>, ProviderError> {
        let (store, tasks) = (self.store.clone(), tasks.to_vec());
        self.passage
            .pass(Call::Enqueue(tasks.clone()), move || {
                let (store, tasks) = (store.clone(), tasks.clone());
                async move { store.enqueue(&tasks).await }
            })
            .await
    }

    async fn enqueue_periodic(
        &self,
        schedule: &str,
        instant: SystemTime,
        task: &NewTask,
    ) -> Result<Served, ProviderError> {
        let (store, schedule, task) = (self.store.clone(), schedule.to_owned(), task.clone());
        self.passage
            .pass(Call::Periodic(schedule.clone(), instant), move || {
                let (store, schedule, task) = (store.clone(), schedule.clone(), task.clone());
                async move { store.enqueue_periodic(&schedule, instant, &task).await }
            })
            .await
    }

    async fn claim(&self, claim: &Claim) -> Result<Claimed, ProviderError> {
        let (store, claim) = (self.store.clone(), claim.clone());
        self.passage
            .pass(Call::Claim(claim.clone()), move || {
                let (store, claim) = (store.clone(), claim.clone());
                async move { store.claim(&claim).await }
            })
            .await
    }

    async fn finish(&self, endings: &[Ending]) -> Result<Vec<Ended>, ProviderError> {
        let (store, endings) = (self.store.clone(), endings.to_vec());
        self.passage
            .pass(Call::Finish(endings.clone()), move || {
                let (store, endings) = (store.clone(), endings.clone());
                async move { store.finish(&endings).await }
            })
            .await
    }

    async fn checkpoint(
        &self,
        key: &ClaimKey,
        number: u64,
        checkpoint: &Value,
    ) -> Result<Kept, ProviderError> {
        let (store, key, checkpoint) = (self.store.clone(), *key, checkpoint.clone());
        self.passage
            .pass(
                Call::Checkpoint(key, number, checkpoint.clone()),
                move || {
                    let (store, checkpoint) = (store.clone(), checkpoint.clone());
                    async move { store.checkpoint(&key, number, &checkpoint).await }
                },
            )
            .await
    }

    fn claims(&self) -> Arc<dyn Provider> {
        Arc::clone(&self.claims) as Arc<dyn Provider>
    }

    async fn cancel(&self, id: TaskId, force: bool) -> Result<Option<State>, ProviderError> {
        let store = self.store.clone();
        self.passage
            .pass(Call::Cancel(id, force), move || {
                let store = store.clone();
                async move { store.cancel(id, force).await }
            })
            .await
    }

    async fn retry(&self, id: TaskId) -> Result<Option<Enqueued>, ProviderError> {
        let store = self.store.clone();
        self.passage
            .pass(Call::Retry(id), move || {
                let store = store.clone();
                async move { store.retry(id).await }
            })
            .await
    }

    async fn task(&self, id: TaskId) -> Result<Option<Task>, ProviderError> {
        let store = self.store.clone();
        self.passage
            .pass(Call::Look, move || {
                let store = store.clone();
                async move { store.task(id).await }
            })
            .await
    }

    async fn list(&self, filter: &Filter) -> Result<Vec<Task>, ProviderError> {
        let (store, filter) = (self.store.clone(), filter.clone());
        self.passage
            .pass(Call::Look, move || {
                let (store, filter) = (store.clone(), filter.clone());
                async move { store.list(&filter).await }
            })
            .await
    }

    async fn set_paused(&self, queue: &str, paused: bool) -> Result<(), ProviderError> {
        let (store, queue) = (self.store.clone(), queue.to_owned());
        self.passage
            .pass(Call::Pause(queue.clone(), paused), move || {
                let (store, queue) = (store.clone(), queue.clone());
                async move { store.set_paused(&queue, paused).await }
            })
            .await
    }

    async fn paused(&self) -> Result<Vec<PausedQueue>, ProviderError> {
        let store = self.store.clone();
        self.passage
            .pass(Call::Look, move || {
                let store = store.clone();
                async move { store.paused().await }
            })
            .await
    }

    async fn set_limit(&self, queue: &str, limit: Option<u32>) -> Result<(), ProviderError> {
        let (store, queue) = (self.store.clone(), queue.to_owned());
        self.passage
            .pass(Call::Limit(queue.clone(), limit), move || {
                let (store, queue) = (store.clone(), queue.clone());
                async move { store.set_limit(&queue, limit).await }
            })
            .await
    }

    async fn limits(&self) -> Result<Vec<LimitedQueue>, ProviderError> {
        let store = self.store.clone();
        self.passage
            .pass(Call::Look, move || {
                let store = store.clone();
                async move { store.limits().await }
            })
            .await
    }

    async fn counts(&self) -> Result<Vec<Count>, ProviderError> {
        let store = self.store.clone();
        self.passage
            .pass(Call::Look, move || {
                let store = store.clone();
                async move { store.counts().await }
            })
            .await
    }

    async fn prune(&self, ages: Ages, most: usize) -> Result<usize, ProviderError> {
        let store = self.store.clone();
        self.passage
            .pass(Call::Prune, move || {
                let store = store.clone();
                async move { store.prune(ages, most).await }
            })
            .await
    }
}

macro_rules! answers {
    ($($type:ty => $answer:expr,)*) => {$(
        impl From<$type> for Answer {
            fn from(answer: $type) -> Self {
                let make: fn($type) -> Self = $answer;
                make(answer)
            }
        }
    )*};
}

answers! {
    Vec<Enqueued> => Self::Enqueued,
    Served => Self::Served,
    Claimed => Self::Claimed,
    Vec<Ended> => Self::Ended,
    Kept => Self::Kept,
    Vec<Result<RenewOutcome, ProviderError>> => Self::Renewed,
    ReleaseOutcome => Self::Released,
    Option<State> => Self::Cancelled,
    Option<Enqueued> => Self::Retried,
    Option<Task> => |_| Self::Other,
    Vec<Task> => |_| Self::Other,
    Vec<Count> => |_| Self::Other,
    Vec<PausedQueue> => |_| Self::Other,
    Vec<LimitedQueue> => |_| Self::Other,
    () => |()| Self::Other,
    Option<Record> => |_| Self::Other,
    usize => |_| Self::Other,
}
