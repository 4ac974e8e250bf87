//! The state that all locks of one client share: the provider and everything that is known of its store, the clock,
//! the recorder, and the background tasks.

pub(crate) mod driven;
pub(crate) mod listener;
mod observations;
mod outage;
#[cfg(test)]
mod tests;

use std::{
    any::Any,
    pin::pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Notify, task::unconstrained};
use tokio_util::sync::CancellationToken;

pub(crate) use self::observations::Keeper;
pub use self::observations::Observations;
use self::{driven::Watchdogs, outage::Outage};
use crate::{
    Clock, Name, Provider, ProviderError, Record,
    emit::contained,
    events::{Operation, Recording, measure},
    names::{NameState, Names},
    testing::Event,
    time::{Entropy, Plan},
};

/// A client's knowledge of its store, and all that its locks share.
pub(crate) struct Store {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) backend: &'static str,
    /// Waiters read before they try again.
    pub(crate) cheap_reads: bool,
    /// A refusal leaves a mark, and the answer to a release says whether there is one (N1, N3).
    pub(crate) marks: bool,
    /// Renewals may travel together.
    pub(crate) batches: bool,
    pub(crate) clock: Clock,
    pub(crate) entropy: Arc<Entropy>,
    pub(crate) names: Names,
    /// The rate limit of all calls while the store answers none.
    pub(crate) outage: Outage,
    /// There is a task that listens for hints.
    pub(crate) listener: AtomicBool,
    /// Its channel is open: waiters need not poll as often.
    pub(crate) channel_open: AtomicBool,
    /// Where observations outlive this process, if there is such a place (O4).
    pub(crate) observations: OnceLock<Keeper>,
    /// The recorder of events, if there is one.
    pub(crate) recording: OnceLock<Recording>,
    /// The renewer of the leases: a layer above this one.
    renewals: OnceLock<Arc<dyn Any + Send + Sync>>,
    /// The watchdogs over the work that callers drive.
    pub(crate) watchdogs: Arc<Watchdogs>,
    closing: CancellationToken,
    tasks: Arc<Tasks>,
}

/// The background tasks of a client.
#[derive(Default)]
struct Tasks {
    running: AtomicUsize,
    /// Rung when no task runs for a lock any more.
    idle: Notify,
}

/// A task in the background of a client; [`Client::close`] waits for its end, and [`DLock::idle`](crate::DLock::idle)
/// for the end of a lock's own tasks.
pub(crate) struct TaskToken {
    client: Arc<Tasks>,
    plan: Arc<Plan>,
}

impl Store {
    pub(crate) fn new(provider: Arc<dyn Provider>, clock: Clock, entropy: Entropy) -> Arc<Self> {
        let capabilities = provider.capabilities();
        let entropy = Arc::new(entropy);
        let closing = CancellationToken::new();
        Arc::new(Self {
            backend: capabilities.backend,
            cheap_reads: capabilities.cheap_reads,
            marks: capabilities.marks,
            batches: capabilities.batch,
            provider,
            outage: Outage::new(clock.clone(), Arc::clone(&entropy)),
            watchdogs: Watchdogs::new(clock.clone(), closing.clone()),
            clock,
            entropy,
            names: Names::default(),
            listener: AtomicBool::new(false),
            channel_open: AtomicBool::new(false),
            observations: OnceLock::new(),
            recording: OnceLock::new(),
            renewals: OnceLock::new(),
            closing,
            tasks: Arc::default(),
        })
    }

    /// The renewer of the leases of this client: always of one type, and made when it is first used.
    pub(crate) fn renewals<T: Any + Send + Sync + Default>(&self) -> Option<Arc<T>> {
        let renewals = self.renewals.get_or_init(|| Arc::<T>::default());
        Arc::clone(renewals).downcast().ok()
    }

    /// Whether anything receives events.
    pub(crate) fn is_observed(&self) -> bool {
        cfg!(feature = "metrics") || self.recording.get().is_some()
    }

    /// Emits an event to metrics and to the recorder. Never called while a mutex of this crate is locked: an event in
    /// the middle of such a section is [recorded](Self::record) there, and [measured](Self::measure) afterwards if
    /// there are metrics for it.
    pub(crate) fn emit(&self, name: &Name, plan: &Plan, event: impl FnOnce() -> Event) {
        if self.is_observed() {
            let event = event();
            measure::take(self.backend, plan, &event);
            self.record(name, || event);
        }
    }

