//! Wake-ups: hints that a lock may be free. Never truth: a lost hint costs a waiter at most a poll interval.

use tokio::sync::mpsc;

use crate::Name;

/// One hint.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a hint is about one name or about all"
)]
pub enum Wakeup {
    /// This name may be free.
    Name(Name),
    /// Any name may be free: hints may have been missed.
    Everyone,
}

/// A stream of [`Wakeup`]s from a provider. It ends when its channel to the store breaks; the frontend then watches
/// anew and wakes all waiters.
#[derive(Debug)]
pub struct Wakeups(mpsc::Receiver<Wakeup>);

/// The provider's end of [`Wakeups`].
#[derive(Clone, Debug)]
pub struct WakeupSender(mpsc::Sender<Wakeup>);

impl Wakeups {
    /// A stream and its sender, with room for `capacity` hints (at least 1).
    #[must_use]
    pub fn channel(capacity: usize) -> (WakeupSender, Self) {
        let (sender, receiver) = mpsc::channel(capacity.max(1));
        (WakeupSender(sender), Self(receiver))
    }

    /// The next hint; `None` when the stream has ended.
    ///
    /// # Cancel safety
    /// Cancel safe: a dropped call has taken no hint.
    pub async fn next(&mut self) -> Option<Wakeup> {
        self.0.recv().await
    }
}

impl WakeupSender {
    /// Sends a hint without waiting. Returns `false` when the stream was dropped *or* is full: then drop the sender,
    /// so that the stream ends and all waiters are woken.
    #[must_use]
    pub fn send(&self, wakeup: Wakeup) -> bool {
        self.0.try_send(wakeup).is_ok()
    }

    /// Whether the stream was dropped.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// Whether the next hint would find no room: the earlier ones have not been read yet.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.0.capacity() == 0
    }

    /// Resolves when the stream was dropped.
    pub async fn closed(&self) {
        self.0.closed().await;
    }
}
