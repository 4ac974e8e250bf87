//! The place where the clones of one provider meet.

use std::{
    any::Any,
    fmt,
    sync::{Arc, Mutex, PoisonError, Weak},
};

/// A slot that a provider carries, so that all its clones find the same [`Client`](crate::Client) automatically:
/// without a global, and without keeping the client alive.
///
/// Put one into the provider, derive `Clone`, and return it from
/// [`Provider::sharing`](crate::Provider::sharing). A clone with changed settings must carry a
/// fresh one ([`Sharing::default`]), and a wrapper must not forward it: otherwise requests would bypass the changed
/// settings, or the wrapper.
#[derive(Clone, Default)]
pub struct Sharing(Arc<Mutex<Option<Weak<dyn Any + Send + Sync>>>>);

impl Sharing {
    /// The value in the slot, or what `make` builds if the slot is empty or its value is not `usable`; under one
    /// lock, so that two callers cannot make two.
    pub(crate) fn get_or_make<T: Any + Send + Sync>(
        &self,
        usable: impl FnOnce(&T) -> bool,
        make: impl FnOnce() -> Arc<T>,
    ) -> Arc<T> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = slot.as_ref().and_then(Weak::upgrade);
        known
            .and_then(|known| known.downcast().ok())
            .filter(|known| usable(known))
            .unwrap_or_else(|| {
                let made = make();
                let weak: Weak<T> = Arc::downgrade(&made);
                *slot = Some(weak);
                made
            })
    }
}

impl fmt::Debug for Sharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sharing")
    }
}
