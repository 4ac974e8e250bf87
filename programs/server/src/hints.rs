//! One stream of wake-ups from the store, shared by all listeners.

use std::sync::Arc;

use dlock_core::{
    ProviderError,
    provider::{Admin, Wakeup, Wakeups},
};
use tokio::sync::{Mutex, broadcast};

/// How many hints a listener may be behind. Beyond that, every name may be free as far as it knows.
const BEHIND: usize = 1_024;

/// The listeners' meeting point. The store is listened to as long as there is a listener.
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

    /// Releases after the return of this call are heard, or the listener ends. `None` if the store has no hints.
    pub(crate) async fn listen(&self) -> Result<Option<Listener>, ProviderError> {
        let mut open = self.open.lock().await;
        if let Some(sender) = open.as_ref().and_then(broadcast::WeakSender::upgrade) {
            return Ok(Some(Listener::of(&sender)));
        }
        let Some(wakeups) = self.provider.watch().await? else {
            return Ok(None);
        };
        let (sender, listener) = Listener::share(wakeups);
        *open = Some(sender);
        Ok(Some(listener))
    }
}

impl Listener {
    /// The first listener to a stream, and the sender through which others join. The stream is dropped when the
    /// last listener is.
    pub(crate) fn share(mut wakeups: Wakeups) -> (broadcast::WeakSender<Wakeup>, Self) {
        let (sender, receiver) = broadcast::channel(BEHIND);
        let others = sender.downgrade();
        drop(tokio::spawn(async move {
            loop {
                tokio::select! {
                    wakeup = wakeups.next() => match wakeup {
                        // No listener is left: the next one begins anew.
                        Some(wakeup) => drop(sender.send(wakeup)),
                        // Its listeners end with the sender, and open another stream.
                        None => return,
                    },
                    () = sender.closed() => return,
                }
            }
        }));
        (others, Self(receiver))
    }

    /// One more listener.
    pub(crate) fn of(sender: &broadcast::Sender<Wakeup>) -> Self {
        Self(sender.subscribe())
    }

    /// Forgets the hints that have come.
    pub(crate) fn skip(&mut self) {
        self.0 = self.0.resubscribe();
    }

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
