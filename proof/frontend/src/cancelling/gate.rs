//! A provider that answers in many small steps, and counts its grants.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::Poll,
};

use async_trait::async_trait;
use dlock_core::{
    Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Release, ReleaseOutcome, Renew, RenewOutcome,
        Wakeups,
    },
};

/// Waits for this many turns of the scheduler before the store applies a request, and again before the caller receives
/// the answer, so that a caller can go away at either moment.
pub(super) struct Gate {
    inner: Arc<dyn Provider>,
    turns: usize,
    counts: Arc<Counts>,
}

/// The calls that passed through a gate.
#[derive(Default)]
pub(super) struct Counts {
    under_way: AtomicUsize,
    granted: AtomicUsize,
}

impl Counts {
    /// Calls that have neither been answered nor been dropped.
    pub(super) fn under_way(&self) -> usize {
        self.under_way.load(Ordering::SeqCst)
    }

    /// Acquires that were granted.
    pub(super) fn granted(&self) -> usize {
        self.granted.load(Ordering::SeqCst)
    }
}

/// One turn of the scheduler: every task that is ready runs once, and no time passes.
pub async fn turn() {
    let mut turned = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut turned, true) {
            return Poll::Ready(());
        }
        // Queues at the end at once, unlike a yield, which waits until no task is ready.
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Counts a call until it is dropped.
struct UnderWay<'a>(&'a Counts);

impl<'a> UnderWay<'a> {
    fn new(counts: &'a Counts) -> Self {
        counts.under_way.fetch_add(1, Ordering::SeqCst);
        Self(counts)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Gate {
    pub(super) fn new(inner: Arc<dyn Provider>, turns: usize) -> Self {
        Self {
            inner,
            turns,
            counts: Arc::default(),
        }
    }

    pub(super) fn counts(&self) -> Arc<Counts> {
        Arc::clone(&self.counts)
    }

    async fn through<T: Send>(&self, call: impl Future<Output = T> + Send) -> T {
        let _under_way = UnderWay::new(&self.counts);
        self.pass().await;
        let answer = call.await;
        self.pass().await;
        answer
    }

    async fn pass(&self) {
        for _ in 0..self.turns {
            turn().await;
        }
    }
}

#[async_trait]
impl Provider for Gate {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        self.through(async {
            let answer = self.inner.acquire(request).await;
            if matches!(answer, Ok(AcquireOutcome::Acquired(_))) {
                self.counts.granted.fetch_add(1, Ordering::SeqCst);
            }
            answer
        })
        .await
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        self.through(self.inner.renew(request)).await
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        self.through(self.inner.release(request)).await
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        self.through(self.inner.read(name)).await
    }

    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        self.through(self.inner.renew_many(requests)).await
    }

    fn shard(&self, name: &Name) -> u64 {
        self.inner.shard(name)
    }

    async fn watch(&self) -> Result<Option<Wakeups>, ProviderError> {
        // Not counted: it belongs to no operation, and no task waits for its end.
        self.pass().await;
        let answer = self.inner.watch().await;
        self.pass().await;
        answer
    }
}
