//! The store of the tests: the reference store in memory, with calls that fail on demand.

use std::{
    collections::VecDeque,
    future::pending,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::SystemTime,
};

use async_trait::async_trait;
use dlock_core::{
    Client, Clock, Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Release, ReleaseOutcome, Renew, RenewOutcome,
        Sharing,
    },
    testing::seeded_client,
};
use dlock_tasks::{
    Ages, Claim, ClaimKey, Claimed, Count, Ended, Ending, Enqueued, Filter, Kept, LimitedQueue,
    NewTask, PausedQueue, Served, State, Task, TaskId, TaskStore,
};
use dlock_testkit::tasks::memory::MemoryTasks;
use serde_json::Value;

/// The store as one process sees it, with calls that fail on demand.
#[derive(Clone)]
pub(crate) struct Faulty(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    store: MemoryTasks,
    /// The identity by which its workers find the client.
    sharing: Sharing,
    /// Counts leases by the test's time.
    client: Mutex<Option<Client>>,
    /// Calls that are applied and have no answer, by their name.
    lost_replies: Mutex<VecDeque<&'static str>>,
    pub(crate) endings: AtomicUsize,
    pub(crate) heartbeats: AtomicUsize,
    /// No ending arrives.
    pub(crate) down: AtomicBool,
    /// The task whose row is kept locked: its ending fails, and others in the same call succeed.
    pub(crate) locked: Mutex<Option<TaskId>>,
    /// This many claims get nothing, whatever tasks are ready.
    pub(crate) empty: AtomicUsize,
    /// Claims and endings get neither an answer nor a refusal.
    pub(crate) silent: AtomicBool,
    /// No task is claimed, and no heartbeat and no release arrives.
    pub(crate) cut_off: AtomicBool,
}

impl Faulty {
    pub(crate) fn before(store: &MemoryTasks) -> Self {
        Self(Arc::new(Inner {
            store: store.clone(),
            sharing: Sharing::default(),
            client: Mutex::default(),
            lost_replies: Mutex::default(),
            endings: AtomicUsize::new(0),
            heartbeats: AtomicUsize::new(0),
            down: AtomicBool::new(false),
            locked: Mutex::default(),
            empty: AtomicUsize::new(0),
            silent: AtomicBool::new(false),
            cut_off: AtomicBool::new(false),
        }))
    }

    /// Loses the next answer to this call.
    pub(crate) fn lose(&self, call: &'static str) {
        self.0.lost_replies.lock().unwrap().push_back(call);
    }

    async fn silence(&self) {
        if self.0.silent.load(Ordering::SeqCst) {
            pending::<()>().await;
        }
    }

    fn answered<T>(
        &self,
        call: &str,
        answer: Result<T, ProviderError>,
    ) -> Result<T, ProviderError> {
        let mut lost = self.0.lost_replies.lock().unwrap();
        match lost.iter().position(|other| *other == call) {
            Some(at) => {
                lost.remove(at);
                Err(ProviderError::unknown("the answer is lost"))
            }
            None => answer,
        }
    }
}

