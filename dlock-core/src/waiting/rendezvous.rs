//! A rendezvous channel for one value that the sender can take back: it brings a result from the work to its caller and
//! loses nothing. A value that the caller does not take comes back to the task, or is dropped, which releases the lease
//! in it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// A pair of ends for one value.
pub(crate) fn rendezvous<T>() -> (Sender<T>, Receiver<T>) {
    let slot = Arc::new(Slot {
        phase: Mutex::new(Phase::Empty),
        to_sender: Notify::new(),
        to_receiver: Notify::new(),
    });
    (Sender(Arc::clone(&slot)), Receiver(slot))
}

/// The task's end.
pub(crate) struct Sender<T>(Arc<Slot<T>>);

/// The caller's end. Dropping it drops a value that was offered.
pub(crate) struct Receiver<T>(Arc<Slot<T>>);

/// The outcome for the caller.
pub(crate) enum Received<T> {
    /// The value.
    Value(T),
    /// The value was offered and taken back, since the caller did not come for it in time.
    TakenBack,
    /// The task ended without a value: its runtime shut down, or it panicked.
    CallerGone,
}

struct Slot<T> {
    phase: Mutex<Phase<T>>,
    to_sender: Notify,
    to_receiver: Notify,
}

enum Phase<T> {
    Empty,
    Offered(T),
    TakenBack,
    SenderGone,
    ReceiverGone,
}

impl<T> Sender<T> {
    /// Resolves when the caller has gone away.
    pub(crate) async fn abandoned(&self) {
        self.0
            .sender_waits(|phase| matches!(phase, Phase::ReceiverGone))
            .await;
    }

    /// Leaves the value for the caller, without waiting for it.
    pub(crate) fn put(self, value: T) {
        let mut phase = self.0.phase();
        if matches!(*phase, Phase::Empty) {
            *phase = Phase::Offered(value);
        }
    }

    /// Ends without a value: the caller has to start anew.
    pub(crate) fn send_back(self) {
        let mut phase = self.0.phase();
        if matches!(*phase, Phase::Empty) {
            *phase = Phase::TakenBack;
        }
    }

    /// Offers the value for as long as `patience` lasts. Returns it if the caller did not come for it.
    pub(crate) async fn send(self, value: T, patience: impl Future<Output = ()>) -> Option<T> {
        match &mut *self.0.phase() {
            Phase::ReceiverGone => return Some(value),
            phase => *phase = Phase::Offered(value),
        }
        self.0.to_receiver.notify_one();
        tokio::select! {
            biased;
            () = self.0.sender_waits(|phase| !matches!(phase, Phase::Offered(_))) => {}
            () = patience => {}
        }
        let mut phase = self.0.phase();
        match std::mem::replace(&mut *phase, Phase::TakenBack) {
            Phase::Offered(value) => Some(value),
            other => {
                *phase = other;
                None
            }
        }
    }
}

impl<T> Receiver<T> {
    /// Waits for the value.
    pub(crate) async fn recv(&mut self) -> Received<T> {
        loop {
            {
                let mut phase = self.0.phase();
                match std::mem::replace(&mut *phase, Phase::ReceiverGone) {
                    Phase::Offered(value) => {
                        drop(phase);
                        self.0.to_sender.notify_waiters();
                        return Received::Value(value);
                    }
                    Phase::TakenBack => return Received::TakenBack,
                    Phase::SenderGone => return Received::CallerGone,
                    other => *phase = other,
                }
            }
            // A permit is kept if the sender rings between the check above and this line.
            self.0.to_receiver.notified().await;
        }
    }
}

impl<T> Slot<T> {
    /// More than one task may wait here at a time.
    async fn sender_waits(&self, done: impl Fn(&Phase<T>) -> bool) {
        loop {
            let mut rung = std::pin::pin!(self.to_sender.notified());
            rung.as_mut().enable();
            if done(&self.phase()) {
                return;
            }
            rung.await;
        }
    }

    fn phase(&self) -> MutexGuard<'_, Phase<T>> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let mut phase = self.0.phase();
        if matches!(*phase, Phase::Empty) {
            *phase = Phase::SenderGone;
        }
        drop(phase);
        self.0.to_receiver.notify_one();
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut phase = self.0.phase();
        let previous = std::mem::replace(&mut *phase, Phase::ReceiverGone);
        drop(phase);
        self.0.to_sender.notify_waiters();
        // Last: dropping a lease takes other locks.
        drop(previous);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn value_reaches_its_receiver() {
        let (sender, mut receiver) = rendezvous();
        let giving = tokio::spawn(sender.send(7, std::future::pending()));
        assert!(matches!(receiver.recv().await, Received::Value(7)));
        assert_eq!(giving.await.unwrap(), None);
    }

    #[tokio::test]
    async fn value_nobody_receives_comes_back() {
        let (sender, mut receiver) = rendezvous();
        assert_eq!(sender.send(7, std::future::ready(())).await, Some(7));
        assert!(matches!(receiver.recv().await, Received::TakenBack));
    }

    #[tokio::test]
    async fn receiver_that_is_sent_back_is_told_so() {
        let (sender, mut receiver) = rendezvous::<()>();
        sender.send_back();
        assert!(matches!(receiver.recv().await, Received::TakenBack));
    }

    #[tokio::test]
    async fn dropped_receiver_drops_the_value_or_hands_it_back() {
        let (sender, receiver) = rendezvous::<Arc<()>>();
        drop(receiver);
        sender.abandoned().await;
        assert!(
            sender
                .send(Arc::default(), std::future::pending())
                .await
                .is_some()
        );

        let (sender, receiver) = rendezvous();
        let value = Arc::new(());
        let offered = Arc::clone(&value);
        let giving = tokio::spawn(sender.send(offered, std::future::pending()));
        while !matches!(*receiver.0.phase(), Phase::Offered(_)) {
            tokio::task::yield_now().await;
        }
        drop(receiver);
        assert!(giving.await.unwrap().is_none());
        assert_eq!(Arc::strong_count(&value), 1);
    }

    #[tokio::test]
    async fn sender_that_dies_is_noticed() {
        let (sender, mut receiver) = rendezvous::<()>();
        drop(sender);
        assert!(matches!(receiver.recv().await, Received::CallerGone));
    }
}
