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

/// Claims tasks and runs their handlers.
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
/// # Guarantees for a handler
/// While a handler runs, no other worker has its task, and its lease renews itself. When the lease is lost, because the
/// store was unreachable for too long, the process was paused, or the task was cancelled by force, the handler's future
/// is **dropped** at its next await, before another worker can have the task; no ending is written then. A process that
/// was paused in the middle of a step continues with that step when it resumes: the writes of such a step have to carry
/// the [token](Context::token), or to be in the transaction that completes the task.
///
/// A task runs at least once. It runs again if its worker dies, or if its ending did not reach the store.
pub struct Worker {
    settings: Settings,
    handlers: Handlers,
    periodic: Vec<Periodic>,
    /// The lock from which each claim gets a lock under its own name.
    lock: DLock,
    client: Client,
}

impl Worker {
    /// Settings first, then `build()`, then handlers.
    pub fn builder() -> WorkerBuilder {
        Settings::builder()
    }

    /// Adds the handler of a kind of tasks; a second one of the same kind replaces the first.
    ///
    /// A handler that panics has failed. Its output is kept as JSON.
    ///
    /// It is dropped at its next await when its lease is lost, or when its time limit or the worker's grace time has
    /// passed. Until it awaits, it cannot be ended, and the log does not report it: code that computes for long or
    /// blocks its thread belongs in [`handle_blocking`](Self::handle_blocking).
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

    /// Adds the handler of a kind of tasks that blocks its thread: it computes for long, or makes calls that wait
    /// without `await`. It runs on [tokio's threads for such work](tokio::task::spawn_blocking), and heartbeats
    /// continue meanwhile.
    ///
    /// It cannot be stopped from outside. In the cases in which the future of another handler is dropped, this one is
    /// only **notified**, and the worker waits until it returns, though its answer no longer counts:
    ///
    /// | when | notification | the task |
    /// |---|---|---|
    /// | the lease is lost | [`check`](Context::check) fails, [`is_valid`](Context::is_valid) is false | another worker may have it; the answer is not written |
    /// | it takes longer than the time limit | the same; its lease is no longer renewed | the attempt has failed, whatever it answers; the failure is written when it returns. If it does not return before the lease runs out, another worker may have the task |
    /// | the worker stops, and the grace time has passed | the same | given back when it returns, or completed if it was done by then; if it does not return before the lease runs out, another worker may have the task |
    /// | the future of [`run`](Self::run) is dropped | [`check`](Context::check) fails | given back when it returns; until then its lease is renewed |
    /// | the task is cancelled | [`check`](Context::check) fails | cancelled, unless the handler answers an output |
    ///
    /// So a handler that calls `context.check()?` at least every fifth of the lease, and only takes steps that are
    /// shorter than that, does not overlap with another worker's handler unless the whole process is paused. A handler
    /// that never checks keeps running when its task is lost, **while another worker has the task**: its writes must
    /// carry the [token](Context::token).
    ///
    /// It occupies a place of the [`concurrency`](WorkerBuilder::concurrency) until it returns: one that never returns
    /// occupies it for ever. `run` still ends within its bound. Dropping the runtime, as at the end of
    /// `#[tokio::main]`, waits for all such threads; only `Runtime::shutdown_timeout` and the end of the process do
    /// not. Tokio has 512 of these threads by default; with more concurrency than that, tasks wait under their leases.
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

    /// Adds a task that is enqueued by the clock while this worker runs. Give it to every worker: each instant still
    /// has only one task. The task may be for another queue than the worker's own.
    #[must_use]
    pub fn periodic(mut self, periodic: Periodic) -> Self {
        self.periodic.push(periodic);
        self
    }

    /// Works until `stop` resolves. Then the worker claims no more tasks, notifies the handlers
    /// ([`Context::stopping`]), drops those that have not ended after the grace time, and gives their tasks back. It
    /// ends after a lease and twice the grace time at the latest, even if the store does not answer or a handler does
    /// not end.
    ///
    /// If the store cannot be reached, the worker keeps trying, for as long as it takes; the log says so.
    ///
    /// # Errors
    /// The store cannot be used, however long the worker waits: a missing permission, tables of another version. A
    /// periodic task cannot be kept. The worker has no handlers.
    ///
    /// # Cancel safety
    /// Dropping the future drops the handlers; their tasks are given back in the background after that, if the runtime
    /// keeps running. Tasks of a claim whose answer had not come by then wait for the end of their leases.
    pub async fn run(self, stop: impl Future<Output = ()> + Send) -> Result<(), ProviderError> {
        run::run(&Arc::new(self), stop).await
    }

    /// For tests: runs the ready tasks until none remain, and returns their outcomes.
    ///
    /// That is every task of this worker's queues and kinds that is due, and the tasks that they enqueue, if these are
    /// due. It ends when a read of the store has found no such task and no handler runs.
    ///
    /// - It leaves tasks for later alone: those that are enqueued for later, snoozed ones, and failed ones, which are
    ///   due again after about two seconds or more. A task that is to be retried without delay runs again.
    /// - It leaves tasks that other workers run to them, and does not wait for those. It runs tasks of dead workers if
    ///   their leases have ended.
    /// - It enqueues no periodic tasks.
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
    /// [`DrainError::TooLong`] if it takes longer than `within`, because a handler does not end, the store does not
    /// answer or tasks enqueue each other for ever; it names the running tasks. [`DrainError::Store`] if the store
    /// cannot be used, or the worker has no handlers.
    ///
    /// # Cancel safety
    /// As for [`run`](Self::run).
    pub async fn drain(&self, within: Duration) -> Result<Drained, DrainError> {
        drain::drain(self.share(), within).await
    }

    /// Another worker like this one.
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
    /// The worker has no handlers, and so would claim nothing.
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
