//! Whether the caller no longer waits for an answer. A `CancellationToken` says the same; but it takes a lock for
//! each check and each handle, and an acquire checks a dozen times.

use std::{
    pin::pin,
    sync::atomic::{AtomicBool, Ordering},
};

use tokio::sync::Notify;

#[derive(Default)]
pub(crate) struct CallerGone {
    is_cancelled: AtomicBool,
    rung: Notify,
}

impl CallerGone {
    /// The caller no longer waits.
    pub(super) fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::SeqCst);
        self.rung.notify_waiters();
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::SeqCst)
    }

    /// Resolves when the caller no longer waits.
    pub(super) async fn cancelled(&self) {
        let mut rung = pin!(self.rung.notified());
        // Armed before the check.
        rung.as_mut().enable();
        if !self.is_cancelled() {
            rung.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::poll_once;

    #[test]
    fn who_waits_for_it_and_who_comes_later_learn_of_it() {
        let gone = CallerGone::default();
        let mut waits = pin!(gone.cancelled());
        assert_eq!(poll_once(waits.as_mut()), None);
        assert!(!gone.is_cancelled());
        gone.cancel();
        assert_eq!(poll_once(waits.as_mut()), Some(()));
        assert_eq!(poll_once(pin!(gone.cancelled())), Some(()));
        assert!(gone.is_cancelled());
    }
}
