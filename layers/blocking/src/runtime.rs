//! The runtime that waits for futures, and renews leases meanwhile.

use std::{
    fmt, io,
    sync::{Arc, mpsc},
    time::Duration,
};

use dlock_core::End;
use tokio::runtime::Builder;

/// A runtime of one thread, which renews leases and drives the connections of stores. Cheap to clone; clones are
/// the same runtime, which ends with the last of them and of the locks, leases and guards that were made on it.
///
/// One is enough for a program.
#[derive(Clone)]
pub struct Runtime(Arc<Owned>);

/// `None` only while it is dropped.
struct Owned(Option<tokio::runtime::Runtime>);

impl Runtime {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system's, if it provides no thread or no means to wait for connections.
    pub fn new() -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("dlock")
            .enable_all()
            .build()?;
        Ok(Self(Arc::new(Owned(Some(runtime)))))
    }

    /// Waits for a future: to open a store, or for a call that has no blocking form here, such as
    /// [`Client::close`](dlock_core::Client::close).
    ///
    /// # Panics
    /// On a thread of an async runtime.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        match &self.0.0 {
            Some(runtime) => runtime.block_on(future),
            None => unreachable!("it is there until it is dropped"),
        }
    }

    /// Waits for a release, but no longer than `patience`. The release runs to its end on this runtime, and keeps it
    /// alive until then, so any thread can wait: even one of an async runtime, as the threads of Tokio's
    /// `spawn_blocking` are.
    pub(crate) fn settle<R: Send>(
        &self,
        release: impl Future<Output = R> + Send + 'static,
        patience: Duration,
    ) {
        let Some(runtime) = &self.0.0 else {
            unreachable!("it is there until it is dropped");
        };
        let (done, waiting) = mpsc::channel::<()>();
        let kept = self.clone();
        runtime.spawn(async move {
            // The outcome is logged where the release runs.
            drop(release.await);
            drop((kept, done));
        });
        // Nothing is sent: the channel ends with the release.
        waiting.recv_timeout(patience).ok();
    }

    /// Calls `act` on a separate thread when a lease is lost.
    pub(crate) fn on_loss(
        &self,
        ended: impl Future<Output = End> + Send + 'static,
        act: impl FnOnce(End) + Send + 'static,
    ) {
        if let Some(runtime) = &self.0.0 {
            runtime.spawn(async move {
                let end = ended.await;
                if end.is_loss() {
                    tokio::task::spawn_blocking(move || act(end));
                }
            });
        }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // Waits for nothing, so that it can be dropped on a thread of another runtime.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime").finish_non_exhaustive()
    }
}
