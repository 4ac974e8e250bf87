//! One term that renews itself.

use std::{fmt, sync::Arc, time::Duration};

use uuid::Uuid;

use crate::{
    End, Error, FencingToken, Name, ReleaseEnd, State, Ticket,
    lease::{Holding, Term},
    renewals::Schedulers,
    testing::Event,
};

/// A granted lock that is renewed for as long as the guard lives.
///
/// Renewing can fail, and the holder learns it *before* anybody else can have the lock: watch
/// [`Guard::ended`] (or ask [`Guard::is_valid`]) and stop working when it says so.
/// [`DLock::with`](crate::DLock::with) does that for you.
///
/// Dropping a guard gives the lock back in the background, as dropping a [`Lease`](crate::Lease) does. A
/// guard that is dropped when `main` returns is **not** given back, since its runtime ends there: await
/// [`Guard::release`], or [`Client::close`](crate::Client::close) after the drop.
#[must_use = "a guard that is dropped gives its lock back at once"]
pub struct Guard(Holding);

impl Guard {
    pub(crate) fn new(holding: Holding) -> Self {
        let term = holding.term();
        term.emit(|uuid, token| Event::KeptAlive { uuid, token });
        Schedulers::keep(term);
        Self(holding)
    }

    /// What is locked.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.0.term().name
    }

    /// The fencing token of this lease.
    #[must_use]
    pub fn token(&self) -> FencingToken {
        self.0.term().token
    }

    /// Identity of this term.
    #[must_use]
    pub fn uuid(&self) -> Uuid {
        self.0.term().uuid
    }

    /// Whether the holder may still act; see [`Lease::is_valid`](crate::Lease::is_valid).
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.0.term().is_valid()
    }

    /// How much of the lease is left if no further renewal succeeds; zero once it has ended.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.0.term().remaining()
    }

    /// Valid, unsure or lost, computed from the clock at every call (V8).
    #[must_use]
    pub fn state(&self) -> State {
        self.0.term().state()
    }

    /// Somebody has asked the holder to give the lock back when it can (B3). Seen in the answer to
    /// a renewal. A polite request; nothing happens if it is ignored.
    #[must_use]
    pub fn asked(&self) -> bool {
        self.0.term().asked()
    }

    /// Resolves when the lease has ended, with the cause. A loss ([`End::is_loss`]) is told within milliseconds of
    /// the deadline on an idle runtime, also while a renewal hangs (V5, I8); a guard that was released or dropped
    /// ends with [`EndCause::Released`](crate::EndCause::Released), which is no loss. Borrows nothing.
    ///
    /// # Cancel safety
    /// Cancel safe: it only watches.
    pub fn ended(&self) -> impl Future<Output = End> + Send + use<> {
        let term = Arc::clone(self.0.term());
        async move { term.ended().await }
    }

    /// Resolves when the lease is unsure or lost (V8): time to drain the work. Ask
    /// [`Guard::state`] which; an unsure lease can become valid again. Borrows nothing.
    ///
    /// # Cancel safety
    /// Cancel safe: it only watches.
    pub fn unsure(&self) -> impl Future<Output = ()> + Send + use<> {
        let term = Arc::clone(self.0.term());
        async move { term.unsure().await }
    }

    /// Ends the work's protection and gives the lock back; see
    /// [`Lease::release`](crate::Lease::release). End the work first.
    ///
    /// # Errors
    /// As for [`Lease::release`](crate::Lease::release).
    ///
    /// # Cancel safety
    /// As for [`Lease::release`](crate::Lease::release).
    pub async fn release(self) -> Result<ReleaseEnd, Error> {
        self.0.release().await
    }

    /// The same for work that was not done and that somebody else may do; see
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

    /// The work was not done: however the guard ends from here on, dropped or released, the name is open at once, with
    /// `at_least` too.
    pub fn leave_open(&self) {
        self.0.term().leaves_open();
    }

    /// Ends the guard and leaves the lock to the process that redeems the ticket; see
    /// [`Lease::hand_over`](crate::Lease::hand_over). Futures of [`Guard::ended`] resolve with
    /// [`EndCause::HandedOver`](crate::EndCause::HandedOver). End the work first.
    ///
    /// # Errors
    /// As for [`Lease::hand_over`](crate::Lease::hand_over).
    pub fn hand_over(self) -> Result<Ticket, Error> {
        self.0.hand_over()
    }

    pub(crate) fn term(&self) -> &Arc<Term> {
        self.0.term()
    }

    /// The store itself has answered that the term has ended.
    pub(crate) fn was_refused(&self) -> bool {
        self.0.term().was_refused()
    }

    /// The longest that [`DLock::with`](crate::DLock::with) waits for a release that begins now: one
    /// attempt, and no longer than the lease lasts. After that somebody else may hold the lock.
    pub(crate) fn release_patience(&self) -> impl Future<Output = ()> + Send + use<> {
        let term = Arc::clone(self.0.term());
        let patience = term.plan.attempt().min(term.remaining());
        async move { term.store.clock.pause(patience).await }
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