#[async_trait]
impl TaskStore for Faulty {
    async fn enqueue(&self, tasks: &[NewTask]) -> Result<Vec<Enqueued>, ProviderError> {
        self.0.store.enqueue(tasks).await
    }
    async fn enqueue_periodic(
        &self,
        schedule: &str,
        instant: SystemTime,
        task: &NewTask,
    ) -> Result<Served, ProviderError> {
        let served = self.0.store.enqueue_periodic(schedule, instant, task);
        self.answered("enqueue_periodic", served.await)
    }
    async fn claim(&self, claim: &Claim) -> Result<Claimed, ProviderError> {
        self.silence().await;
        if self.0.cut_off.load(Ordering::SeqCst) {
            return Err(ProviderError::not_applied("cut off"));
        }
        let empty = &self.0.empty;
        let one_less = |left: usize| left.checked_sub(1);
        if empty
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less)
            .is_ok()
        {
            return Ok(Claimed::default());
        }
        self.answered("claim", self.0.store.claim(claim).await)
    }
    async fn finish(&self, endings: &[Ending]) -> Result<Vec<Ended>, ProviderError> {
        self.0.endings.fetch_add(endings.len(), Ordering::SeqCst);
        self.silence().await;
        if self.0.down.load(Ordering::SeqCst) {
            return Err(ProviderError::not_applied("down"));
        }
        let locked = *self.0.locked.lock().unwrap();
        let (locked, free): (Vec<_>, Vec<_>) = endings
            .iter()
            .cloned()
            .partition(|ending| Some(ending.key.id) == locked);
        if !locked.is_empty() {
            self.0.store.finish(&free).await?;
            return Err(ProviderError::not_applied("a row is locked"));
        }
        self.answered("finish", self.0.store.finish(endings).await)
    }
    async fn checkpoint(
        &self,
        key: &ClaimKey,
        number: u64,
        checkpoint: &Value,
    ) -> Result<Kept, ProviderError> {
        self.0.store.checkpoint(key, number, checkpoint).await
    }
    fn claims(&self) -> Arc<dyn Provider> {
        let claims: Arc<dyn Provider> = Arc::new(Beats(Arc::clone(&self.0)));
        let client = seeded_client(Arc::clone(&claims), Clock::tokio(1.0), fastrand::u64(..));
        *self.0.client.lock().unwrap() = Some(client);
        claims
    }
    async fn cancel(&self, id: TaskId, force: bool) -> Result<Option<State>, ProviderError> {
        self.0.store.cancel(id, force).await
    }
    async fn retry(&self, id: TaskId) -> Result<Option<Enqueued>, ProviderError> {
        self.0.store.retry(id).await
    }
    async fn task(&self, id: TaskId) -> Result<Option<Task>, ProviderError> {
        self.0.store.task(id).await
    }
    async fn list(&self, filter: &Filter) -> Result<Vec<Task>, ProviderError> {
        self.0.store.list(filter).await
    }
    async fn set_paused(&self, queue: &str, paused: bool) -> Result<(), ProviderError> {
        self.0.store.set_paused(queue, paused).await
    }
    async fn paused(&self) -> Result<Vec<PausedQueue>, ProviderError> {
        self.0.store.paused().await
    }
    async fn set_limit(&self, queue: &str, limit: Option<u32>) -> Result<(), ProviderError> {
        self.0.store.set_limit(queue, limit).await
    }
    async fn limits(&self) -> Result<Vec<LimitedQueue>, ProviderError> {
        self.0.store.limits().await
    }
    async fn counts(&self) -> Result<Vec<Count>, ProviderError> {
        self.0.store.counts().await
    }
    async fn prune(&self, ages: Ages, most: usize) -> Result<usize, ProviderError> {
        self.0.store.prune(ages, most).await
    }
}

struct Beats(Arc<Inner>);

impl Beats {
    async fn reach(&self) -> Arc<dyn Provider> {
        if self.0.cut_off.load(Ordering::SeqCst) {
            pending::<()>().await;
        }
        self.0.store.claims()
    }
}

#[async_trait]
impl Provider for Beats {
    fn capabilities(&self) -> Capabilities {
        self.0.store.claims().capabilities()
    }
    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        self.0.store.claims().acquire(request).await
    }
    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        let claims = self.reach().await;
        self.0.heartbeats.fetch_add(1, Ordering::SeqCst);
        claims.renew(request).await
    }
    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        self.reach().await.release(request).await
    }
    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        self.0.store.claims().read(name).await
    }
    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        let claims = self.reach().await;
        self.0
            .heartbeats
            .fetch_add(requests.len(), Ordering::SeqCst);
        claims.renew_many(requests).await
    }
    fn sharing(&self) -> Option<&Sharing> {
        Some(&self.0.sharing)
    }
}
