//! Who renews a term, as far as the term knows.

use std::sync::atomic::{AtomicI64, Ordering};

use super::Term;
use crate::time::HolderInstant;

/// Renews terms.
pub(crate) trait Keeper: Send + Sync {
    /// This term has ended: it is renewed no more, and nothing remembers it (V7, H7).
    fn leave(&self, term: &Term);
}

/// Where its keeper finds a term: the instant it waits for. Means something to the keeper only.
#[derive(Default)]
pub(crate) struct Seat(AtomicI64);

impl Seat {
    pub(crate) fn set(&self, at: HolderInstant) {
        self.0.store(at.to_bits(), Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> HolderInstant {
        HolderInstant::from_bits(self.0.load(Ordering::Relaxed))
    }
}
