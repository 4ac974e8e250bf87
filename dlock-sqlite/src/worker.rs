//! The thread that a provider's calls run on, one after another in the order in which they came.

use std::{
    io,
    panic::{self, AssertUnwindSafe},
    sync::mpsc,
    thread,
};

use dlock_core::ProviderError;
use tokio::sync::oneshot;

type Job = Box<dyn FnOnce() + Send>;

/// A thread of its own, and not the runtime's pool: calls in line need no lock that passes between
/// tasks, and nothing depends on which runtime a call was made in. What remains of a call's cost is
/// to wake a thread there and the task back; looking for the next call for a while before sleeping
/// was measured, and gained nothing. It ends when all clones are gone.
#[derive(Clone, Debug)]
pub(crate) struct Worker(mpsc::Sender<Job>);

impl Worker {
    pub(crate) fn start() -> io::Result<Self> {
        let (sender, jobs) = mpsc::channel::<Job>();
        thread::Builder::new()
            .name("dlock-sqlite".into())
            .spawn(move || jobs.into_iter().for_each(|job| job()))?;
        Ok(Self(sender))
    }

    /// Runs `work` when its turn comes. If this future is dropped before, it never runs;
    /// afterwards it runs to its end (G1).
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, ProviderError> + Send + 'static,
    ) -> Result<T, ProviderError> {
        let (reply, answer) = oneshot::channel();
        let job = Box::new(move || {
            if reply.is_closed() {
                return;
            }
            // A panic is the caller's, and the next call's thread is this one.
            let ended = panic::catch_unwind(AssertUnwindSafe(work));
            // The caller may be gone by now.
            drop(reply.send(ended));
        });
        let lost = || ProviderError::unknown("the thread of the lock file has ended");
        self.0.send(job).map_err(|_| lost())?;
        match answer.await.map_err(|_| lost())? {
            Ok(answer) => answer,
            Err(panic) => panic::resume_unwind(panic),
        }
    }
}
