//! Decides which call meets which fault, and keeps the requests that a fault holds back.

use std::{
    collections::{BTreeMap, VecDeque},
    future::{Future, pending},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use dlock_core::{ErrorKind, ProviderError};
use tokio::time::sleep;

use super::log::Op;

/// The fault of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The request never reaches the store, and the call hangs forever.
    LoseRequest,
    /// The store applies the request, and the call hangs forever.
    LoseReply,
    /// The request never reaches the store; the call fails with this kind.
    FailBefore(ErrorKind),
    /// The store applies the request; the call fails with this kind nevertheless.
    FailAfter(ErrorKind),
    /// The request reaches the store this much later, whether or not the caller still waits.
    DelayRequest(Duration),
    /// The store applies the request at once; the reply arrives this much later.
    DelayReply(Duration),
    /// The call is answered as usual, and the store receives the same request once more this much later.
    DuplicateAfter(Duration),
    /// The call is answered as usual; a copy of the request waits for [`Faulty::deliver`](super::Faulty::deliver).
    HoldCopy,
    /// The request waits for [`Faulty::deliver`](super::Faulty::deliver), and the caller waits with it.
    HoldRequest,
    /// The request never reaches the store, and the call panics.
    Panic,
}

impl Fault {
    /// The store is too busy: the request was certainly not applied.
    pub const THROTTLED: Self = Self::FailBefore(ErrorKind::NotApplied);
    /// Repeating the request cannot help.
    pub const FATAL: Self = Self::FailBefore(ErrorKind::Fatal);
    /// The request was not applied, and the caller cannot know that.
    pub const UNKNOWN_BEFORE: Self = Self::FailBefore(ErrorKind::Unknown);
    /// The request was applied, and the caller cannot know that.
    pub const UNKNOWN_AFTER: Self = Self::FailAfter(ErrorKind::Unknown);
}

#[derive(Default)]
pub(super) struct Script(Mutex<State>);

#[derive(Default)]
struct State {
    next: BTreeMap<Op, VecDeque<Fault>>,
    always: BTreeMap<Op, Fault>,
    held: Vec<Delivery>,
}

/// A request that is held back.
type Delivery = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Sends one request at each call. It hides the type of its future, so that faults are compiled once for each kind of
/// answer and not once for each provider.
pub(super) type Ask<T> = Arc<dyn Fn() -> Answer<T> + Send + Sync>;
type Answer<T> = Pin<Box<dyn Future<Output = Result<T, ProviderError>> + Send>>;

impl Script {
    pub(super) fn next(&self, op: Op, fault: Fault) {
        self.lock().next.entry(op).or_default().push_back(fault);
    }

    pub(super) fn always(&self, op: Op, fault: Fault) {
        self.lock().always.insert(op, fault);
    }

    pub(super) fn clear(&self) {
        let mut state = self.lock();
        state.next.clear();
        state.always.clear();
    }

    /// The fault that strikes the call that begins now.
    pub(super) fn due(&self, op: Op) -> Option<Fault> {
        let mut state = self.lock();
        let next = state.next.get_mut(&op).and_then(VecDeque::pop_front);
        next.or_else(|| state.always.get(&op).copied())
    }

    /// The answer to a request that this fault strikes.
    pub(super) async fn play<T: Send + 'static>(
        &self,
        fault: Option<Fault>,
        ask: Ask<T>,
    ) -> Result<T, ProviderError> {
        let Some(fault) = fault else {
            return ask().await;
        };
        match fault {
            Fault::LoseRequest => pending().await,
            Fault::Panic => std::panic::resume_unwind(Box::new("a fault panics")),
            Fault::FailBefore(kind) => Err(ProviderError::new(kind, "a fault refused the call")),
            Fault::LoseReply => {
                let _lost = in_task(ask()).await;
                pending().await
            }
            Fault::FailAfter(kind) => {
                let _lost = in_task(ask()).await;
                Err(ProviderError::new(kind, "a fault lost the reply"))
            }
            Fault::DelayRequest(by) => {
                in_task(Box::pin(async move {
                    sleep(by).await;
                    ask().await
                }))
                .await
            }
            Fault::DelayReply(by) => {
                let reply = in_task(ask()).await;
                sleep(by).await;
                reply
            }
            Fault::DuplicateAfter(after) => {
                let copy = ask();
                tokio::spawn(async move {
                    sleep(after).await;
                    let _copy = copy.await;
                });
                ask().await
            }
            Fault::HoldCopy => {
                let copy = ask();
                self.hold(async move {
                    let _copy = copy.await;
                });
                ask().await
            }
            Fault::HoldRequest => {
                let (reply, answered) = tokio::sync::oneshot::channel();
                self.hold(async move {
                    let _gone = reply.send(ask().await);
                });
                match answered.await {
                    Ok(result) => result,
                    Err(_forgotten) => pending().await,
                }
            }
        }
    }

    fn hold(&self, delivery: impl Future<Output = ()> + Send + 'static) {
        self.lock().held.push(Box::pin(delivery));
    }

    pub(super) fn held(&self) -> Vec<Delivery> {
        std::mem::take(&mut self.lock().held)
    }

    pub(super) fn held_count(&self) -> usize {
        self.lock().held.len()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics between two related changes.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs to completion even if the caller stops waiting.
async fn in_task<T: Send + 'static>(work: Answer<T>) -> Result<T, ProviderError> {
    match tokio::spawn(work).await {
        Ok(done) => done,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        // The runtime is shutting down, and this future with it.
        Err(_cancelled) => pending().await,
    }
}