    /// Emits an event to metrics.
    pub(crate) fn measure(&self, plan: &Plan, event: impl FnOnce() -> Event) {
        if cfg!(feature = "metrics") {
            measure::take(self.backend, plan, &event());
        }
    }

    /// Emits an event to the recorder, if there is one.
    pub(crate) fn record(&self, name: &Name, event: impl FnOnce() -> Event) {
        if let Some(recording) = self.recording.get() {
            let now = self.clock.reading();
            contained(|| recording.recorder.record(name, now, event()));
        }
    }

    /// Counts as running until the returned value is dropped.
    pub(crate) fn track(&self, plan: &Arc<Plan>) -> TaskToken {
        plan.tasks.fetch_add(1, Ordering::SeqCst);
        self.tasks.running.fetch_add(1, Ordering::SeqCst);
        TaskToken {
            client: Arc::clone(&self.tasks),
            plan: Arc::clone(plan),
        }
    }

    /// Resolves when no task runs for any lock.
    pub(crate) async fn all_idle(&self) {
        self.tasks.none_of(&self.tasks.running).await;
    }

    /// Waiting and later acquires fail from here on.
    pub(crate) fn close(&self) {
        self.closing.cancel();
    }

    /// Resolves when no task runs for locks with this plan.
    pub(crate) async fn idle(&self, plan: &Plan) {
        self.tasks.none_of(&plan.tasks).await;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closing.is_cancelled()
    }

    /// Cancelled when the client closes, and when it is gone.
    pub(crate) const fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// One call to the provider, for at most `limit`: the one place that ends a call that hangs. After that the outcome
    /// is unknown, and the call is dropped. Operation and group are for metrics.
    pub(crate) async fn call<T: Send>(
        &self,
        (operation, group): (Operation, Option<&Arc<str>>),
        limit: Duration,
        call: impl Future<Output = Result<T, ProviderError>> + Send,
    ) -> Result<T, ProviderError> {
        let since = cfg!(feature = "metrics").then(|| self.clock.now());
        let answer = tokio::select! {
            biased;
            answer = call => answer,
            // Also when a call that is always ready has used up the budget that the runtime gives a task for a turn.
            () = unconstrained(self.clock.pause(limit)) => {
                // The provider cannot say more: it may have been logging in until now.
                Err(ProviderError::unknown(format!(
                    "no answer within {limit:?}, opening a connection included"
                )))
            }
        };
        if let Some(since) = since {
            let took = self.clock.now().since(since);
            measure::called(
                (self.backend, group),
                operation,
                took,
                answer.as_ref().err(),
            );
        }
        // A store without a channel answers other calls nevertheless, and the items of a batch count one by one.
        if !matches!(operation, Operation::Watch | Operation::RenewMany) {
            self.outage.heard(&answer);
        }
        answer
    }

    /// A short, jittered pause before the next attempt at a store that did not answer: D/60 within
    /// 2 to 500 ms, and up to half of it more or less.
    pub(crate) fn pause_after_failure(&self, plan: &Plan) -> Duration {
        let pause = plan.pause();
        pause / 2 + self.entropy.jitter(pause)
    }

    /// A reply has just shown this record: observes it, and queries the place for observations, if there is one, for
    /// when processes of this host first saw its version. Returns whether the version can be claimed for that reason
    /// (A6).
    pub(crate) async fn observe(
        &self,
        state: &NameState,
        name: &Name,
        record: &Record,
        limit: Duration,
    ) -> bool {
        let (Some(first), Some(observations)) =
            (state.saw(&self.clock, record), self.observations.get())
        else {
            return false;
        };
        if limit.is_zero() {
            // No time is left to wait for the place.
            return false;
        }
        let version = record.version();
        let kept = observations.exchange(&self.clock, name, version, first, limit);
        // Boxed: unboxed, every try would be larger by it, and few need it.
        let kept = Box::pin(kept).await;
        kept.is_some_and(|first| state.recalled(&self.clock, version, first))
    }
}

impl Tasks {
    /// Resolves when this count of them is zero.
    async fn none_of(&self, count: &AtomicUsize) {
        loop {
            let mut idle = pin!(self.idle.notified());
            // Armed before the check.
            idle.as_mut().enable();
            if count.load(Ordering::SeqCst) == 0 {
                return;
            }
            idle.await;
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

impl Drop for TaskToken {
    fn drop(&mut self) {
        // First: when the last task of a lock rings, all tasks of that lock are counted out of the client's.
        self.client.running.fetch_sub(1, Ordering::SeqCst);
        if self.plan.tasks.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.client.idle.notify_waiters();
        }
    }
}
