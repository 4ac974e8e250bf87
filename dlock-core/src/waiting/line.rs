//! A waiter's place in the queue, and the turn that comes of it (W1, I18). It has two ends, one for the
//! caller and one for the task that asks in its name, and whichever goes first gives both up: that task
//! runs on its caller's runtime, and where nobody drives that runtime any more, the thread that drops
//! the caller's future is the last that can. While the caller is there too, those behind it on other
//! runtimes take the place away (`names/runtimes`).

use std::{
    future::{Future, pending, poll_fn, ready},
    mem,
    pin::{Pin, pin},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::Poll,
};

use tokio::{
    sync::{AcquireError, OwnedSemaphorePermit},
    task::unconstrained,
};
use tokio_util::sync::CancellationToken;

use crate::{
    names::{Registration, Waiter},
    waiting::Settings,
};

/// The task's end.
#[derive(Default)]
pub(super) struct Line(Arc<Stand>);

/// The caller's end.
pub(super) struct Caller(Line);

#[derive(Default)]
struct Stand {
    spot: Mutex<Spot>,
    /// Cancelled when the caller goes away while it stands in line, or the place goes to others.
    gone: CancellationToken,
}

#[derive(Default)]
enum Spot {
    /// It has not come yet.
    #[default]
    Outside,
    InLine(Queued, Registration),
    OurTurn(#[expect(dead_code, reason = "kept until it is dropped")] (Permit, Registration)),
    Left,
}

/// Our turn, once it comes.
type Queued = Pin<Box<dyn Future<Output = Permit> + Send>>;
type Permit = Result<OwnedSemaphorePermit, AcquireError>;

impl Line {
    /// The end for the caller.
    pub(super) fn caller(&self) -> Caller {
        Caller(Self(Arc::clone(&self.0)))
    }

    /// Cancelled when nobody waits in this place any more.
    pub(super) fn gone(&self) -> CancellationToken {
        self.0.gone.clone()
    }

    /// Takes a place in the queue, at once: for a newcomer in the caller's own poll. In tasks of ours
    /// two callers would be served in the order in which the runtime happens to start those tasks.
    pub(super) async fn join(&self, lock: &Settings) {
        let state = &lock.state;
        // First, so that those who come later know where we run.
        let place = state.register(self.waiter(), lock.plan.pickup());
        let mut turn: Queued = Box::pin(Arc::clone(&state.turn).acquire_owned());
        // Without a budget: a poll that is put off takes no place.
        let mut first = pin!(unconstrained(turn.as_mut()));
        let turn = match poll_fn(|context| Poll::Ready(first.as_mut().poll(context))).await {
            Poll::Ready(taken) => Box::pin(ready(taken)),
            Poll::Pending => turn,
        };
        self.enter(turn, place);
    }

    fn enter(&self, turn: Queued, place: Registration) {
        let mut spot = self.spot();
        if matches!(*spot, Spot::Outside) {
            *spot = Spot::InLine(turn, place);
        }
    }

    /// Resolves when it is our turn; never if the place was left. Looks meanwhile whether those before us
    /// can take theirs.
    pub(super) async fn turn(&self, lock: &Settings) {
        tokio::select! {
            biased;
            () = self.comes() => {}
            () = self.look_after_others(lock) => {}
        }
    }

    /// Never returns.
    async fn look_after_others(&self, lock: &Settings) {
        let waiter = self.waiter();
        while let Some((probes, patience)) = lock.state.probe(&waiter) {
            lock.store.clock.pause(patience).await;
            lock.state.evict_undriven(probes);
        }
        // Those who come from elsewhere now stand behind us.
        pending::<()>().await;
    }

    async fn comes(&self) {
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
        self.0.leave();
    }

    fn waiter(&self) -> Weak<dyn Waiter> {
        let waiter: Arc<dyn Waiter> = Arc::clone(&self.0) as Arc<dyn Waiter>;
        Arc::downgrade(&waiter)
    }

    fn spot(&self) -> MutexGuard<'_, Spot> {
        self.0.spot()
    }
}

impl Stand {
    fn leave(&self) {
        let left = mem::replace(&mut *self.spot(), Spot::Left);
        // Without the lock: it wakes others.
        drop(left);
    }

    fn spot(&self) -> MutexGuard<'_, Spot> {
        self.spot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiter for Stand {
    fn step_aside(&self) {
        self.gone.cancel();
        self.leave();
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        let waits = matches!(*self.0.spot(), Spot::InLine(..) | Spot::OurTurn(..));
        // A try that is under way runs to its answer (G1), and is not repeated.
        if waits {
            self.0.0.gone.cancel();
        }
    }
}
