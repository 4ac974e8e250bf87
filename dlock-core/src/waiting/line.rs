//! A waiter's place in the queue, and the turn that comes of it (W1). It has two ends, one for the
//! caller and one for the task that asks in its name, and whichever goes first gives both up: that task
//! runs on its caller's runtime, and where nobody drives that runtime any more, the thread that drops
//! the caller's future is the last that can.

use std::{
    future::{Future, poll_fn, ready},
    mem,
    pin::{Pin, pin},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Poll,
};

use tokio::{
    sync::{AcquireError, OwnedSemaphorePermit},
    task::unconstrained,
};

use crate::{
    latch::Latch,
    names::{NameState, Place},
};

/// The task's end.
#[derive(Default)]
pub(super) struct Line(Arc<Mutex<Spot>>);

/// The caller's end.
pub(super) struct Caller {
    line: Line,
    /// Set when the caller goes away while it stands in line.
    gone: Arc<Latch>,
}

#[derive(Default)]
enum Spot {
    /// It has not come yet.
    #[default]
    Outside,
    InLine(Queued, Place),
    OurTurn(#[expect(dead_code, reason = "kept until it is dropped")] (Permit, Place)),
    Left,
}

/// Our turn, once it comes.
type Queued = Pin<Box<dyn Future<Output = Permit> + Send>>;
type Permit = Result<OwnedSemaphorePermit, AcquireError>;

impl Line {
    /// The end for the caller, who tells `gone` when it goes away.
    pub(super) fn caller(&self, gone: &Arc<Latch>) -> Caller {
        Caller {
            line: Self(Arc::clone(&self.0)),
            gone: Arc::clone(gone),
        }
    }

    /// Takes a place in the queue, at once: for a newcomer in the caller's own poll. In tasks of ours
    /// two callers would be served in the order in which the runtime happens to start those tasks.
    pub(super) async fn join(&self, state: &Arc<NameState>) {
        let mut turn: Queued = Box::pin(Arc::clone(&state.turn).acquire_owned());
        // Without a budget: a poll that is put off takes no place.
        let mut first = pin!(unconstrained(turn.as_mut()));
        let turn = match poll_fn(|context| Poll::Ready(first.as_mut().poll(context))).await {
            Poll::Ready(taken) => Box::pin(ready(taken)),
            Poll::Pending => turn,
        };
        self.enter(turn, state.place());
    }

    fn enter(&self, turn: Queued, place: Place) {
        let mut spot = self.spot();
        if matches!(*spot, Spot::Outside) {
            *spot = Spot::InLine(turn, place);
        }
    }

    /// Resolves when it is our turn; never if the place was left.
    pub(super) async fn turn(&self) {
        poll_fn(|context| {
            let mut spot = self.spot();
            let Spot::InLine(turn, _) = &mut *spot else {
                return Poll::Pending;
            };
            let Poll::Ready(permit) = turn.as_mut().poll(context) else {
                return Poll::Pending;
            };
            if let Spot::InLine(_, place) = mem::replace(&mut *spot, Spot::Left) {
                *spot = Spot::OurTurn((permit, place));
            }
            Poll::Ready(())
        })
        .await;
    }

    /// Leaves: the next in line may come.
    pub(super) fn leave(&self) {
        let left = mem::replace(&mut *self.spot(), Spot::Left);
        // Without the lock: it wakes others.
        drop(left);
    }

    fn spot(&self) -> MutexGuard<'_, Spot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        let waits = matches!(*self.line.spot(), Spot::InLine(..) | Spot::OurTurn(..));
        // A try that is under way runs to its answer (G1), and is not repeated.
        if waits {
            self.gone.raise();
        }
    }
}
