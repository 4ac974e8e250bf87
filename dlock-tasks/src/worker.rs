//! A worker: claims tasks, runs their handlers under leases that renew themselves, and ends them.

mod context;
mod drain;
mod endings;
mod handlers;
mod held;
mod hints;
mod periodic;
mod run;
mod running;
mod settings;
mod suspects;
mod task;

use std::{fmt, sync::Arc, time::Duration};

use dlock_core::{Client, DLock, ProviderError};
use serde::Serialize;

pub use self::{
    context::{CheckpointError, Context},
    drain::{Attempt, DrainError, Drained},
    settings::{BuildError, WorkerBuilder},
};
use self::{handlers::Handlers, settings::Settings};
use crate::{Payload, Periodic, Stop};

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

impl Worker {
    /// Settings first, then `build()`, then handlers.
    pub fn builder() -> WorkerBuilder {
        Settings::builder()
    }

    /// Adds the handler of a kind of tasks; a second one of the same kind takes the place of the first.
    ///
    /// A handler that panics has failed. What it answers is kept as JSON.
    ///
    /// It is dropped at its next await when its lease is lost, its time is over, or the worker's grace time is. Until it
    /// awaits, nothing can end it, and the log does not tell of it: what computes for long or blocks its thread belongs into
    /// [`handle_blocking`](Self::handle_blocking).
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

    /// Adds the handler of a kind of tasks that blocks its thread: it computes for long, or calls what waits without
    /// `await`. It runs on [tokio's threads for such work](tokio::task::spawn_blocking), and heartbeats go on
    /// beside it.
    ///
    /// Nothing can stop it from outside. Where the future of another handler is dropped, this one is only **told**, and
    /// the worker waits until it returns, for its answer no longer counts:
    ///
    /// | when | what it is told | what becomes of the task |
    /// |---|---|---|
    /// | the lease is lost | [`check`](Context::check) fails, [`is_valid`](Context::is_valid) is false | another worker may have it; the answer is not written |
    /// | it takes longer than the time limit | the same; its lease is not renewed any more | the attempt has failed, whatever it answers; written when it returns. If it does not until the lease runs out, another worker may have the task |
    /// | the worker stops, and the grace time is over | the same | given back when it returns, or completed if it was done by then; if it does not return until the lease runs out, the same |
    /// | the future of [`run`](Self::run) is dropped | [`check`](Context::check) fails | given back when it returns; until then its lease is renewed |
    /// | somebody cancels the task | [`check`](Context::check) fails | cancelled, unless it answers an output |
    ///
    /// So a handler that calls `context.check()?` at least each fifth of the lease, and only takes steps that are shorter
    /// than that, does not run beside another worker's unless the whole process stands still. One that
    /// never asks runs on when its task is lost, **beside another worker that has the task**: what it writes must carry
    /// the [token](Context::token).
    ///
    /// It takes its place among the [`concurrency`](WorkerBuilder::concurrency) until it returns: one that never does
    /// takes it for ever. `run` ends by its bound nevertheless; dropping the runtime, as at the end of
    /// `#[tokio::main]`, waits for all such threads, and only `Runtime::shutdown_timeout` and the end of the process
    /// do not. Tokio has 512 of these threads if nobody says otherwise; with more concurrency than that, tasks wait under
    /// their leases.
    #[must_use]
    pub fn handle_blocking<P, F, O>(mut self, handler: F) -> Self
    where
        P: Payload,
        F: Fn(Context, P) -> Result<O, Stop> + Send + Sync + 'static,
        O: Serialize + 'static,
    {
        self.handlers.add_blocking(handler);
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
    /// back. It ends after a lease and twice the grace time at the latest, also if the store does not answer or a
    /// handler does not end.
    ///
    /// A store that cannot be reached is asked again for as long as that takes; the log says so.
    ///
    /// # Errors
    /// A store that cannot be used, whatever time passes: a missing permission, tables of another version. A periodic
    /// task that cannot be kept. A worker without handlers.
    ///
    /// # Cancel safety
    /// Dropping the future drops the handlers; their tasks are given back in the background when that is done, if the
    /// runtime goes on. What a claim gets whose answer had not come by then waits for the end of its lease.
    pub async fn run(self, stop: impl Future<Output = ()> + Send) -> Result<(), ProviderError> {
        run::run(&Arc::new(self), stop).await
    }

    /// For tests: runs what is ready until there is nothing left, and says what became of it.
    ///
    /// That is every task of this worker's queues and kinds that is due, and those that they enqueue, if these are
    /// due. It is over when a look at the store has found none of them and no handler runs.
    ///
    /// - Tasks of later are left alone: those that are enqueued for later, those that snooze, and those that failed,
    ///   which come again after about two seconds or more. One that is to come again after no time at all is run again.
    /// - Tasks that other workers run are left to them, and not waited for. Tasks of dead workers are run if their
    ///   leases have ended.
    /// - Periodic tasks are not enqueued.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use dlock_tasks::{DrainError, Worker};
    /// # async fn example(worker: Worker) -> Result<(), DrainError> {
    /// let drained = worker.drain(Duration::from_secs(10)).await?;
    /// assert!(drained.failed().is_empty(), "{drained:?}");
    /// assert_eq!(drained.attempts.len(), 3);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`DrainError::TooLong`] if it takes longer than `within`, since a handler does not end, the store does not answer
    /// or tasks enqueue each other for ever; it names the tasks that ran. [`DrainError::Store`] if the store cannot be
    /// used, or the worker has no handlers.
    ///
    /// # Cancel safety
    /// As of [`run`](Self::run).
    pub async fn drain(&self, within: Duration) -> Result<Drained, DrainError> {
        drain::drain(self.share(), within).await
    }

    /// Another one like this.
    fn share(&self) -> Arc<Self> {
        let Self {
            settings,
            handlers,
            periodic,
            lock,
            client,
        } = self;
        Arc::new(Self {
            settings: settings.clone(),
            handlers: handlers.clone(),
            periodic: periodic.clone(),
            lock: lock.clone(),
            client: client.clone(),
        })
    }

    /// # Errors
    /// It has no handlers, and so would claim nothing.
    fn check(&self) -> Result<(), ProviderError> {
        if self.handlers.kinds().next().is_some() {
            return Ok(());
        }
        let why = "a worker without handlers runs no task: add them with `handle` before it runs";
        Err(ProviderError::fatal(why))
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("queues", &self.settings.queues)
            .field("lease", &self.settings.lease)
            .finish_non_exhaustive()
    }
}
