//! One stream of wake-ups from the store, for everybody who wants to hear it.

use std::sync::Arc;

use dlock_core::{
    ProviderError,
    provider::{Admin, Wakeup},
};
use tokio::sync::{Mutex, broadcast};

/// How many hints a listener may be behind. More, and every name may be free to it.
const BEHIND: usize = 1_024;

/// Where listeners meet. The store is listened to as long as there is one.
pub(crate) struct Hints {
    provider: Arc<dyn Admin>,
    open: Mutex<Option<broadcast::WeakSender<Wakeup>>>,
}

/// A listener's end.
pub(crate) struct Listener(broadcast::Receiver<Wakeup>);

impl Hints {
    pub(crate) fn new(provider: Arc<dyn Admin>) -> Self {
        Self {
            provider,
            open: Mutex::new(None),
        }
    }

    /// What is released from the return of this call on is heard, or the listener ends. `None` if the store has no
    /// hints.
    pub(crate) async fn listen(&self) -> Result<Option<Listener>, ProviderError> {
        let mut open = self.open.lock().await;
        if let Some(sender) = open.as_ref().and_then(broadcast::WeakSender::upgrade) {
            return Ok(Some(Listener(sender.subscribe())));
        }
        let Some(mut wakeups) = self.provider.watch().await? else {
            return Ok(None);
        };
        let (sender, receiver) = broadcast::channel(BEHIND);
        *open = Some(sender.downgrade());
        drop(tokio::spawn(async move {
            loop {
                tokio::select! {
                    wakeup = wakeups.next() => match wakeup {
                        // Nobody hears it: the next one who listens begins anew.
                        Some(wakeup) => drop(sender.send(wakeup)),
                        // Its listeners end with the sender, and open another stream.
                        None => return,
                    },
                    () = sender.closed() => return,
                }
            }
        }));
        Ok(Some(Listener(receiver)))
    }
}

impl Listener {
    /// The next hint; `None` if the stream from the store has ended.
    ///
    /// # Cancel safety
    /// A dropped call has taken no hint.
    pub(crate) async fn next(&mut self) -> Option<Wakeup> {
        match self.0.recv().await {
            Ok(wakeup) => Some(wakeup),
            Err(broadcast::error::RecvError::Lagged(_)) => Some(Wakeup::Everyone),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}
