//! One term that renews itself.

use std::{fmt, ops::Deref, sync::Arc};

use crate::{
    Error, LeaseView, ReleaseEnd, Ticket, lease::Holding, renewals::Schedulers, testing::Event,
};

/// A granted lock that is renewed for as long as the guard lives.
///
/// Renewals can fail. The holder learns that it lost the lock *before* another client can get it: watch
/// [`ended`](LeaseView::ended), or check [`is_valid`](LeaseView::is_valid), and stop working when the lease has
/// ended. [`DLock::with`](crate::DLock::with) does that for you.
///
/// Dropping a guard releases the lock in the background, as dropping a [`Lease`](crate::Lease) does. A guard that is
/// dropped when `main` returns does **not** release its lock, since its runtime ends there: await [`Guard::release`],
/// or [`Client::close`](crate::Client::close) after the drop.
#[must_use = "a guard that is dropped releases its lock at once"]
pub struct Guard(Holding);

impl Guard {
    pub(crate) fn new(holding: Holding) -> Self {
        let term = holding.term();
        term.record(Event::KeptAlive);
        Schedulers::keep(term);
        Self(holding)
    }

    /// Ends the protection of the work and releases the lock; see [`Lease::release`](crate::Lease::release). End the
    /// work first.
    ///
    /// # Errors
    /// As for [`Lease::release`](crate::Lease::release).
    ///
    /// # Cancel safety
    /// As for [`Lease::release`](crate::Lease::release).
    pub async fn release(self) -> Result<ReleaseEnd, Error> {
        self.0.release().await
    }

    /// Releases the lock after work that was not done and that another process may do; see
    /// [`Lease::release_open`](crate::Lease::release_open).
    ///
    /// # Errors
    /// As for [`Lease::release`](crate::Lease::release).
    ///
    /// # Cancel safety
    /// As for [`Lease::release`](crate::Lease::release).
    pub async fn release_open(self) -> Result<ReleaseEnd, Error> {
        self.leave_open();
        self.0.release().await
    }

    /// Declares that the work was not done: however the guard ends from here on, dropped or released, the name is
    /// open at once, with `at_least` too.
    pub fn leave_open(&self) {
        self.0.term().leaves_open();
    }

    /// Ends the guard and leaves the lock to the process that redeems the ticket; see
    /// [`Lease::hand_over`](crate::Lease::hand_over). Futures of [`ended`](LeaseView::ended) resolve with
    /// [`EndCause::HandedOver`](crate::EndCause::HandedOver). End the work first.
    ///
    /// # Errors
    /// As for [`Lease::hand_over`](crate::Lease::hand_over).
    pub fn hand_over(self) -> Result<Ticket, Error> {
        self.0.hand_over()
    }

    /// Whether the store itself has answered that the term has ended.
    pub(crate) fn was_refused(&self) -> bool {
        self.0.term().was_refused()
    }

    /// The longest that [`DLock::with`](crate::DLock::with) waits for a release that begins now: one attempt, and no
    /// longer than the lease lasts. After that another client may hold the lock.
    pub(crate) fn release_patience(&self) -> impl Future<Output = ()> + Send + use<> {
        let term = Arc::clone(self.0.term());
        let patience = term.plan.attempt().min(term.remaining());
        async move { term.store.clock.pause(patience).await }
    }
}

impl Deref for Guard {
    type Target = LeaseView;

    fn deref(&self) -> &LeaseView {
        self.0.view()
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let term = self.0.term();
        f.debug_struct("Guard")
            .field("name", &term.name)
            .field("token", &term.token)
            .field("state", &term.state())
            .finish_non_exhaustive()
    }
}
