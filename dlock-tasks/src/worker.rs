//! A worker: claims tasks, runs their handlers under leases that renew themselves, and ends them.

mod context;
mod endings;
mod handlers;
mod periodic;
mod run;
mod task;

use std::{fmt, future::Future, sync::Arc, time::Duration};

use dlock_core::{BuildError, Client, DLock, ProviderError};
use serde::Serialize;
use typed_builder::TypedBuilder;

pub use self::context::{CheckpointError, Context};
use self::handlers::Handlers;
use crate::{Ages, NewTask, Payload, Periodic, Stop, TaskStore};

/// Claims tasks and runs their handlers (J1 to J3).
///
/// ```
/// use std::time::Duration;
///
/// use dlock_tasks::{Context, Payload, TaskStore, Worker};
/// # use serde::{Deserialize, Serialize};
/// # #[derive(Serialize, Deserialize)]
/// # struct Resize { image: u64 }
/// # impl Payload for Resize { const KIND: &'static str = "resize"; }
/// # async fn resize(image: u64) -> Result<u64, std::io::Error> { Ok(image) }
/// # async fn example(store: impl TaskStore, stop: impl Future<Output = ()> + Send) -> Result<(), Box<dyn std::error::Error>> {
/// Worker::builder()
///     .store(store)
///     .queue("images")
///     .concurrency(16)
///     .lease(Duration::from_secs(30))
///     .build()?
///     .handle(|_: Context, task: Resize| async move { Ok(resize(task.image).await?) })
///     .run(stop)
///     .await?;
/// # Ok(()) }
/// ```
///
/// # What a handler can rely on
/// While it runs, no other worker has its task, and its lease renews itself. When the lease is lost, because the
/// store was out of reach for too long, the process was paused, or somebody cancelled the task by force,
/// the handler's future is **dropped** at its next await, before another worker can have the task; nothing is
/// written then. A process that was paused in the middle of a step goes on with that step when it wakes up: what
/// such a step writes has to carry the [token](Context::token), or to be in the transaction that
/// completes the task.
///
/// A task is run at least once. It is run again if its worker dies, or if its ending did not reach the store.
pub struct Worker {
    settings: Settings,
    handlers: Handlers,
    periodic: Vec<Periodic>,
    /// Any claim as a lock: each has a name of its own.
    lock: DLock,
    client: Client,
}

/// What a worker is made with.
#[derive(TypedBuilder)]
#[builder(
    builder_type(vis = "pub", name = WorkerBuilder, doc = "Makes a [`Worker`]; made by [`Worker::builder`]."),
    build_method(into = Result<Worker, BuildError>, doc = "The worker, without handlers yet.\n\n# Errors\n[`BuildError`] if the lease or the label cannot be one.")
)]
pub(crate) struct Settings {
    #[builder(setter(transform = |store: impl TaskStore| Arc::new(store) as Arc<dyn TaskStore>, doc = "Where the tasks are."))]
    store: Arc<dyn TaskStore>,
    #[builder(default = vec![NewTask::QUEUE.to_owned()], setter(transform = |queue: impl Into<String>| vec![queue.into()], doc = "The queue it works for; `default` if not given."))]
    queue: Vec<String>,
    #[builder(
        default = 8,
        setter(doc = "How many tasks it runs at a time; 8 if not given.")
    )]
    concurrency: usize,
    #[builder(default = Duration::from_secs(30), setter(doc = "The lease of each task: how long another worker waits when this one dies, 30 s if not given. It is renewed every third of it, and a handler is stopped at four fifths if no renewal succeeds."))]
    lease: Duration,
    #[builder(default = Duration::from_secs(1), setter(doc = "How often an idle worker asks for tasks that it was not told of; 1 s if not given."))]
    poll: Duration,
    #[builder(
        default,
        setter(
            strip_option(fallback = timeout_opt),
            doc = "How long a handler may take. One that takes longer is dropped, and its attempt has failed. No limit if not given."
        )
    )]
    timeout: Option<Duration>,
    #[builder(default = Duration::from_secs(10), setter(doc = "How long handlers may go on when the worker is told to stop, 10 s if not given. Tasks that have not ended by then are given back, and the attempt does not count."))]
    grace: Duration,
    #[builder(
        default,
        setter(
            doc = "How long ended tasks are kept: a day, a week if they did not succeed. Every worker forgets older ones now and then."
        )
    )]
    keep: Ages,
    #[builder(default, setter(into, doc = "Label of this worker, for people."))]
    owner: String,
}

impl From<Settings> for Result<Worker, BuildError> {
    fn from(settings: Settings) -> Self {
        let client = Client::new(settings.store.claims());
        let lock = DLock::builder()
            .name("claim")
            .duration(settings.lease)
            .owner(settings.owner.as_str())
            .provider(client.clone())
            .build()?;
        Ok(Worker {
            settings,
            handlers: Handlers::default(),
            periodic: Vec::new(),
            lock,
            client,
        })
    }
}

impl Worker {
    /// Settings first, then `build()`, then handlers.
    pub fn builder() -> WorkerBuilder {
        Settings::builder()
    }

    /// Adds the handler of a kind of tasks; a second one of the same kind takes the place of the first.
    ///
    /// A handler that panics has failed. What it answers is kept as JSON.
    #[must_use]
    pub fn handle<P, F, Fut, O>(mut self, handler: F) -> Self
    where
        P: Payload,
        F: Fn(Context, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, Stop>> + Send + 'static,
        O: Serialize + 'static,
    {
        self.handlers.add(handler);
        self
    }

    /// Adds a task that is enqueued by the clock while this worker runs (K10). Give it to every worker: each instant has
    /// one task nevertheless. It may be for another queue than the worker's own.
    #[must_use]
    pub fn periodic(mut self, periodic: Periodic) -> Self {
        self.periodic.push(periodic);
        self
    }

    /// Works until `stop` resolves. Then no task is claimed any more, the handlers are told
    /// ([`Context::stopping`]), and those that have not ended after the grace time are dropped, their tasks given
    /// back. It ends after a lease and twice the grace time at the latest, also if the store does not answer.
    ///
    /// A store that cannot be reached is asked again for as long as that takes; the log says so.
    ///
    /// # Errors
    /// A store that cannot be used, whatever time passes: a missing permission, tables of another version. A periodic
    /// task that cannot be kept.
    ///
    /// # Cancel safety
    /// Dropping the future drops the handlers; their tasks are given back in the background, if the runtime goes
    /// on.
    pub async fn run(self, stop: impl Future<Output = ()> + Send) -> Result<(), ProviderError> {
        run::run(&Arc::new(self), stop).await
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("queue", &self.settings.queue)
            .field("lease", &self.settings.lease)
            .finish_non_exhaustive()
    }
}
