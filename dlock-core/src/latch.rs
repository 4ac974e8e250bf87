//! A flag that is raised once, and whoever waits for it.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Wakes its waiters in the order in which they came: a `watch` channel wakes them in a random one,
/// and a simulation could not be repeated.
#[derive(Default)]
pub(crate) struct Latch {
    raised: AtomicBool,
    ring: Notify,
}

impl Latch {
    pub(crate) fn raise(&self) {
        self.raised.store(true, Ordering::SeqCst);
        self.ring.notify_waiters();
    }

    pub(crate) fn is_raised(&self) -> bool {
        self.raised.load(Ordering::SeqCst)
    }

    /// Resolves when the flag is raised.
    pub(crate) async fn raised(&self) {
        // Armed before the question, so that no ring is missed.
        let mut ring = std::pin::pin!(self.ring.notified());
        ring.as_mut().enable();
        if !self.is_raised() {
            ring.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[tokio::test]
    async fn waiters_wake_in_their_order_and_latecomers_at_once() {
        let latch = Arc::new(Latch::default());
        let order = Arc::new(Mutex::new(Vec::new()));
        let waiters: Vec<_> = (0..32)
            .map(|number| {
                let (latch, order) = (Arc::clone(&latch), Arc::clone(&order));
                tokio::spawn(async move {
                    latch.raised().await;
                    order.lock().unwrap().push(number);
                })
            })
            .collect();
        tokio::task::yield_now().await;
        assert!(!latch.is_raised());
        latch.raise();
        for waiter in waiters {
            waiter.await.unwrap();
        }
        assert!(order.lock().unwrap().is_sorted());
        latch.raised().await;
    }
}
