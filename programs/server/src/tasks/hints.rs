//! One stream of hints from the store, shared by all listeners for the same tasks.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use dlock_core::{ProviderError, provider::Wakeup};
use dlock_tasks::{Claim, TaskStore};
use tokio::sync::broadcast::WeakSender;

use crate::hints::Listener;

/// The tasks that a claim is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Wanted {
    queues: Vec<String>,
    kinds: Option<Vec<String>>,
}

impl From<&Claim> for Wanted {
    fn from(claim: &Claim) -> Self {
        Self {
            queues: claim.queues.clone(),
            kinds: claim.kinds.clone(),
        }
    }
}

/// The listeners' meeting point. The store is listened to as long as there is a listener.
pub(super) struct Hints {
    store: Arc<dyn TaskStore>,
    open: Mutex<HashMap<Wanted, WeakSender<Wakeup>>>,
}

impl Hints {
    pub(super) fn new(store: Arc<dyn TaskStore>) -> Self {
        Self {
            store,
            open: Mutex::default(),
        }
    }

    /// Tasks that come after the return of this call are heard, or the listener ends. `None` if the store has no
    /// hints.
    pub(super) async fn listen(&self, claim: &Claim) -> Result<Option<Listener>, ProviderError> {
        let wanted = Wanted::from(claim);
        if let Some(listener) = self.join(&wanted) {
            return Ok(Some(listener));
        }
        let Some(wakeups) = self.store.watch(claim).await? else {
            return Ok(None);
        };
        let (sender, listener) = Listener::share(wakeups);
        // If another listener has opened one meanwhile, there are two for a while.
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.insert(wanted, sender);
        Ok(Some(listener))
    }

    fn join(&self, wanted: &Wanted) -> Option<Listener> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, sender| sender.strong_count() > 0);
        Some(Listener::of(&open.get(wanted)?.upgrade()?))
    }
}
