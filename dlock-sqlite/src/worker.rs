//! The threads that a provider's calls run on: calls of holders first, and each kind in the order of arrival.

use std::{
    collections::VecDeque,
    fmt, io,
    panic::{self, AssertUnwindSafe},
    sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError},
    thread,
};

use dlock_core::{ProviderError, provider::is_for_holder};
use tokio::sync::oneshot;

type Job = Box<dyn FnOnce() + Send>;

/// The kind of caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// A renewal, a release, or the end of a task: a lease depends on it.
    Holder,
    /// Any other call, unless it is made [for a holder](is_for_holder).
    Other,
}

/// A separate thread, not the runtime's pool: queued calls need no lock that passes between tasks, and nothing depends
/// on which runtime a call was made in. The remaining cost of a call is to wake a thread there and the task back;
/// polling for the next call for a while before sleeping was measured, and gained nothing. The thread ends when all
/// clones are gone.
#[derive(Clone)]
pub(crate) struct Worker(Arc<Open>);

/// The queue of a thread, as long as calls can join it.
struct Open(Arc<Line>);

#[derive(Default)]
struct Line {
    waiting: Mutex<Waiting>,
    joined: Condvar,
}

#[derive(Default)]
struct Waiting {
    holders: VecDeque<Job>,
    others: VecDeque<Job>,
    is_closed: bool,
}

impl Worker {
    pub(crate) fn start() -> io::Result<Self> {
        let line = Arc::<Line>::default();
        let open = Open(Arc::clone(&line));
        thread::Builder::new()
            .name("dlock-sqlite".into())
            .spawn(move || {
                while let Some(job) = line.next() {
                    job();
                }
            })?;
        Ok(Self(Arc::new(open)))
    }

    /// Runs `work` when its turn comes. If this future is dropped before that, `work` never runs; afterwards it runs to
    /// its end.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        caller: Caller,
        work: impl FnOnce() -> Result<T, ProviderError> + Send + 'static,
    ) -> Result<T, ProviderError> {
        let (reply, answer) = oneshot::channel();
        let job = Box::new(move || {
            if reply.is_closed() {
                return;
            }
            // A panic belongs to the caller; this thread must serve the next call.
            let ended = panic::catch_unwind(AssertUnwindSafe(work));
            // The caller may be gone.
            drop(reply.send(ended));
        });
        self.0.join(caller, job);
        let answer = answer.await;
        match answer.map_err(|_| ProviderError::unknown("the thread of the file has ended"))? {
            Ok(answer) => answer,
            Err(panic) => panic::resume_unwind(panic),
        }
    }
}

impl Open {
    fn join(&self, caller: Caller, job: Job) {
        let mut waiting = self.0.waiting();
        if caller == Caller::Holder || is_for_holder() {
            waiting.holders.push_back(job);
        } else {
            waiting.others.push_back(job);
        }
        drop(waiting);
        self.0.joined.notify_one();
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.waiting().is_closed = true;
        self.0.joined.notify_one();
    }
}

impl Line {
    /// The next call, once there is one; `None` if there will be no more.
    fn next(&self) -> Option<Job> {
        let mut waiting = self.waiting();
        loop {
            let first = waiting.holders.pop_front();
            if let Some(job) = first.or_else(|| waiting.others.pop_front()) {
                return Some(job);
            }
            if waiting.is_closed {
                return None;
            }
            let woken = self.joined.wait(waiting);
            waiting = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").finish_non_exhaustive()
    }
}

/// A second connection with its own thread, for reads that may be large: with a write-ahead log neither the calls of
/// holders nor any other writer waits for it. The first use makes both.
pub(crate) struct Reader<C> {
    worker: OnceLock<Worker>,
    connection: Arc<Mutex<Option<C>>>,
}

impl<C: Send + 'static> Reader<C> {
    pub(crate) fn new() -> Self {
        Self {
            worker: OnceLock::new(),
            connection: Arc::default(),
        }
    }

    /// Runs `work` with the connection when its turn comes, and opens the connection if it is not open yet.
    ///
    /// # Errors
    /// Those of both, and `NotApplied` if no thread can be started.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        open: impl FnOnce() -> Result<C, ProviderError> + Send + 'static,
        work: impl FnOnce(&C) -> Result<T, ProviderError> + Send + 'static,
    ) -> Result<T, ProviderError> {
        let worker = match self.worker.get() {
            Some(worker) => worker,
            None => {
                let started = Worker::start().map_err(|error| {
                    ProviderError::not_applied("no thread to read with").with_source(error)
                })?;
                self.worker.get_or_init(|| started)
            }
        };
        let connection = Arc::clone(&self.connection);
        let work = move || {
            let mut connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
            let connection = match &mut *connection {
                Some(connection) => connection,
                closed => closed.insert(open()?),
            };
            work(connection)
        };
        worker.run(Caller::Other, work).await
    }
}

impl<C> fmt::Debug for Reader<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use dlock_core::provider::for_holder;

    use super::*;

    #[tokio::test]
    async fn calls_of_holders_run_before_all_that_wait() {
        let worker = Worker::start().unwrap();
        let (begin, wait) = mpsc::channel::<()>();
        let first = worker.run(Caller::Other, move || {
            wait.recv().map_err(|_| ProviderError::unknown("it ended"))
        });
        let order = Arc::new(Mutex::new(Vec::new()));
        let call = |caller, name: &'static str| {
            let order = Arc::clone(&order);
            worker.run(caller, move || {
                order.lock().unwrap().push(name);
                Ok(())
            })
        };
        let ended = tokio::join!(
            biased;
            first,
            call(Caller::Other, "other"),
            call(Caller::Other, "another"),
            call(Caller::Holder, "holder"),
            for_holder(call(Caller::Other, "for a holder")),
            async { begin.send(()).map_err(|_| ProviderError::unknown("it ended")) },
        );
        assert!(matches!(
            ended,
            (Ok(()), Ok(()), Ok(()), Ok(()), Ok(()), Ok(()))
        ));
        let order = order.lock().unwrap();
        assert_eq!(*order, ["holder", "for a holder", "other", "another"]);
    }
}
