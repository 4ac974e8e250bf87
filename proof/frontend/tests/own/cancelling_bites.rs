//! The cancellation harness finds the remains of calls that a careless provider drops.

#![expect(clippy::unwrap_used, reason = "a test panics where it fails")]

use std::{
    collections::VecDeque,
    future::pending,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use dlock_core::{
    Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Release, ReleaseOutcome, Renew, RenewOutcome,
        Wakeups,
    },
};
use dlock_proof::cancelling::{self, turn};
use dlock_testkit::memory::{MemoryProvider, MemoryStore};
use tokio::sync::Semaphore;

/// The bug of the provider.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bug {
    /// Answers come in the order of the requests: an answer whose caller stopped waiting goes to the next caller.
    StaleReplies,
    /// A dropped call does not return its connection to the pool.
    LosesConnections,
    /// A dropped call leaves a task behind.
    LeavesTasks,
}

/// A provider with a small pool.
struct Careless {
    inner: MemoryProvider,
    bug: Bug,
    replies: Mutex<VecDeque<Option<Record>>>,
    connections: Arc<Semaphore>,
}

struct LeaveTask(bool);

impl Drop for LeaveTask {
    fn drop(&mut self) {
        if self.0 {
            drop(tokio::spawn(pending::<()>()));
        }
    }
}

impl Careless {
    fn new(store: &MemoryStore, bug: Bug) -> Self {
        Self {
            inner: MemoryProvider::new(store),
            bug,
            replies: Mutex::default(),
            connections: Arc::new(Semaphore::new(8)),
        }
    }

    async fn call<T>(&self, call: impl Future<Output = T>) -> T {
        let connection = self.connections.acquire().await.unwrap();
        let mut task = LeaveTask(self.bug == Bug::LeavesTasks);
        let lost = self.bug == Bug::LosesConnections;
        if lost {
            connection.forget();
        }
        // The request and its answer are in flight.
        for _ in 0..6 {
            turn().await;
        }
        let answer = call.await;
        if lost {
            self.connections.add_permits(1);
        }
        task.0 = false;
        answer
    }
}

#[async_trait]
impl Provider for Careless {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        self.call(self.inner.acquire(request)).await
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        self.call(self.inner.renew(request)).await
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        self.call(self.inner.release(request)).await
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        if self.bug != Bug::StaleReplies {
            return self.call(self.inner.read(name)).await;
        }
        let reply = self.inner.read(name).await?;
        self.replies.lock().unwrap().push_back(reply);
        self.call(async { Ok(self.replies.lock().unwrap().pop_front().flatten()) })
            .await
    }

    async fn watch(&self) -> Result<Option<Wakeups>, ProviderError> {
        self.inner.watch().await
    }
}

async fn sampled(bug: Bug) {
    let store = MemoryStore::store_clock();
    let (ours, theirs) = (Careless::new(&store, bug), MemoryProvider::new(&store));
    cancelling::sampled(ours, theirs, 200, 3).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "read another's answer")]
async fn answer_to_another_question_is_found() {
    sampled(Bug::StaleReplies).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "not within")]
async fn lost_connection_is_found() {
    sampled(Bug::LosesConnections).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "left behind")]
async fn leaked_task_is_found() {
    let store = MemoryStore::store_clock();
    cancelling::everywhere(|| Careless::new(&store, Bug::LeavesTasks)).await;
}
