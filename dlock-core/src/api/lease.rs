//! One term in the hands of its holder, renewed by hand.

use std::{fmt, ops::Deref, sync::Arc};

use crate::{
    Error, FencingToken, Guard, LeaseView, ProviderError, ReleaseEnd, Ticket,
    api::scope,
    lease::{Holding, at_home, renewal},
};

/// A granted lock, to be renewed and released by hand. [`Lease::keep_alive`] turns it into a
/// [`Guard`], which renews itself.
///
/// The lease ends automatically unless it is renewed: check [`is_valid`](LeaseView::is_valid) before acting, and pass
/// the [token](LeaseView::token) to whatever stores the effects. Not `Clone`: one term has one holder. (`clone()`
/// clones its [`LeaseView`].)
///
/// Dropping it releases the lock in the background, in a task on the runtime that acquired it. The drop neither
/// blocks nor panics, on any thread. If that runtime has ended, or ends before the release has, others wait until the
/// lease expires; so they do for a lease that is dropped when `main` returns. There, await [`Lease::release`], or
/// [`Client::close`](crate::Client::close) after the drop.
#[must_use = "a lease that is dropped is released at once"]
pub struct Lease(pub(crate) Holding);

impl Lease {
    /// Extends the lease by its duration, counted from now: one renewal attempt of at most a sixth
    /// of the lease.
    ///
    /// # Errors
    /// [`Error::Lost`] if the lease has ended or the store refused the renewal. [`Error::Provider`] if there was no
    /// answer. That is **not** a loss: the lease stays valid until its deadline, so try again after a short pause
    /// while [`is_valid`](LeaseView::is_valid).
    ///
    /// # Cancel safety
    /// The attempt runs to its answer, in a task if this future is dropped; a success counts then too.
    pub async fn renew(&mut self) -> Result<(), Error> {
        let term = self.0.term();
        // Twice the attempt's own limit.
        let bound = || 2 * term.plan.attempt();
        let renewed = Arc::clone(term);
        let work = Box::pin(async move {
            let answer = renewal::attempt(&renewed).await;
            // Our own clock, not the store, decides whether that came in time.
            renewed
                .over()
                .map_or(answer.map_err(Error::from), |loss| Err(loss.into()))
        });
        let cut_off = ProviderError::unknown("the renewal was cut off");
        match at_home(term, bound, work).await {
            Some(Ok(answer)) => answer,
            Some(Err(ended)) => Err(cut_off.with_source(ended).into()),
            None => Err(cut_off.into()),
        }
    }

    /// Releases the lock. The lease is invalid from the first poll of this call on.
    ///
    /// If another caller waits for the lock on the runtime that acquired the lease, the lock passes to the first waiter
    /// in line there, without a call to the store, and this returns at once. That continues for a limited time, or for
    /// sixteen leases in a row, 128 if they follow within an instant. Then the lock goes back to the store.
    ///
    /// With `at_least`, and before that time has passed, no waiter gets the lock: the name is closed until then.
    ///
    /// If the store is called, this waits until it has answered, or must have let the lease expire: at most one
    /// duration. The release runs on the runtime that acquired the lease. If it is awaited on another runtime and no
    /// thread drives the first, it ends as [`ReleaseEnd::Unconfirmed`] a little after that: the lease has run out by
    /// then. That takes a timer of the runtime that awaits it.
    ///
    /// # Errors
    /// [`Error::Provider`] if the store answered that it can never release this lease
    /// ([`Fatal`](crate::ErrorKind::Fatal)); others wait until the lease expires.
    ///
    /// # Cancel safety
    /// Dropping the future stops only the wait for the outcome, not the release.
    pub async fn release(self) -> Result<ReleaseEnd, Error> {
        self.0.release().await
    }

    /// Releases the lock after work that was **not done** and that another process may do: the name is open at once,
    /// with `at_least` too. Without `at_least` this is the same as [`Lease::release`].
    ///
    /// # Errors
    /// As for [`Lease::release`].
    ///
    /// # Cancel safety
    /// As for [`Lease::release`].
    pub async fn release_open(self) -> Result<ReleaseEnd, Error> {
        self.0.term().leaves_open();
        self.0.release().await
    }

    /// Ends this handle and leaves the lock to the process that redeems the ticket, which may be any process:
    /// [`DLock::redeem`](crate::DLock::redeem). End the work first: from here on the lease is invalid and not renewed,
    /// and nothing is sent. Until the ticket is redeemed no process holds the lock, and no other contender gets it
    /// before the lease runs out.
    ///
    /// With `at_least` the ticket carries the remainder of that time, since its redeemer continues the same work
    /// ([`Ticket`]).
    ///
    /// A renewal in flight may still extend the lease by one duration; redeeming then takes one more round trip.
    ///
    /// # Errors
    /// [`Error::Lost`] if the lease has ended already: there is nothing to hand over.
    pub fn hand_over(self) -> Result<Ticket, Error> {
        self.0.hand_over()
    }

    /// Runs the work while the lease is renewed, and releases the lock when the work has ended, as
    /// [`DLock::with`](crate::DLock::with) does. It serves leases that were acquired in any way: with a limit, by a
    /// single try, or by a ticket.
    ///
    /// ```no_run
    /// # // no_run: needs a provider, and this crate has none.
    /// # use std::time::Duration;
    /// # use dlock_core::{DLock, FencingToken, TryAcquire};
    /// # async fn example(lock: DLock) -> Result<(), Box<dyn std::error::Error>> {
    /// # async fn write(_: FencingToken) -> Result<u64, std::io::Error> { Ok(0) }
    /// let limit = Duration::from_secs(2);
    /// let rows = lock.acquire_timeout(limit).await?.with(async |token| write(token).await).await??;
    ///
    /// match lock.try_acquire().await? {
    ///     TryAcquire::Acquired(lease) => drop(lease.with(async |token| write(token).await).await??),
    ///     TryAcquire::Held(holder) => println!("{} is at it", holder.record.owner),
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Lost`] as for [`DLock::with`](crate::DLock::with); also if the lease has ended already: then the work
    /// does not begin.
    ///
    /// # Cancel safety
    /// Dropping the future drops the work, then releases the lock in the background.
    pub async fn with<F, Fut, T>(self, work: F) -> Result<T, Error>
    where
        F: FnOnce(FencingToken) -> Fut,
        Fut: Future<Output = T>,
    {
        scope::run(self.keep_alive(), work).await
    }

    /// [`Lease::with`] for work that returns a `Result` whose error can hold an [`Error`]: one `?`
    /// instead of two.
    ///
    /// # Errors
    /// The work's own error, or those of [`Lease::with`].
    ///
    /// # Cancel safety
    /// As for [`Lease::with`].
    pub async fn with_result<F, Fut, T, E>(self, work: F) -> Result<T, E>
    where
        F: FnOnce(FencingToken) -> Fut,
        Fut: Future<Output = Result<T, E>>,
        E: From<Error>,
    {
        self.with(work).await?
    }

    /// Renews the lease from now on, until the guard is released, dropped or lost.
    pub fn keep_alive(self) -> Guard {
        Guard::new(self.0)
    }
}

impl Deref for Lease {
    type Target = LeaseView;

    fn deref(&self) -> &LeaseView {
        self.0.view()
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let term = self.0.term();
        f.debug_struct("Lease")
            .field("name", &term.name)
            .field("token", &term.token)
            .field("remaining", &term.remaining())
            .finish_non_exhaustive()
    }
}
