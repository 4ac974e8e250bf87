//! A store, and what the cases do with it.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use dlock_core::{
    ErrorKind, Name, Provider, ProviderError,
    provider::{Release, Renew, RenewOutcome},
};
use dlock_tasks::{
    Claim, ClaimKey, Claimed, ClaimedTask, Ended, Ending, How, NewTask, State, Task, TaskId,
    TaskStore,
};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::TaskFixture;
use crate::slow::{self, in_time};

/// The lease, in the first round, of claims whose end a case waits for.
#[doc(hidden)]
pub const SHORT: Duration = Duration::from_millis(400);
/// The lease of claims that no case may see end.
pub(super) const LONG: Duration = Duration::from_secs(600);
/// The limit for every event that must happen, on a busy machine too.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// A store, and what the cases do with it.
#[doc(hidden)]
pub struct Stage {
    pub(super) fixture: Box<dyn Erased>,
    pub(super) store: Arc<dyn TaskStore>,
    /// The lease of claims whose end the case waits for.
    pub(super) short: Duration,
}

/// A fixture without its type.
#[async_trait]
pub(super) trait Erased: Send + Sync {
    async fn store(&self) -> Arc<dyn TaskStore>;
    fn hints(&self) -> bool;
    fn now(&self) -> SystemTime;
}

#[async_trait]
impl<F: TaskFixture> Erased for F {
    async fn store(&self) -> Arc<dyn TaskStore> {
        Arc::new(TaskFixture::store(self).await)
    }

    fn hints(&self) -> bool {
        F::HINTS
    }

    fn now(&self) -> SystemTime {
        TaskFixture::now(self)
    }
}

impl std::fmt::Debug for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stage").finish_non_exhaustive()
    }
}

impl Stage {
    /// On a store that was started. `short`: the lease of claims whose end the case waits for.
    pub async fn new<F: TaskFixture>(fixture: F, short: Duration) -> Self {
        let fixture: Box<dyn Erased> = Box::new(fixture);
        let store = fixture.store().await;
        Self {
            fixture,
            store,
            short,
        }
    }

    /// Adds a task.
    pub(super) async fn add(&self, task: NewTask) -> TaskId {
        answered(self.store.enqueue(&[task]).await)[0].id()
    }

    /// The result of a claim.
    pub(super) async fn claimed(&self, claim: &Claim) -> Claimed {
        answered(self.store.claim(claim).await)
    }

    /// The one task that a new worker gets.
    pub(super) async fn take(&self, lease: Duration) -> ClaimedTask {
        let mut claimed = self.claimed(&claim(lease)).await.tasks;
        assert_eq!(claimed.len(), 1, "{claimed:?}");
        claimed.remove(0)
    }

    /// Asserts that a new worker gets nothing, provided that less than `short` has passed since this instant.
    pub(super) async fn nothing_for_now(&self, since: Instant) {
        let claimed = self.claimed(&claim(LONG)).await;
        self.lasts(since);
        assert!(claimed.tasks.is_empty(), "{claimed:?}");
    }

    /// Renews a claim of `short` that was claimed or renewed at this instant. Returns the instant of this renewal.
    pub(super) async fn keeps(&self, key: ClaimKey, n: u64, since: Instant) -> Instant {
        let asked = Instant::now();
        let renewed = self.renew(key, n).await;
        self.lasts(since);
        assert_eq!(renewed, RenewOutcome::Renewed { asked: false });
        asked
    }

    /// Ends the round if `short` may have passed since this instant.
    pub(super) fn lasts(&self, since: Instant) {
        in_time(since.elapsed() < self.short, "it may be over already");
    }

    /// Asserts that a new worker gets nothing.
    pub(super) async fn nothing(&self) {
        let claimed = self.claimed(&claim(LONG)).await;
        assert!(claimed.tasks.is_empty(), "{claimed:?}");
    }

    /// Waits until a new worker gets a task.
    pub(super) async fn eventually(&self, lease: Duration) -> ClaimedTask {
        let began = Instant::now();
        loop {
            if let Some(task) = self.claimed(&claim(lease)).await.tasks.pop() {
                return task;
            }
            in_time(began.elapsed() < PATIENCE, "a new worker gets a task");
            sleep(self.short / 20).await;
        }
    }

    pub(super) async fn finish(&self, key: ClaimKey, how: How) -> Ended {
        answered(self.store.finish(&[Ending::new(key, how)]).await)[0]
    }

    pub(super) async fn complete(&self, key: ClaimKey) -> Ended {
        self.finish(key, How::Complete(serde_json::Value::Null))
            .await
    }

    pub(super) async fn renew(&self, key: ClaimKey, n: u64) -> RenewOutcome {
        let renewed = self
            .store
            .claims()
            .renew(&Renew::new(name(key), key.uuid, n))
            .await;
        answered(renewed)
    }

    pub(super) async fn is_asked(&self, key: ClaimKey, n: u64) -> bool {
        match self.renew(key, n).await {
            RenewOutcome::Renewed { asked } => asked,
            other => panic!("{other:?}"),
        }
    }

    pub(super) async fn is_lost(&self, key: ClaimKey, n: u64) {
        let renewed = self.renew(key, n).await;
        assert!(matches!(renewed, RenewOutcome::Lost(_)), "{renewed:?}");
    }

    pub(super) async fn task(&self, id: TaskId) -> Task {
        let task = answered(self.store.task(id).await);
        task.unwrap_or_else(|| panic!("there is no task {id}"))
    }

    /// The remaining lease of the first task of a claim.
    pub(super) async fn remaining(&self, claimed: &Claimed) -> Option<Duration> {
        let task = self.task(claimed.tasks[0].key.id).await;
        task.holder.map(|holder| holder.remaining)
    }

    pub(super) async fn state(&self, id: TaskId) -> State {
        self.task(id).await.state
    }

    /// Waits until a task reaches this state without further calls.
    pub(super) async fn becomes(&self, id: TaskId, state: State) {
        let began = Instant::now();
        while self.state(id).await != state {
            in_time(
                began.elapsed() < PATIENCE,
                format_args!("it becomes {state}"),
            );
            sleep(self.short / 20).await;
        }
    }

    /// The same for a state that only a claim brings about; the claims here get nothing.
    pub(super) async fn is_made(&self, id: TaskId, state: State) {
        let began = Instant::now();
        while self.state(id).await != state {
            self.nothing().await;
            in_time(
                began.elapsed() < PATIENCE,
                format_args!("it is made {state}"),
            );
            sleep(self.short / 20).await;
        }
    }

    pub(super) async fn cancel(&self, id: TaskId, force: bool) -> Option<State> {
        answered(self.store.cancel(id, force).await)
    }
}

/// A claim of a new worker.
pub(super) fn claim(lease: Duration) -> Claim {
    Claim::new(NewTask::QUEUE, Uuid::new_v4(), lease).owner("worker")
}

pub(super) fn task(kind: &str) -> NewTask {
    NewTask::builder().kind(kind).build()
}

/// The answer of the store. An error that lateness can explain ends the round ([`slow`]) and is not a wrong answer.
fn answered<T>(answer: Result<T, ProviderError>) -> T {
    answer.unwrap_or_else(|error| {
        slow::in_time(error.kind() == ErrorKind::Fatal, &error);
        panic!("{error:?}")
    })
}

pub(super) fn name(key: ClaimKey) -> Name {
    let name = Name::new(key.name().to_string());
    name.unwrap_or_else(|error| panic!("{error}"))
}

pub(super) fn release(key: ClaimKey) -> Release {
    Release::new(name(key), key.uuid, Some(key.token))
}
