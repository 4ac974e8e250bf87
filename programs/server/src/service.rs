//! The state that all requests share.

use std::{
    fmt,
    sync::{Arc, OnceLock, PoisonError, RwLock},
};

use axum::Json;
use dlock_core::{Clock, provider::Admin};
use dlock_http::{Code, leases::Done};
use dlock_tasks::TaskStore;
use tokio::{
    sync::{Mutex, Semaphore},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use crate::{
    Limits, Rights,
    hints::Hints,
    journal::{Journal, Observed},
    live_queries::Views,
    long_polls::LongPolls,
    memory::Memory,
    problem::Refusal,
    rate_limit::RateLimit,
    renewals::Renewals,
    store_calls::StoreCalls,
    tasks::store::Tasks,
};

/// How many pages of leases and tasks are read at a time: a store answers up to a hundred tasks of half a megabyte
/// each, or a thousand leases.
const PAGES: usize = 4;

/// A store, and the terms on which it is served. Clones serve the same one.
#[derive(Clone)]
pub struct Service(pub(crate) Arc<Shared>);

/// The state that all requests share.
pub(crate) struct Shared {
    pub(crate) provider: Arc<dyn Admin>,
    pub(crate) tasks: OnceLock<Tasks>,
    pub(crate) access: RwLock<Access>,
    pub(crate) limits: Limits,
    pub(crate) calls: StoreCalls,
    pub(crate) memory: Memory,
    /// Places for calls that read pages, each of which may be large before it is cut.
    pub(crate) pages: Semaphore,
    pub(crate) renewals: Renewals,
    pub(crate) waits: LongPolls,
    pub(crate) hints: Hints,
    pub(crate) views: Views,
    /// The history of leases, as far as this server has seen it.
    pub(crate) journal: Arc<Journal>,
    pub(crate) clock: Clock,
    pub(crate) stopping: CancellationToken,
    /// The newest answer to `/readyz`, and when it was found.
    pub(crate) looked: Mutex<Option<(Instant, Ready)>>,
    /// Set if the interface of the sample is served, too.
    pub(crate) api: OnceLock<()>,
    /// The rate at which refused requests are logged: those without a token or a certificate that this server knows,
    /// and those without the right.
    refused: [std::sync::Mutex<RateLimit>; 2],
    /// Writes the metrics down, if there is a recorder.
    pub(crate) metrics: OnceLock<Metrics>,
}

/// Which client may do what.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    /// `None`: any client may do anything.
    pub(crate) rights: Option<Arc<Rights>>,
    /// Cancelled when other rights replace these, and when the server stops. Streams that were opened under them end
    /// then, and their clients open others.
    pub(crate) ended: CancellationToken,
}

/// Whether the store answered.
pub(crate) type Ready = Result<Json<Done>, Refusal>;

/// Writes metrics down as Prometheus reads them.
pub(crate) type Metrics = Box<dyn Fn() -> String + Send + Sync>;

impl Service {
    /// The locks of this store, for every client that can reach the server: see [`restrict`](Self::restrict).
    #[must_use]
    pub fn new(provider: Arc<dyn Admin>, limits: Limits) -> Self {
        let calls = StoreCalls::new(limits.calls);
        let journal = Arc::new(Journal::new());
        let provider: Arc<dyn Admin> = Arc::new(Observed::new(provider, Arc::clone(&journal)));
        let stopping = CancellationToken::new();
        Self(Arc::new(Shared {
            renewals: Renewals::new(Arc::clone(&provider), calls.clone(), limits.call_time),
            hints: Hints::new(Arc::clone(&provider)),
            provider,
            tasks: OnceLock::new(),
            views: Views::new(limits.streams),
            journal,
            access: RwLock::new(Access {
                rights: None,
                ended: stopping.child_token(),
            }),
            calls,
            memory: Memory::new(limits.memory),
            pages: Semaphore::new(PAGES),
            waits: LongPolls::new(limits.waits),
            limits,
            clock: Clock::system(),
            stopping,
            looked: Mutex::default(),
            api: OnceLock::new(),
            refused: [(); 2].map(|()| std::sync::Mutex::new(RateLimit::new())),
            metrics: OnceLock::new(),
        }))
    }

    /// Serves `/metrics`, too, from now on: the recorder that is installed writes them down as Prometheus reads them.
    /// A service has one recorder: the first.
    #[must_use]
    pub fn with_metrics(self, shown: impl Fn() -> String + Send + Sync + 'static) -> Self {
        self.0.metrics.get_or_init(|| Box::new(shown));
        self
    }

    /// Serves the tasks of this store, too, from now on. A service has one store of tasks: the first.
    #[must_use]
    pub fn with_tasks(self, store: Arc<dyn TaskStore>) -> Self {
        self.0.tasks.get_or_init(|| Tasks::new(store));
        self
    }

    /// Serves [`/api`](crate::api), too, from now on. It needs a store of tasks.
    #[must_use]
    pub fn with_api(self) -> Self {
        self.0.api.get_or_init(|| ());
        self
    }

    /// From now on only clients that have a right may do what it is for. May be called again with other rights while
    /// requests are served: requests in flight are still answered, and still count as their clients'; streams of events
    /// end.
    pub fn restrict(&self, mut rights: Rights) {
        let mut current = self
            .0
            .access
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = &current.rights {
            rights.succeed(before);
        }
        let access = Access {
            rights: Some(Arc::new(rights)),
            ended: self.0.stopping.child_token(),
        };
        std::mem::replace(&mut *current, access).ended.cancel();
    }

    /// The current rights.
    #[must_use]
    pub(crate) fn access(&self) -> Access {
        let current = self.0.access.read().unwrap_or_else(PoisonError::into_inner);
        current.clone()
    }

    /// Whether one more refusal is logged: ten per second are, so that they cannot fill the disk. Refusals of known
    /// clients do not hide those of strangers.
    pub(crate) fn is_logged(&self, is_known: bool) -> bool {
        let pace = self.0.refused[usize::from(is_known)].lock();
        pace.unwrap_or_else(PoisonError::into_inner).admits(10)
    }

    /// Answers waiting requests, and says `stopping` to new waits and at `/readyz`. Everything else is served until the
    /// server closes its connections: renewals and releases above all.
    pub fn stop(&self) {
        self.0.stopping.cancel();
    }

    /// The tasks, if there are any.
    pub(crate) fn tasks(&self) -> Result<&Tasks, Refusal> {
        let tasks = self.0.tasks.get();
        tasks.ok_or_else(|| Refusal::new(Code::NotFound, "this server has no tasks"))
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service")
            .field("backend", &self.0.provider.capabilities().backend)
            .finish_non_exhaustive()
    }
}
