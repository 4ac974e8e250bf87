//! The settings of a worker.

#![expect(unreachable_pub, reason = "the builder is public")]

use std::{sync::Arc, time::Duration};

use dlock_core::{Client, DLock};
use typed_builder::TypedBuilder;

use super::{Worker, handlers::Handlers};
use crate::{Ages, NewTask, TaskStore};

/// The reason why a worker cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// It would never run a task.
    #[error("a worker with a concurrency of 0 would run no task: 1 or more is possible")]
    Concurrency,
    /// No lease can have this duration, or this label of the worker.
    #[error(transparent)]
    Lease(#[from] dlock_core::BuildError),
}

#[derive(Clone, TypedBuilder)]
#[builder(
    builder_type(vis = "pub", name = WorkerBuilder, doc = "Makes a [`Worker`]; made by [`Worker::builder`]."),
    build_method(into = Result<Worker, BuildError>, doc = "The worker, without handlers yet.\n\n# Errors\n[`BuildError`] if there can be no such worker."),
    mutators(
        /// A queue that the worker serves; `default` if none is given. A queue that is given later comes after the
        /// earlier ones: its tasks run when those have no ready task, so an earlier queue that always has tasks keeps
        /// it waiting.
        pub fn queue(&mut self, queue: impl Into<String>) {
            self.queues.push(queue.into());
        }

        /// Several queues that the worker serves, in this order; see [`queue`](Self::queue).
        pub fn queues(&mut self, queues: impl IntoIterator<Item: Into<String>>) {
            self.queues.extend(queues.into_iter().map(Into::into));
        }
    )
)]
pub(crate) struct Settings {
    /// The store of the tasks.
    #[builder(setter(transform = |store: impl TaskStore| Arc::new(store) as Arc<dyn TaskStore>))]
    pub(super) store: Arc<dyn TaskStore>,
    #[builder(via_mutators)]
    pub(super) queues: Vec<String>,
    /// How many tasks it runs at a time: 1 or more, 8 if not given.
    #[builder(default = 8)]
    pub(super) concurrency: usize,
    /// The lease of each task: how long the task waits for another worker when this one dies, 30 s if not given. It is
    /// renewed every third of it, and a handler is stopped at four fifths if no renewal succeeds.
    #[builder(default = Duration::from_secs(30))]
    pub(super) lease: Duration,
    /// How often an idle worker polls for tasks without a hint; 5 s if more is given.
    ///
    /// Default: every second. While the store [sends hints](TaskStore::watch), the worker sleeps for as long as it has
    /// been quiet: at least a second, at most 5 s or its [lease](Self::lease). So a task whose hint is lost waits for
    /// up to 5 s; so does a task of a dead worker whose lease was shorter than this worker's.
    #[builder(
        default,
        setter(strip_option(fallback = poll_opt))
    )]
    pub(super) poll: Option<Duration>,
    /// How long a handler may take. If it takes longer, the attempt has failed: the handler is dropped, or, if it is a
    /// blocking one, notified by its context, and its lease is no longer renewed. No limit if not given.
    #[builder(
        default,
        setter(strip_option(fallback = timeout_opt))
    )]
    pub(super) timeout: Option<Duration>,
    /// How long handlers may continue when the worker is to stop, 10 s if not given. Tasks that have not ended by then
    /// are given back, and the attempt does not count.
    #[builder(default = Duration::from_secs(10))]
    pub(super) grace: Duration,
    /// How long ended tasks are kept: a day, a week if they did not succeed. Every worker forgets older ones now and
    /// then.
    #[builder(default)]
    pub(super) keep: Ages,
    /// Label of this worker, for people: at most 1024 bytes without NUL. Default `host:pid`.
    #[builder(
        default,
        setter(into, strip_option(fallback = owner_opt))
    )]
    pub(super) owner: Option<String>,
}

impl From<Settings> for Result<Worker, BuildError> {
    fn from(mut settings: Settings) -> Self {
        if settings.concurrency == 0 {
            return Err(BuildError::Concurrency);
        }
        if settings.queues.is_empty() {
            settings.queues.push(NewTask::QUEUE.to_owned());
        }
        let client = Client::new(settings.store.claims());
        let lock = DLock::builder()
            .name("claim")
            .duration(settings.lease)
            .owner_opt(settings.owner.clone())
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
