//! A view of a term that can be shared: whether it still holds, and futures that resolve when that changes.

#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc, time::Duration};

use uuid::Uuid;

use crate::{End, FencingToken, Guard, State, lease::Term};

/// Whether a guarded lease still holds, for everybody who works under it. Made by
/// [`Guard::watch`].
///
/// Cheap to clone. It only watches: it neither renews nor keeps anything held, and after the guard
/// itself is gone it says that the lease has ended.
#[derive(Clone)]
pub struct LeaseWatch(Arc<Term>);

impl LeaseWatch {
    pub(crate) fn new(term: &Arc<Term>) -> Self {
        Self(Arc::clone(term))
    }

    /// The fencing token of the lease.
    #[must_use]
    pub fn token(&self) -> FencingToken {
        self.0.token
    }

    /// Identity of the term.
    #[must_use]
    pub fn uuid(&self) -> Uuid {
        self.0.uuid
    }

    /// Whether the holder may still act; see [`Lease::is_valid`](crate::Lease::is_valid).
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.0.is_valid()
    }

    /// How much of the lease is left if no further renewal succeeds; zero once it has ended.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.0.remaining()
    }

    /// Valid, unsure or lost, computed from the clock at every call (V8).
    #[must_use]
    pub fn state(&self) -> State {
        self.0.state()
    }

    /// Whether somebody has asked for the lock; see [`Guard::asked`].
    #[must_use]
    pub fn asked(&self) -> bool {
        self.0.asked()
    }

    /// Resolves when the lease has ended; see [`Guard::ended`]. Borrows nothing.
    ///
    /// # Cancel safety
    /// Cancel safe: it only watches.
    pub fn ended(&self) -> impl Future<Output = End> + Send + use<> {
        let term = Arc::clone(&self.0);
        async move { term.ended().await }
    }

    /// Resolves when the lease is unsure or has ended; see [`Guard::unsure`]. Borrows nothing.
    ///
    /// # Cancel safety
    /// Cancel safe: it only watches.
    pub fn unsure(&self) -> impl Future<Output = ()> + Send + use<> {
        let term = Arc::clone(&self.0);
        async move { term.unsure().await }
    }

    /// Resolves when the lease is valid without doubt again, or has ended (V8). Borrows nothing.
    ///
    /// # Cancel safety
    /// Cancel safe: it only watches.
    pub fn settled(&self) -> impl Future<Output = ()> + Send + use<> {
        let term = Arc::clone(&self.0);
        async move {
            watch(&term, || !matches!(term.state(), State::Unsure)).await;
        }
    }

    /// How long ago the request left that the lease rests on: the acquire, or the last renewal that
    /// succeeded in time.
    #[must_use]
    pub fn since_success(&self) -> Duration {
        self.0.since_success()
    }

    /// Resolves when a renewal has succeeded after this call, or the lease has ended. Borrows nothing.
    ///
    /// # Cancel safety
    /// Cancel safe: it only watches.
    pub fn renewed(&self) -> impl Future<Output = ()> + Send + use<> {
        let term = Arc::clone(&self.0);
        let before = term.credited();
        async move {
            watch(&term, || term.credited() != before || !term.is_valid()).await;
        }
    }

    /// Resolves when somebody has asked for the lock (B3), which a renewal tells, or the lease has
    /// ended. Borrows nothing.
    ///
    /// # Cancel safety
    /// Cancel safe: it only watches.
    pub fn until_asked(&self) -> impl Future<Output = ()> + Send + use<> {
        let term = Arc::clone(&self.0);
        async move {
            watch(&term, || term.asked() || !term.is_valid()).await;
        }
    }
}

/// Looks at every change of the term, and when it ends by the clock.
async fn watch(term: &Term, done: impl Fn() -> bool) {
    loop {
        let mut changed = std::pin::pin!(term.changed());
        changed.as_mut().enable();
        if done() {
            return;
        }
        tokio::select! {
            biased;
            () = changed => {}
            _ = term.ended() => {}
        }
    }
}

impl Guard {
    /// A view of this lease that can be cloned and handed to everything that works under it.
    #[must_use]
    pub fn watch(&self) -> LeaseWatch {
        LeaseWatch::new(self.term())
    }
}

impl fmt::Debug for LeaseWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseWatch")
            .field("name", &self.0.name)
            .field("token", &self.0.token)
            .field("state", &self.0.state())
            .finish_non_exhaustive()
    }
}
