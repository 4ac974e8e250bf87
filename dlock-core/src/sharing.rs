//! Where the clones of one provider meet.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use crate::client::Shared;

/// A slot that a provider carries, so that all its clones find the same [`Client`](crate::Client)
/// by themselves: without a global, and without keeping the client alive.
///
/// Put one into the provider, derive `Clone`, and return it from
/// [`Provider::sharing`](crate::Provider::sharing). A clone with changed settings must carry a
/// fresh one ([`Sharing::default`]), and a wrapper must not forward it: both would send their
/// requests past their own settings.
#[derive(Clone, Default)]
pub struct Sharing(Arc<Mutex<Weak<Shared>>>);

impl Sharing {
    /// The client in the slot, or the one that `make` builds if there is none or it was closed;
    /// under one lock, so that two callers cannot make two.
    pub(crate) fn client(&self, make: impl FnOnce() -> Arc<Shared>) -> Arc<Shared> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slot.upgrade()
            .filter(|shared| !shared.is_closed())
            .unwrap_or_else(|| {
                let made = make();
                *slot = Arc::downgrade(&made);
                made
            })
    }
}

impl fmt::Debug for Sharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sharing")
    }
}
