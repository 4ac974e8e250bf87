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
/// The lease ends by itself when it is not renewed: ask [`is_valid`](LeaseView::is_valid) before acting, and hand
/// the [token](LeaseView::token) to whatever stores the effects. Not `Clone`: one term has one holder. (`clone()` clones its
/// [`LeaseView`].)
///
/// Dropping it gives it back in the background, in a task on the runtime that acquired it. That
/// neither blocks nor panics, from any thread. Where that runtime has ended, or ends before the release
/// has, others wait until the lease expires: so do they for a lease that is dropped when `main` returns.
/// Await [`Lease::release`] there, or [`Client::close`](crate::Client::close) after the drop.
#[must_use = "a lease that is dropped is given back at once"]
pub struct Lease(pub(crate) Holding);

impl Lease {
    /// Extends the lease by its duration, counted from now: one renewal attempt of at most a sixth
    /// of the lease.
    ///
    /// # Errors
    /// [`Error::Lost`] if the lease has ended or the store refused. [`Error::Provider`] if there was
    /// no answer: that is **not** a loss; the lease stays valid until its deadline, so try again
    /// after a short pause while [`is_valid`](LeaseView::is_valid).
    ///
    /// # Cancel safety
    /// The attempt runs to its answer, in a task if this future is dropped; a success counts then too.
    pub async fn renew(&mut self) -> Result<(), Error> {
        let term = self.0.term();
        // The attempt's own limit, and as much again.
        let bound = || 2 * term.plan.attempt();
        let renewed = Arc::clone(term);
        let work = Box::pin(async move {
            let answer = renewal::attempt(&renewed).await;
            // Our own word, not the store's, on whether that came in time.
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

    /// Gives the lock back. The lease is invalid from the first poll of this call on (V7).
    ///
    /// If somebody waits for it in this process, it goes to the first waiter in line there, without a call to the
    /// store (S1), and then this returns at once. So it goes for a while, or sixteen times in a row, 128 where that takes
    /// but an instant (S1, S3). Then it goes back to the store.
    ///
    /// With `at_least`, and before that time is over, it goes to nobody: the name is closed until then.
    ///
    /// Where the store is asked, this waits until it has answered, or must have let go by itself: at most one duration. The
    /// release runs on the runtime that acquired the lease. Awaited on another one it ends as
    /// [`ReleaseEnd::Unconfirmed`] a little after that, if nobody drives the first: the lease has run out
    /// then. That takes a timer of the runtime that awaits it.
    ///
    /// # Errors
    /// [`Error::Provider`] if the store answered that it can never release this
    /// ([`Fatal`](crate::ErrorKind::Fatal)); others wait until the lease expires.
    ///
    /// # Cancel safety
    /// Dropping the future does not stop the release, only the waiting for its outcome.
    pub async fn release(self) -> Result<ReleaseEnd, Error> {
        self.0.release().await
    }

    /// The same for work that was **not done** and that somebody else may do: with `at_least` too the
    /// name is open at once. Without it there is no difference.
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

    /// Ends this handle and leaves the lock to the redeemer of the ticket, in any process:
    /// [`DLock::redeem`](crate::DLock::redeem). End the work first: from here on the lease is invalid
    /// and not renewed, and nothing is sent (H7). Until the ticket is redeemed nobody holds the lock,
    /// and nobody else gets it before the lease runs out.
    ///
    /// With `at_least` the ticket carries what is left of that time, since its redeemer goes on with the same
    /// work ([`Ticket`]).
    ///
    /// A renewal that is under way may still extend that by one duration, and makes redeeming take a
    /// round trip more.
    ///
    /// # Errors
    /// [`Error::Lost`] if the lease has ended already: there is nothing to hand over.
    pub fn hand_over(self) -> Result<Ticket, Error> {
        self.0.hand_over()
    }

    /// Runs the work while the lease is renewed, and gives it back when the work has ended, as
    /// [`DLock::with`](crate::DLock::with) does. So any way to a lease can be the way to the work: with a
    /// limit, by asking once, or by a ticket.
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
    /// [`Error::Lost`] as of [`DLock::with`](crate::DLock::with); also if the lease has ended already: then
    /// the work does not begin.
    ///
    /// # Cancel safety
    /// Dropping the future drops the work, then gives the lock back in the background.
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
