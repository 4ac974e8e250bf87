//! Which call meets which fault, and the requests that a fault keeps back.

use std::{
    collections::{BTreeMap, VecDeque},
    future::Future,
    pin::Pin,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use dlock_core::ErrorKind;

use super::log::Op;

/// What happens to one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The request never reaches the store, and the call hangs for ever.
    LoseRequest,
    /// The store applies the request, and the call hangs for ever.
    LoseReply,
    /// The request never reaches the store; the call fails with this kind.
    FailBefore(ErrorKind),
    /// The store applies the request; the call fails with this kind all the same.
    FailAfter(ErrorKind),
    /// The request reaches the store so much later, whether or not the caller still waits.
    DelayRequest(Duration),
    /// The store applies the request at once; the reply arrives so much later.
    DelayReply(Duration),
    /// The call is answered as usual, and the store gets the same request once more so much later.
    DuplicateAfter(Duration),
    /// The call is answered as usual; a copy waits for [`Faulty::deliver`](super::Faulty::deliver).
    HoldCopy,
    /// The request waits for [`Faulty::deliver`](super::Faulty::deliver), and the caller with it.
    HoldRequest,
}

impl Fault {
    /// The store is too busy: certainly nothing happened.
    pub const THROTTLED: Self = Self::FailBefore(ErrorKind::NotApplied);
    /// A retry cannot help.
    pub const FATAL: Self = Self::FailBefore(ErrorKind::Fatal);
    /// Nothing was applied, and the caller cannot know it.
    pub const UNKNOWN_BEFORE: Self = Self::FailBefore(ErrorKind::Unknown);
    /// It was applied, and the caller cannot know it.
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

/// A request that is kept back.
type Delivery = Pin<Box<dyn Future<Output = ()> + Send>>;

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

    /// The fault that the call beginning now meets.
    pub(super) fn due(&self, op: Op) -> Option<Fault> {
        let mut state = self.lock();
        let next = state.next.get_mut(&op).and_then(VecDeque::pop_front);
        next.or_else(|| state.always.get(&op).copied())
    }

    pub(super) fn hold(&self, delivery: impl Future<Output = ()> + Send + 'static) {
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
