//! A task store whose calls pass through a wrapper: a network that loses them, a watcher, a delay.

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

/// A call to a store.
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
    /// [`TaskStore::checkpoint`]: the claim, the number, and the data.
    Checkpoint(ClaimKey, u64, Value),
    /// [`TaskStore::cancel`]: the task, and whether by force.
    Cancel(TaskId, bool),
    /// [`TaskStore::retry`].
    Retry(TaskId),
    /// [`TaskStore::set_paused`]: the queue, and whether it is to be paused.
    Pause(String, bool),
    /// [`TaskStore::set_limit`]: the queue, and its limit.
    Limit(String, Option<u32>),
    /// [`TaskStore::prune`].
    Prune,
    /// Heartbeats.
    Renew(Vec<Renew>),
    /// A release of a claim.
    Release(Release),
    /// A call that only reads.
    Look,
}

/// The answer of a store.
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

/// A wrapper that calls pass through on their way to a store and back.
#[async_trait]
pub trait Passage: Clone + Send + Sync + 'static {
    /// Passes one call. `ask` sends it to the store, each time that it is called.
    async fn pass<A, F, Fut>(&self, call: Call, ask: F) -> Result<A, ProviderError>
    where
        A: Clone + Into<Answer> + Send + Sync + 'static,
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<A, ProviderError>> + Send + 'static;
}

/// A store behind a [`Passage`]. Clones are the same process: they share a client of its claims.
#[derive(Clone, Debug)]
pub struct Wrapped<S, P> {
    store: S,
    passage: P,
    claims: Arc<Claims<P>>,
}

impl<S: TaskStore + Clone, P: Passage> Wrapped<S, P> {
    /// The store, as seen by a process that reaches it this way.
    pub fn new(store: S, passage: P) -> Self {
        let claims = Arc::new(Claims::new(store.claims(), passage.clone()));
        Self {
            store,
            passage,
            claims,
        }
    }

    /// Passes a call, which `ask` sends to its own clone of the store with these arguments.
    async fn through<T, A, Fut>(
        &self,
        call: Call,
        arguments: T,
        ask: fn(S, T) -> Fut,
    ) -> Result<A, ProviderError>
    where
        T: Clone + Send + Sync + 'static,
        A: Clone + Into<Answer> + Send + Sync + 'static,
        Fut: Future<Output = Result<A, ProviderError>> + Send + 'static,
    {
        let store = self.store.clone();
        self.passage
            .pass(call, move || ask(store.clone(), arguments.clone()))
            .await
    }
}

#[async_trait]
impl<S: TaskStore + Clone, P: Passage> TaskStore for Wrapped<S, P> {
    async fn enqueue(&self, tasks: &[NewTask]) -> Result<Vec<Enqueued>, ProviderError> {
        let (call, tasks) = (Call::Enqueue(tasks.to_vec()), tasks.to_vec());
        self.through(call, tasks, |store, tasks| async move {
            store.enqueue(&tasks).await
        })
        .await
    }

    async fn enqueue_periodic(
        &self,
        schedule: &str,
        instant: SystemTime,
        task: &NewTask,
    ) -> Result<Served, ProviderError> {
        let call = Call::Periodic(schedule.to_owned(), instant);
        let what = (schedule.to_owned(), instant, task.clone());
        self.through(call, what, |store, (schedule, instant, task)| async move {
            store.enqueue_periodic(&schedule, instant, &task).await
        })
        .await
    }

    async fn claim(&self, claim: &Claim) -> Result<Claimed, ProviderError> {
        let (call, claim) = (Call::Claim(claim.clone()), claim.clone());
        self.through(call, claim, |store, claim| async move {
            store.claim(&claim).await
        })
        .await
    }

    async fn finish(&self, endings: &[Ending]) -> Result<Vec<Ended>, ProviderError> {
        let (call, endings) = (Call::Finish(endings.to_vec()), endings.to_vec());
        self.through(call, endings, |store, endings| async move {
            store.finish(&endings).await
        })
        .await
    }

    async fn checkpoint(
        &self,
        key: &ClaimKey,
        number: u64,
        checkpoint: &Value,
    ) -> Result<Kept, ProviderError> {
        let what = (*key, number, checkpoint.clone());
        let call = Call::Checkpoint(*key, number, checkpoint.clone());
        self.through(call, what, |store, (key, number, checkpoint)| async move {
            store.checkpoint(&key, number, &checkpoint).await
        })
        .await
    }

    fn claims(&self) -> Arc<dyn Provider> {
        Arc::clone(&self.claims) as Arc<dyn Provider>
    }

    async fn cancel(&self, id: TaskId, force: bool) -> Result<Option<State>, ProviderError> {
        let call = Call::Cancel(id, force);
        self.through(call, (id, force), |store, (id, force)| async move {
            store.cancel(id, force).await
        })
        .await
    }

    async fn retry(&self, id: TaskId) -> Result<Option<Enqueued>, ProviderError> {
        self.through(Call::Retry(id), id, |store, id| async move {
            store.retry(id).await
        })
        .await
    }

    async fn task(&self, id: TaskId) -> Result<Option<Task>, ProviderError> {
        self.through(
            Call::Look,
            id,
            |store, id| async move { store.task(id).await },
        )
        .await
    }

    async fn list(&self, filter: &Filter) -> Result<Vec<Task>, ProviderError> {
        self.through(Call::Look, filter.clone(), |store, filter| async move {
            store.list(&filter).await
        })
        .await
    }

    async fn set_paused(&self, queue: &str, paused: bool) -> Result<(), ProviderError> {
        let call = Call::Pause(queue.to_owned(), paused);
        let what = (queue.to_owned(), paused);
        self.through(call, what, |store, (queue, paused)| async move {
            store.set_paused(&queue, paused).await
        })
        .await
    }

    async fn paused(&self) -> Result<Vec<PausedQueue>, ProviderError> {
        self.through(
            Call::Look,
            (),
            |store, ()| async move { store.paused().await },
        )
        .await
    }

    async fn set_limit(&self, queue: &str, limit: Option<u32>) -> Result<(), ProviderError> {
        let call = Call::Limit(queue.to_owned(), limit);
        let what = (queue.to_owned(), limit);
        self.through(call, what, |store, (queue, limit)| async move {
            store.set_limit(&queue, limit).await
        })
        .await
    }

    async fn limits(&self) -> Result<Vec<LimitedQueue>, ProviderError> {
        self.through(
            Call::Look,
            (),
            |store, ()| async move { store.limits().await },
        )
        .await
    }

    async fn counts(&self) -> Result<Vec<Count>, ProviderError> {
        self.through(
            Call::Look,
            (),
            |store, ()| async move { store.counts().await },
        )
        .await
    }

    async fn prune(&self, ages: Ages, most: usize) -> Result<usize, ProviderError> {
        self.through(
            Call::Prune,
            (ages, most),
            |store, (ages, most)| async move { store.prune(ages, most).await },
        )
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
