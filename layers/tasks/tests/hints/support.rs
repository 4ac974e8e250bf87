//! A worker and its run.

use std::time::Duration;

use dlock_core::ProviderError;
use dlock_tasks::{Context, Worker};
use tokio::{
    sync::oneshot,
    task::JoinHandle,
    time::{sleep, timeout},
};

use crate::fake::{Fake, Nothing};

/// A time before the next poll, and after everything that a hint causes.
pub(crate) const SOON: Duration = Duration::from_millis(500);
pub(crate) const POLL: Duration = Duration::from_secs(5);
pub(crate) const SECOND: Duration = Duration::from_secs(1);

pub(crate) struct Run {
    pub(crate) stop: oneshot::Sender<()>,
    pub(crate) running: JoinHandle<Result<(), ProviderError>>,
}

impl Run {
    /// A worker that has just found no task, on a store with or without a stream.
    pub(crate) async fn idle(store: &Fake, concurrency: usize, work: Duration) -> Self {
        let worker = Worker::builder()
            .store(store.clone())
            .poll(POLL)
            .concurrency(concurrency)
            .build();
        Self::of(worker.unwrap(), work).await
    }

    /// A worker with the default poll interval.
    pub(crate) async fn unset(store: &Fake, lease: Duration) -> Self {
        let worker = Worker::builder().store(store.clone()).lease(lease).build();
        Self::of(worker.unwrap(), Duration::ZERO).await
    }

    pub(crate) async fn of(worker: Worker, work: Duration) -> Self {
        let worker = worker.handle(move |_: Context, _: Nothing| async move {
            sleep(work).await;
            Ok(())
        });
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(worker.run(async move { drop(stopped.await) }));
        let run = Self { stop, running };
        sleep(SOON).await;
        run
    }

    /// Stops the worker at once, whatever it waits for.
    pub(crate) async fn stop(self) {
        drop(self.stop);
        let ended = timeout(Duration::from_millis(100), self.running).await;
        ended.expect("it does not stop").unwrap().unwrap();
    }
}
