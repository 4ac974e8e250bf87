//! Handing a result from a task of ours to the caller who asked for it, in a way that loses
//! nothing: what nobody takes comes back, or is dropped where its drop gives it back (G1, W6).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// A pair of ends for one value.
pub(crate) fn handoff<T>() -> (Giver<T>, Taker<T>) {
    let slot = Arc::new(Slot {
        phase: Mutex::new(Phase::Empty),
        to_giver: Notify::new(),
        to_taker: Notify::new(),
    });
    (Giver(Arc::clone(&slot)), Taker(slot))
}

/// The task's end.
pub(crate) struct Giver<T>(Arc<Slot<T>>);

/// The caller's end. Dropping it drops a value that was offered.
pub(crate) struct Taker<T>(Arc<Slot<T>>);

/// What the caller finds.
pub(crate) enum Taken<T> {
    /// The value.
    Value(T),
    /// It was offered and taken back, since nobody came for it.
    GivenBack,
    /// The task ended without a value: its runtime shut down, or it panicked.
    Gone,
}

struct Slot<T> {
    phase: Mutex<Phase<T>>,
    to_giver: Notify,
    to_taker: Notify,
}

enum Phase<T> {
    Empty,
    Offered(T),
    GivenBack,
    GiverGone,
    TakerGone,
}

impl<T> Giver<T> {
    /// Resolves when the caller has gone away.
    pub(crate) async fn abandoned(&self) {
        self.0
            .giver_waits(|phase| matches!(phase, Phase::TakerGone))
            .await;
    }

    /// Leaves the value for whenever the caller comes.
    pub(crate) fn leave(self, value: T) {
        let mut phase = self.0.phase();
        if matches!(*phase, Phase::Empty) {
            *phase = Phase::Offered(value);
        }
    }

    /// There is no value, and the caller has to ask anew.
    pub(crate) fn send_back(self) {
        let mut phase = self.0.phase();
        if matches!(*phase, Phase::Empty) {
            *phase = Phase::GivenBack;
        }
    }

    /// Offers the value for as long as `patience` lasts. Returns it if nobody came for it.
    pub(crate) async fn give(self, value: T, patience: impl Future<Output = ()>) -> Option<T> {
        match &mut *self.0.phase() {
            Phase::TakerGone => return Some(value),
            phase => *phase = Phase::Offered(value),
        }
        self.0.to_taker.notify_one();
        tokio::select! {
            biased;
            () = self.0.giver_waits(|phase| !matches!(phase, Phase::Offered(_))) => {}
            () = patience => {}
        }
        let mut phase = self.0.phase();
        match std::mem::replace(&mut *phase, Phase::GivenBack) {
            Phase::Offered(value) => Some(value),
            other => {
                *phase = other;
                None
            }
        }
    }
}

impl<T> Taker<T> {
    /// Waits for the value.
    pub(crate) async fn take(&mut self) -> Taken<T> {
        loop {
            {
                let mut phase = self.0.phase();
                match std::mem::replace(&mut *phase, Phase::TakerGone) {
                    Phase::Offered(value) => {
                        drop(phase);
                        self.0.to_giver.notify_waiters();
                        return Taken::Value(value);
                    }
                    Phase::GivenBack => return Taken::GivenBack,
                    Phase::GiverGone => return Taken::Gone,
                    other => *phase = other,
                }
            }
            // A permit is kept if the giver rings between the look and this line.
            self.0.to_taker.notified().await;
        }
    }
}

impl<T> Slot<T> {
    /// More than one may wait here at a time.
    async fn giver_waits(&self, done: impl Fn(&Phase<T>) -> bool) {
        loop {
            let mut rung = std::pin::pin!(self.to_giver.notified());
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

impl<T> Drop for Giver<T> {
    fn drop(&mut self) {
        let mut phase = self.0.phase();
        if matches!(*phase, Phase::Empty) {
            *phase = Phase::GiverGone;
        }
        drop(phase);
        self.0.to_taker.notify_one();
    }
}

impl<T> Drop for Taker<T> {
    fn drop(&mut self) {
        let mut phase = self.0.phase();
        let left = std::mem::replace(&mut *phase, Phase::TakerGone);
        drop(phase);
        self.0.to_giver.notify_waiters();
        // Last: dropping a lease takes other locks.
        drop(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn value_reaches_its_taker() {
        let (giver, mut taker) = handoff();
        let giving = tokio::spawn(giver.give(7, std::future::pending()));
        assert!(matches!(taker.take().await, Taken::Value(7)));
        assert_eq!(giving.await.unwrap(), None);
    }

    #[tokio::test]
    async fn value_nobody_takes_comes_back() {
        let (giver, mut taker) = handoff();
        assert_eq!(giver.give(7, std::future::ready(())).await, Some(7));
        assert!(matches!(taker.take().await, Taken::GivenBack));
    }

    #[tokio::test]
    async fn dropped_taker_drops_the_value_or_hands_it_back() {
        let (giver, taker) = handoff::<Arc<()>>();
        drop(taker);
        giver.abandoned().await;
        assert!(
            giver
                .give(Arc::default(), std::future::pending())
                .await
                .is_some()
        );

        let (giver, taker) = handoff();
        let value = Arc::new(());
        let offered = Arc::clone(&value);
        let giving = tokio::spawn(giver.give(offered, std::future::pending()));
        while !matches!(*taker.0.phase(), Phase::Offered(_)) {
            tokio::task::yield_now().await;
        }
        drop(taker);
        assert!(giving.await.unwrap().is_none());
        assert_eq!(Arc::strong_count(&value), 1);
    }

    #[tokio::test]
    async fn giver_that_dies_is_noticed() {
        let (giver, mut taker) = handoff::<()>();
        drop(giver);
        assert!(matches!(taker.take().await, Taken::Gone));
    }
}
