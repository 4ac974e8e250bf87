//! The renewer of a term, as far as the term knows it.

use std::sync::atomic::{AtomicI64, Ordering};

use super::Term;
use crate::time::HolderInstant;

/// Renews terms.
pub(crate) trait Renewer: Send + Sync {
    /// This term has ended: it is no longer renewed, and the renewer forgets it.
    fn remove(&self, term: &Term);
}

/// A term's key in its renewer's timer queue: the instant that it waits for.
#[derive(Default)]
pub(crate) struct QueueKey(AtomicI64);

impl QueueKey {
    pub(crate) fn set(&self, at: HolderInstant) {
        self.0.store(at.to_bits(), Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> HolderInstant {
        HolderInstant::from_bits(self.0.load(Ordering::Relaxed))
    }
}
