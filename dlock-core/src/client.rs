//! What one process shares over one provider. Names, durations and terms belong to others.

use std::{
    fmt,
    path::PathBuf,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::sync::watch;

use crate::{
    Clock, Discipline, Event, Name, Provider, ProviderError, Recorder,
    entropy::Entropy,
    latch::Latch,
    measure::{Measured, Operation, Source, measured},
    names::Names,
    observations::Observations,
    outage::Outage,
    plan::Plan,
    recorder::Recording,
    scheduler::Schedulers,
    telling::contained,
};

/// One process's side of one provider: the queues of its waiters, what it has observed, its own
/// tries that are over, and the hints it listens to.
///
/// Most programs never meet it: `.provider(p.clone())` finds the client that the clones of `p`
/// share. It is worth a name in two cases: to [`close`](Client::close) it before the program ends,
/// and to share one client over a provider that has no [`Sharing`](crate::Sharing). Cloning is cheap
/// and shares.
#[derive(Clone)]
pub struct Client(pub(crate) Arc<Shared>);

/// The shared part of a client.
pub(crate) struct Shared {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) backend: &'static str,
    /// Waiters look before they ask again.
    pub(crate) cheap_reads: bool,
    /// Renewals may travel together.
    pub(crate) batches: bool,
    pub(crate) clock: Clock,
    pub(crate) entropy: Entropy,
    pub(crate) names: Names,
    pub(crate) schedulers: Schedulers,
    /// The pace of all calls while the store answers none.
    pub(crate) outage: Outage,
    /// There is a task that listens for hints.
    pub(crate) listener: AtomicBool,
    /// Its channel is open: waiters need not poll as often (W2).
    pub(crate) watching: AtomicBool,
    /// Where what was seen outlives this process, if anywhere (section 3).
    pub(crate) observations: OnceLock<Observations>,
    /// Who is told what happens, if anybody is.
    pub(crate) recording: OnceLock<Recording>,
    closing: Arc<Latch>,
    errands: Arc<watch::Sender<usize>>,
}

/// Something that runs in the background for a client; [`Client::close`] waits for its end, and
/// [`DLock::idle`](crate::DLock::idle) for that of a lock's own.
pub(crate) struct Errand {
    client: Arc<watch::Sender<usize>>,
    plan: Arc<Plan>,
}

impl Client {
    /// The client that all clones of this provider share, made if there is none.
    #[must_use]
    pub fn new(provider: impl Provider) -> Self {
        let provider: Arc<dyn Provider> = Arc::new(provider);
        let make = || Shared::new(Arc::clone(&provider), Clock::system(), Entropy::System);
        match provider.sharing() {
            Some(sharing) => Self(sharing.client(make)),
            None => Self(make()),
        }
    }

    /// A client of its own that takes elapsed time from `clock`: for tests. It does not meet the
    /// clones of its provider.
    #[must_use]
    pub fn with_clock(provider: impl Provider, clock: Clock) -> Self {
        Self(Shared::new(Arc::new(provider), clock, Entropy::System))
    }

    /// A client whose uuids and jitter come from a seed, so that a simulation can be repeated.
    /// **Never outside one**: two processes with one seed draw the same identities, and the store
    /// grants both. If the provider has a [`Sharing`](crate::Sharing) without a client, its clones
    /// find this one.
    #[must_use]
    pub fn for_simulation(provider: impl Provider, clock: Clock, seed: u64) -> Self {
        let provider: Arc<dyn Provider> = Arc::new(provider);
        let make = || Shared::new(Arc::clone(&provider), clock, Entropy::seeded(seed));
        match provider.sharing() {
            Some(sharing) => Self(sharing.client(make)),
            None => Self(make()),
        }
    }

