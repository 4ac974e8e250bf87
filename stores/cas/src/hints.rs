//! From changes of keys to wake-ups of waiters.

use dlock_core::provider::{Wakeup, WakeupSender};

use crate::{key::Keys, record};

/// Takes a store's reports of changed keys. Reports are hints: a lost one costs a waiter one poll interval, a
/// superfluous one a request.
#[derive(Debug)]
pub struct Hints {
    sender: WakeupSender,
    keys: Keys,
}

impl Hints {
    pub(crate) const fn new(sender: WakeupSender, keys: Keys) -> Self {
        Self { sender, keys }
    }

    /// The key has these contents now; `None` if it was deleted. Hints at releases of marked terms (N3), and at
    /// contents that cannot be read. Returns `false` when no receiver is left, or none reads in time: then stop, and
    /// drop the hints.
    #[must_use]
    pub fn changed(&self, key: &str, bytes: Option<&[u8]>) -> bool {
        let is_no_news =
            |bytes| record::read(bytes).is_ok_and(|record| !record.released || record.wanted == 0);
        if bytes.is_some_and(is_no_news) {
            return !self.sender.is_closed();
        }
        match self.keys.name(key) {
            Some(name) => self.sender.send(Wakeup::Name(name)),
            None => !self.sender.is_closed(),
        }
    }

    /// Changes may have been missed: every waiter tries again. Returns as [`changed`](Self::changed) does.
    #[must_use]
    pub fn missed(&self) -> bool {
        self.sender.send(Wakeup::Everyone)
    }

    /// Resolves when no receiver is left.
    ///
    /// # Cancel safety
    /// Cancel safe: it only waits.
    pub async fn closed(&self) {
        self.sender.closed().await;
    }
}
