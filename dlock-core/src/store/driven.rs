//! Work that its caller drives as long as that is quick, and that continues in a task of ours otherwise (the book, "The
//! code": Calls in the caller's poll). So an acquire or release of a few milliseconds costs no change of task.
//! Nevertheless a request that was sent runs to its answer when the caller goes away, and depends on the caller's polls
//! for no longer than 20 to 40 ms.

mod own_wakes;
#[cfg(test)]
mod tests;
mod watchdog;

use std::{
    any::Any,
    future::poll_fn,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use tokio::{
    runtime::Handle,
    task::{JoinError, JoinHandle},
};

pub(crate) use self::watchdog::Watchdogs;
use self::{
    own_wakes::{OwnWakes, ROUNDS},
    watchdog::{Watched, Watching},
};
use crate::emit::contained;

/// The caller's end of such work, and the future of its result. Dropping it, with or without a poll, leaves the
/// work to a task.
pub(crate) struct Driven<T: Send + 'static> {
    slot: Arc<Slot<T>>,
    watchdogs: Arc<Watchdogs>,
    /// While the work stays in the caller's poll.
    watching: Option<Watching>,
}

/// The work ended without a result: it panicked, or its runtime ended.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unfinished(String);

/// The slot that holds the work, for its caller and the watchdog.
struct Slot<T> {
    phase: Mutex<Phase<T>>,
    /// Where the work runs: the connections that it opens live there.
    home: Handle,
}

enum Phase<T> {
    /// The caller's next poll drives the work. With the waker of its last one.
    Here(Work<T>, Option<Waker>),
    /// In a task.
    Away(JoinHandle<T>),
    Over,
}

/// Boxed from the beginning: it is large, and moves from one owner to the next.
pub(crate) type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl<T: Send + 'static> Driven<T> {
    /// Begins with the first poll, on the current runtime.
    ///
    /// # Panics
    /// Outside of a Tokio runtime.
    pub(crate) fn new(watchdogs: &Arc<Watchdogs>, work: Work<T>) -> Self {
        let slot = Slot {
            phase: Mutex::new(Phase::Here(work, None)),
            home: Handle::current(),
        };
        Self {
            slot: Arc::new(slot),
            watchdogs: Arc::clone(watchdogs),
            watching: None,
        }
    }

    /// Drives the work until this future resolves, which the work causes. The remainder of the work then continues in
    /// a task; usually there is none.
    pub(crate) async fn until<O>(mut self, answer: impl Future<Output = O>) -> O {
        let mut answer = pin!(answer);
        let wakes = Arc::new(OwnWakes::default());
        let waker = Waker::from(Arc::clone(&wakes));
        poll_fn(|context| {
            let mut own = Context::from_waker(&waker);
            for _ in 0..ROUNDS {
                wakes.begin();
                let _result = self.drive(&mut own);
                if let Poll::Ready(answer) = answer.as_mut().poll(&mut own) {
                    // It may have waited only for this.
                    let _result = self.drive(&mut own);
                    return Poll::Ready(answer);
                }
                let _result = self.stay(&mut own);
                if wakes.rest(context.waker()) {
                    return Poll::Pending;
                }
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await
    }

    /// Polls the work, or waits for its task.
    fn drive(&mut self, context: &mut Context<'_>) -> Poll<Result<T, Unfinished>> {
        let slot = Arc::clone(&self.slot);
        let mut phase = slot.phase();
        if let Phase::Here(work, caller) = &mut *phase
            && slot.is_home()
        {
            // As a task would, it keeps a panic of the provider from the other work of its caller.
            match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
                Ok(Poll::Pending) if !self.watchdogs.are_closing() => {
                    match caller {
                        Some(caller) => caller.clone_from(context.waker()),
                        None => *caller = Some(context.waker().clone()),
                    }
                    return Poll::Pending;
                }
                Ok(Poll::Pending) => {}
                Ok(Poll::Ready(result)) => return self.ended(phase, Ok(result)),
                Err(panic) => return self.ended(phase, Err(Unfinished::panicked(&*panic))),
            }
        }
        // The client closes, or the caller polls from another runtime.
        let before = slot.leave(&mut phase);
        let polled = match &mut *phase {
            Phase::Away(task) => match Pin::new(task).poll(context) {
                Poll::Ready(result) => {
                    let result = result.map_err(Unfinished::from);
                    self.ended(phase, result)
                }
                Poll::Pending => {
                    drop(phase);
                    self.watching = None;
                    Poll::Pending
                }
            },
            Phase::Here(..) | Phase::Over => Poll::Pending,
        };
        drop(before);
        polled
    }

    /// The caller has to wait. Work that stays with it is watched from now on.
    fn stay(&mut self, context: &mut Context<'_>) -> Poll<Result<T, Unfinished>> {
        if !matches!(*self.slot.phase(), Phase::Here(..)) {
            return Poll::Pending;
        }
        if self.watching.as_ref().is_none_or(Watching::is_over) {
            let slot: Arc<dyn Watched> = Arc::clone(&self.slot) as Arc<dyn Watched>;
            let work = Arc::downgrade(&slot);
            self.watching = Some(self.watchdogs.watch(&self.slot.home, work));
        }
        // While the work was being driven, the watchdog of a closing client skipped it.
        if self.watchdogs.are_closing() {
            return self.drive(context);
        }
        Poll::Pending
    }

    fn ended(
        &mut self,
        mut phase: MutexGuard<'_, Phase<T>>,
        result: Result<T, Unfinished>,
    ) -> Poll<Result<T, Unfinished>> {
        let work = mem::replace(&mut *phase, Phase::Over);
        drop(phase);
        // Without the lock: the work may hold anything.
        contained(|| drop(work));
        self.watching = None;
        Poll::Ready(result)
    }
}

impl<T: Send + 'static> Future for Driven<T> {
    type Output = Result<T, Unfinished>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.drive(context) {
            Poll::Pending => self.stay(context),
            ended @ Poll::Ready(_) => ended,
        }
    }
}

impl<T: Send + 'static> Drop for Driven<T> {
    fn drop(&mut self) {
        let caller = self.slot.leave(&mut self.slot.phase());
        drop(caller);
    }
}

impl From<JoinError> for Unfinished {
    fn from(ended: JoinError) -> Self {
        Self(ended.to_string())
    }
}

impl Unfinished {
    fn panicked(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Self(text.map_or_else(|| "panicked".to_owned(), |text| format!("panicked: {text}")))
    }
}

impl<T: Send + 'static> Slot<T> {
    /// Leaves the work, as it is, to a task; if the runtime has ended, the work is dropped. Returns the caller's
    /// waker: from now on the wakes of the work go to the task.
    fn leave(&self, phase: &mut Phase<T>) -> Option<Waker> {
        match mem::replace(phase, Phase::Over) {
            Phase::Here(work, caller) => {
                *phase = Phase::Away(self.home.spawn(work));
                caller
            }
            other => {
                *phase = other;
                None
            }
        }
    }

    fn is_home(&self) -> bool {
        Handle::try_current().is_ok_and(|here| here.id() == self.home.id())
    }

    fn phase(&self) -> MutexGuard<'_, Phase<T>> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Send + 'static> Watched for Slot<T> {
    fn take_over(&self) -> bool {
        // If it is locked, its caller polls it at this moment.
        let Ok(mut phase) = self.phase.try_lock() else {
            return false;
        };
        let caller = self.leave(&mut phase);
        drop(phase);
        if let Some(caller) = caller {
            contained(|| caller.wake());
        }
        true
    }
}