    /// Keeps what this client sees of held locks in a folder, for the processes of this host that come
    /// after it. Programs that ask once and end (`cron` with `try_acquire`, functions that are started
    /// anew) need it on stores whose clock decides nothing ([`Discipline::Observer`]): there the lock
    /// of a dead holder is taken by a contender that has seen it unchanged for its duration, and
    /// without a folder each process takes what it has seen with it. On other stores nothing is kept,
    /// and nothing is needed. The first folder stays.
    ///
    /// - **The folder** is this program's own, on a local disk: `/var/lib/myapp/seen`. It is made if
    ///   there is none. Processes of a host may share it. One that everybody may write to is refused,
    ///   since who writes there can have a live lock taken; and so is a network's file system, or any
    ///   that is not known to be local.
    /// - **The store** is a name of yours for what the provider speaks to (`"orders, eu-central-1"`), so
    ///   that the same lock in two stores has two files. To mix them up would cost time and nothing
    ///   else: a claim is for one version, whose uuid no other store has.
    /// - **What is kept** is one file of some 300 bytes a lock, at most about a thousand; the oldest go
    ///   first. One is written for each version that is seen for the first time, and read in the same
    ///   step: when an acquire was refused or a read showed a holder, never before a grant. It runs on
    ///   Tokio's threads for blocking work.
    /// - **What it is worth**: it decides nothing by itself, since the store takes the record only if
    ///   it still is the version that was seen (A6). A reboot makes it worthless, and damaged or
    ///   foreign files count for nothing. Without an answer of the folder within a sixth of the lease,
    ///   at most a second, or without one at all, the client goes on as if there were none, and says
    ///   so with a warning of the event `observation_not_kept`.
    /// - **Clones of a virtual machine** whose memory was copied have the same boot id and clocks
    ///   that stood still for different times. What was seen before the copy counts in each of
    ///   them. What one of them saw later must not come to another: do not copy the folder between
    ///   them.
    ///
    /// Linux only: other systems do not tell one boot from another, so nothing is kept there.
    ///
    /// ```no_run
    /// # // no_run: needs a provider, and this crate has none.
    /// # fn example(provider: impl dlock_core::Provider) -> Result<(), dlock_core::ConfigError> {
    /// use dlock_core::{Client, DLock};
    ///
    /// let client = Client::new(provider).observations("/var/lib/myapp/seen", "orders, eu-central-1");
    /// let lock = DLock::builder().name("nightly").provider(&client).build()?;
    /// # drop(lock);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn observations(self, folder: impl Into<PathBuf>, store: impl Into<String>) -> Self {
        let observes = self.0.provider.capabilities().discipline == Discipline::Observer;
        if observes {
            self.0
                .observations
                .get_or_init(|| Observations::new(folder.into(), store.into()));
        }
        self
    }

    /// Tells a recorder what this client does from now on, for tests that check it afterwards. The
    /// first recorder stays; without one nothing is told and nothing is spent.
    #[must_use]
    pub fn recorded(self, recorder: Arc<dyn Recorder>) -> Self {
        self.0.recording.get_or_init(|| Recording::new(recorder));
        self
    }

    /// Ends the client: waiting and later acquires fail with [`Error::Closed`](crate::Error::Closed),
    /// and everything that is under way to the store (tries, and the releases of leases that were
    /// dropped) runs to its end. Returns how many leases are still in somebody's hands: they stay
    /// valid, are renewed as before, and are released by their own handles.
    ///
    /// Call it before the runtime shuts down, else a dropped lease's release may be cut off and
    /// others wait for the lease to expire. It takes at most about one lease duration, when the
    /// store does not answer.
    ///
    /// # Cancel safety
    /// The client is closed from the first poll on; dropping the future only stops the waiting.
    pub async fn close(&self) -> usize {
        self.0.closing.raise();
        let mut errands = self.0.errands.subscribe();
        // The sender lives in `self`, so this ends only when the count is zero.
        let _ended = errands.wait_for(|running| *running == 0).await;
        self.0.names.live()
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("backend", &self.0.backend)
            .finish_non_exhaustive()
    }
}

