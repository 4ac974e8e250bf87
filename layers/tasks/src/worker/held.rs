//! The lease of a task, held for as long as any part of its handler runs.

use std::sync::{Arc, Mutex, PoisonError};

use dlock_core::Guard;

/// A share of the guard of a task: its worker and its handler have one each. The lease is released when the last share
/// is dropped, so never while a handler still runs that the worker no longer waits for, such as a blocking one whose
/// worker was dropped.
#[derive(Clone)]
pub(super) struct Held(Arc<Mutex<Option<Guard>>>);

impl Held {
    pub(super) fn new(guard: Guard) -> Self {
        Self(Arc::new(Mutex::new(Some(guard))))
    }

    /// Keeps the lease in the store until the ending arrives: there is no release, which would give the task to another
    /// worker, and there are no more heartbeats. For the handler, the lease has ended.
    pub(super) fn leave(&self) {
        let guard = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        // On an error, the lease is already lost, and the store will say so.
        drop(guard.map(Guard::hand_over));
    }
}
