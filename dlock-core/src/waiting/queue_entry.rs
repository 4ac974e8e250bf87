//! A waiter's entry in the queue of its runtime, and the turn that comes of it. It has two ends, one for the caller and
//! one for the task that tries in its name, and the first end to be dropped gives up the entry: the task runs on its
//! caller's runtime, and if no thread drives that runtime any more, only the thread that drops the caller's future can
//! give the entry up.

#[cfg(test)]
mod tests;

use std::{
    future::{Future, poll_fn},
    mem,
    pin::{Pin, pin},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Poll,
};

use tokio::{
    sync::{AcquireError, OwnedSemaphorePermit},
    task::unconstrained,
};

use super::caller_gone::CallerGone;
use crate::{
    lease::Settings,
    names::{Queue, Registration},
};

/// The task's end.
#[derive(Default)]
pub(super) struct QueueEntry(Arc<SharedEntry>);

/// The caller's end.
pub(super) struct CallerEnd(QueueEntry);

#[derive(Default)]
struct SharedEntry {
    position: Mutex<Position>,
    /// Cancelled when the caller goes away while its entry is in the queue.
    gone: Arc<CallerGone>,
}

#[derive(Default)]
enum Position {
    /// Not in the queue yet.
    #[default]
    NotQueued,
    Queued(PendingTurn, Registration),
    Turn(#[expect(dead_code, reason = "kept until it is dropped")] (Permit, Registration)),
    Left,
}

/// Resolves when it is our turn.
type PendingTurn = Pin<Box<dyn Future<Output = Permit> + Send>>;
type Permit = Result<OwnedSemaphorePermit, AcquireError>;

impl QueueEntry {
    /// The end for the caller.
    pub(super) fn caller(&self) -> CallerEnd {
        CallerEnd(Self(Arc::clone(&self.0)))
    }

    /// Cancelled when the caller no longer waits by this entry.
    pub(super) fn gone(&self) -> Arc<CallerGone> {
        Arc::clone(&self.0.gone)
    }

    /// Joins the queue at once, for a newcomer in the caller's own poll: from tasks of ours two callers would be
    /// served in the order in which the runtime happens to start those tasks.
    pub(super) async fn enqueue(&self, lock: &Settings) -> Arc<Queue> {
        let place = lock.state.register();
        let queue = Arc::clone(place.queue());
        // The only permit is never free while other callers stand in line.
        if let Ok(permit) = Arc::clone(&queue.turn).try_acquire_owned() {
            self.enter(Position::Turn((Ok(permit), place)));
            return queue;
        }
        let mut turn: PendingTurn = Box::pin(Arc::clone(&queue.turn).acquire_owned());
        // Without a budget: a poll that is put off would take no place.
        let mut first = pin!(unconstrained(turn.as_mut()));
        let position = match poll_fn(|context| Poll::Ready(first.as_mut().poll(context))).await {
            Poll::Ready(permit) => Position::Turn((permit, place)),
            Poll::Pending => Position::Queued(turn, place),
        };
        self.enter(position);
        queue
    }

    fn enter(&self, queued: Position) {
        let mut position = self.position();
        if matches!(*position, Position::NotQueued) {
            *position = queued;
        }
    }

    /// Resolves when it is our turn; never if the entry was given up.
    pub(super) async fn turn(&self) {
        poll_fn(|context| {
            let mut position = self.position();
            let turn = match &mut *position {
                Position::Queued(turn, _) => turn,
                Position::Turn(_) => return Poll::Ready(()),
                Position::NotQueued | Position::Left => return Poll::Pending,
            };
            let Poll::Ready(permit) = turn.as_mut().poll(context) else {
                return Poll::Pending;
            };
            if let Position::Queued(_, place) = mem::replace(&mut *position, Position::Left) {
                *position = Position::Turn((permit, place));
            }
            Poll::Ready(())
        })
        .await;
    }

    /// Leaves the queue: the next waiter may have its turn.
    pub(super) fn leave(&self) {
        self.0.leave();
    }

    fn position(&self) -> MutexGuard<'_, Position> {
        self.0.position()
    }
}

impl SharedEntry {
    fn leave(&self) {
        let previous = mem::replace(&mut *self.position(), Position::Left);
        // Without the lock: dropping it wakes others.
        drop(previous);
    }

    fn position(&self) -> MutexGuard<'_, Position> {
        self.position.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for QueueEntry {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Drop for CallerEnd {
    fn drop(&mut self) {
        let waits = matches!(
            *self.0.position(),
            Position::Queued(..) | Position::Turn(..)
        );
        // A try in flight runs to its answer, and is not repeated.
        if waits {
            self.0.0.gone.cancel();
        }
    }
}
