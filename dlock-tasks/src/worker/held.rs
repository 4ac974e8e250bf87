//! The lease of a task, held for as long as anything of its handler runs.

use std::sync::{Arc, Mutex, PoisonError};

use dlock_core::Guard;

/// A share of the guard of a task: its worker and its handler have one each. The lease is given back when the last
/// one goes, so never while a handler runs that nobody waits for any more, such as a blocking one whose worker was
/// dropped.
#[derive(Clone)]
pub(super) struct Held(Arc<Mutex<Option<Guard>>>);

impl Held {
    pub(super) fn new(guard: Guard) -> Self {
        Self(Arc::new(Mutex::new(Some(guard))))
    }

    /// The lease goes on in the store until the ending is there: no release, which would give the task to somebody
    /// else, and no more heartbeats. For the handler it has ended.
    pub(super) fn leave(&self) {
        let guard = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        // An error: it is lost by now, and the store will say so.
        drop(guard.map(Guard::hand_over));
    }
}