impl Shared {
    fn new(provider: Arc<dyn Provider>, clock: Clock, entropy: Entropy) -> Arc<Self> {
        let capabilities = provider.capabilities();
        Arc::new(Self {
            backend: capabilities.backend,
            cheap_reads: capabilities.cheap_reads,
            batches: capabilities.batch,
            provider,
            clock,
            entropy,
            names: Names::default(),
            schedulers: Schedulers::default(),
            outage: Outage::default(),
            listener: AtomicBool::new(false),
            watching: AtomicBool::new(false),
            observations: OnceLock::new(),
            recording: OnceLock::new(),
            closing: Arc::default(),
            errands: Arc::new(watch::Sender::new(0)),
        })
    }

    /// Tells the recorder, if there is one.
    pub(crate) fn tell(&self, name: &Name, event: impl FnOnce() -> Event) {
        if let Some(recording) = self.recording.get() {
            let now = self.clock.reading();
            contained(|| recording.recorder.record(name, now, event()));
        }
    }

    /// The locks with this plan, for those who measure.
    pub(crate) fn source<'a>(&self, plan: &'a Plan) -> Source<'a> {
        Source {
            backend: self.backend,
            group: plan.group.as_ref(),
            told: plan.told,
        }
    }

    /// Counts as running until the returned value is dropped.
    pub(crate) fn errand(&self, plan: &Arc<Plan>) -> Errand {
        plan.errands.fetch_add(1, Ordering::SeqCst);
        self.errands.send_modify(|running| *running += 1);
        Errand {
            client: Arc::clone(&self.errands),
            plan: Arc::clone(plan),
        }
    }

    /// Resolves when nothing runs for locks with this plan.
    pub(crate) async fn idle(&self, plan: &Plan) {
        let mut errands = self.errands.subscribe();
        let none = |_: &usize| plan.errands.load(Ordering::SeqCst) == 0;
        // The sender lives in `self`, so this ends only when it is so.
        let _ended = errands.wait_for(none).await;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closing.is_raised()
    }

    /// Raised when the client closes, and when it is gone.
    pub(crate) fn closing(&self) -> Arc<Latch> {
        Arc::clone(&self.closing)
    }

    /// One call to the provider, for at most `limit`. What comes back after that is unknown, and
    /// the call is dropped. What is asked, and for whom, is for those who observe.
    pub(crate) async fn call<T: Send>(
        &self,
        (operation, group): (Operation, Option<&Arc<str>>),
        limit: Duration,
        call: impl Future<Output = Result<T, ProviderError>> + Send,
    ) -> Result<T, ProviderError> {
        let since = measured(|| self.clock.now());
        let answer = tokio::select! {
            biased;
            answer = call => answer,
            () = self.clock.pause(limit) => {
                // The provider has no word in it: it may have been logging in until now.
                Err(ProviderError::unknown(format!(
                    "no answer within {limit:?}, opening a connection included"
                )))
            }
        };
        if let Some(since) = since {
            let took = self.clock.now().since(since);
            let error = answer.as_ref().err();
            let source = Source {
                backend: self.backend,
                group,
                told: true,
            };
            source.measure(|| Measured::Called {
                operation,
                took,
                error,
            });
        }
        // A store without a channel answers all the same, and a batch is heard item by item.
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
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.closing.raise();
    }
}

impl Drop for Errand {
    fn drop(&mut self) {
        // First, since those who wait look at it when the client's count changes.
        self.plan.errands.fetch_sub(1, Ordering::SeqCst);
        self.client.send_modify(|running| *running -= 1);
    }
}

/// What [`DLockBuilder`](crate::DLockBuilder)'s `provider` takes: a provider, an
/// `Arc<dyn Provider>`, or a [`Client`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a `Provider` nor a `Client`",
    label = "not a provider",
    note = "pass a provider by value (clones of one provider share a client), an `Arc<dyn Provider>` or a `Client`"
)]
pub trait IntoClient {
    /// The client to use.
    fn into_client(self) -> Client;
}

impl<P: Provider> IntoClient for P {
    fn into_client(self) -> Client {
        Client::new(self)
    }
}

impl IntoClient for Client {
    fn into_client(self) -> Client {
        self
    }
}

impl IntoClient for &Client {
    fn into_client(self) -> Client {
        self.clone()
    }
}
