//! A view of a lease: whether it is still valid, and futures that resolve when that changes.

#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc, time::Duration};

use uuid::Uuid;

use super::Term;
use crate::{End, FencingToken, Name, State};

/// A read-only view of a lease. A [`Lease`](crate::Lease) and a [`Guard`](crate::Guard) are views of their own lease;
/// [`LeaseView::view`] makes one for code that works under the lease.
///
/// Cheap to clone. A view neither renews the lease nor keeps it held. Once the lease or guard itself is gone, the
/// view reports that the lease has ended.
#[derive(Clone)]
pub struct LeaseView(Arc<Term>);

impl LeaseView {
    pub(crate) const fn new(term: Arc<Term>) -> Self {
        Self(term)
    }

    pub(crate) const fn term(&self) -> &Arc<Term> {
        &self.0
    }

    /// A view that outlives the borrow of this one.
    #[must_use]
    pub fn view(&self) -> Self {
        self.clone()
    }

    /// The name that is locked.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.0.name
    }

    /// The fencing token of this lease.
    #[must_use]
    pub fn token(&self) -> FencingToken {
        self.0.token
    }

    /// Identity of the term. Leases of one process may follow one another on a term, with a token each.
    #[must_use]
    pub fn uuid(&self) -> Uuid {
        self.0.uuid
    }

    /// Whether the holder may still act. Computed from the clock at every call, in well under a microsecond; once
    /// false, always false.
    ///
    /// True means that no other client can have the lock *at this instant*. Only a resource that checks the token can
    /// decide whether a write that starts now is still in time when it arrives (T4).
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.0.is_valid()
    }

    /// How much of the lease is left if no further renewal succeeds; zero once it has ended.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.0.remaining()
    }

    /// Valid, unsure or ended, computed from the clock at every call.
    #[must_use]
    pub fn state(&self) -> State {
        self.0.state()
    }

    /// Whether another client has asked the holder to release the lock when it can (B3). Seen in the answer to a
    /// renewal. It is a polite request; nothing happens if it is ignored.
    #[must_use]
    pub fn asked(&self) -> bool {
        self.0.asked()
    }

    /// The age of the request that the lease rests on, counted from when it was sent: the acquire, or the last
    /// renewal that succeeded in time.
    #[must_use]
    pub fn since_success(&self) -> Duration {
        self.0.since_success()
    }

    /// Resolves when the lease has ended, with the cause. A loss ([`End::is_loss`]) is reported within milliseconds of
    /// the deadline on an idle runtime, even while a renewal hangs; a lease that was released or dropped ends with
    /// [`EndCause::Released`](crate::EndCause::Released), which is no loss. Borrows nothing, so it can be used in a
    /// `select!` next to `lease.renew()`.
    ///
    /// # Cancel safety
    /// Cancel safe: it only watches.
    pub fn ended(&self) -> impl Future<Output = End> + Send + use<> {
        let term = Arc::clone(&self.0);
        async move { term.ended().await }
    }

    /// Resolves when the lease is unsure or has ended: time to drain the work. Call [`LeaseView::state`] to learn
    /// which; an unsure lease can become valid again. Borrows nothing.
    ///
    /// # Cancel safety
    /// Cancel safe: it only watches.
    pub fn unsure(&self) -> impl Future<Output = ()> + Send + use<> {
        let term = Arc::clone(&self.0);
        async move { term.unsure().await }
    }

    /// Resolves when the lease is no longer unsure, or has ended. Borrows nothing.
    ///
    /// # Cancel safety
    /// Cancel safe: it only watches.
    pub fn settled(&self) -> impl Future<Output = ()> + Send + use<> {
        let term = Arc::clone(&self.0);
        async move {
            watch(&term, || !matches!(term.state(), State::Unsure)).await;
        }
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

    /// Resolves when another client has asked for the lock (B3), as the answer to a renewal reports, or the lease has
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

/// Checks at every change of the term, and when it ends by the clock.
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

impl fmt::Debug for LeaseView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseView")
            .field("name", &self.0.name)
            .field("token", &self.0.token)
            .field("state", &self.0.state())
            .finish_non_exhaustive()
    }
}
