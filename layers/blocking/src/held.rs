//! One term in the hands of a thread.

use std::{fmt, time::Duration};

use dlock_core::{End, Error, FencingToken, ReleaseEnd, State, Ticket};
use tokio::time::timeout;

use crate::Runtime;

/// A granted lock, to be renewed and released by hand: [`dlock_core::Lease`], for threads that wait.
///
/// Dropping it releases the lock, and waits for that: at most a sixth of the lease, and no longer than the lease lasts.
#[must_use = "a lease that is dropped is released at once"]
pub struct Lease(Held<dlock_core::Lease>);

/// A granted lock that is renewed for as long as the guard lives: [`dlock_core::Guard`], for threads that wait.
///
/// A renewal can fail, and the holder can know it *before* any other process can have the lock: check
/// [`Guard::is_valid`] between the steps of the work, pause with [`Guard::sleep`], or act with [`Guard::on_loss`].
///
/// Dropping it does the same as dropping a [`Lease`].
#[must_use = "a guard that is dropped gives its lock back at once"]
pub struct Guard(Held<dlock_core::Guard>);

/// The common part of a lease and a guard: they live on a runtime, and end there.
struct Held<H: Handle> {
    /// `None` once this handle has ended the term itself.
    handle: Option<H>,
    runtime: Runtime,
    duration: Duration,
}

/// A handle of the core that can be released.
trait Handle {
    fn remaining(&self) -> Duration;
    fn release(self) -> impl Future<Output = Result<ReleaseEnd, Error>> + Send + 'static;
}

impl Handle for dlock_core::Lease {
    fn remaining(&self) -> Duration {
        (**self).remaining()
    }

    fn release(self) -> impl Future<Output = Result<ReleaseEnd, Error>> + Send + 'static {
        self.release()
    }
}

impl Handle for dlock_core::Guard {
    fn remaining(&self) -> Duration {
        (**self).remaining()
    }

    fn release(self) -> impl Future<Output = Result<ReleaseEnd, Error>> + Send + 'static {
        self.release()
    }
}

impl Lease {
    pub(crate) const fn new(
        lease: dlock_core::Lease,
        runtime: Runtime,
        duration: Duration,
    ) -> Self {
        Self(Held {
            handle: Some(lease),
            runtime,
            duration,
        })
    }

    /// The fencing token of this lease.
    #[must_use]
    pub fn token(&self) -> FencingToken {
        self.0.get().token()
    }

    /// Whether the holder may still act; see [`dlock_core::LeaseView::is_valid`].
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.0.get().is_valid()
    }

    /// The remaining time of the lease; zero once it has ended.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.0.get().remaining()
    }

    /// Extends the lease by its duration, counted from now: one attempt of at most a sixth of the lease.
    ///
    /// # Errors
    /// As for [`dlock_core::Lease::renew`]: [`Error::Lost`] if it has ended; [`Error::Provider`] if there was no
    /// answer, which is **not** a loss.
    pub fn renew(&mut self) -> Result<(), Error> {
        let Held {
            handle, runtime, ..
        } = &mut self.0;
        runtime.block_on(there_mut(handle).renew())
    }

    /// Releases the lock, and waits until the store has answered or must have let go: at most one duration.
    ///
    /// # Errors
    /// As for [`dlock_core::Lease::release`].
    pub fn release(self) -> Result<ReleaseEnd, Error> {
        self.0.end(dlock_core::Lease::release)
    }

    /// The same for work that was **not done** and that another process may do; see
    /// [`dlock_core::Lease::release_open`].
    ///
    /// # Errors
    /// As for [`dlock_core::Lease::release`].
    pub fn release_open(self) -> Result<ReleaseEnd, Error> {
        self.0.end(dlock_core::Lease::release_open)
    }

    /// Ends this handle and leaves the lock to the redeemer of the ticket; see [`dlock_core::Lease::hand_over`].
    ///
    /// # Errors
    /// [`Error::Lost`] if the lease has ended already.
    pub fn hand_over(mut self) -> Result<Ticket, Error> {
        self.0.take().hand_over()
    }

    /// Runs the work while the lease is renewed, and releases it when the work has ended, or has panicked.
    ///
    /// The work runs on this thread, to its end: if the lease is lost meanwhile, only the guard shows it.
    ///
    /// # Errors
    /// [`Error::Lost`] if the lease ended before the work had: the result of the work is dropped, and `work_finished`
    /// is set; or if the lease has ended already: then the work does not begin.
    pub fn with<T>(self, work: impl FnOnce(&Guard) -> T) -> Result<T, Error> {
        let guard = self.keep_alive();
        if let State::Ended(loss) = guard.state() {
            return Err(loss.into());
        }
        let value = work(&guard);
        let state = guard.state();
        drop(guard);
        match state {
            State::Ended(mut loss) => {
                loss.work_finished = true;
                Err(loss.into())
            }
            State::Valid | State::Unsure => Ok(value),
        }
    }

    /// [`Lease::with`] for work that returns a `Result` whose error can hold an [`Error`]: one `?`
    /// instead of two.
    ///
    /// # Errors
    /// The work's own error, or those of [`Lease::with`].
    pub fn with_result<T, E: From<Error>>(
        self,
        work: impl FnOnce(&Guard) -> Result<T, E>,
    ) -> Result<T, E> {
        self.with(work)?
    }

    /// Renews the lease from now on, until the guard is released, dropped or lost.
    pub fn keep_alive(mut self) -> Guard {
        Guard(Held {
            handle: Some(self.0.take().keep_alive()),
            runtime: self.0.runtime.clone(),
            duration: self.0.duration,
        })
    }
}

impl Guard {
    /// The fencing token of this lease.
    #[must_use]
    pub fn token(&self) -> FencingToken {
        self.0.get().token()
    }

    /// Whether the holder may still act; see [`dlock_core::LeaseView::is_valid`].
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.0.get().is_valid()
    }

    /// The remaining time of the lease if no further renewal succeeds; zero once it has ended.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.0.get().remaining()
    }

    /// Valid, unsure or lost, computed from the clock at every call.
    #[must_use]
    pub fn state(&self) -> State {
        self.0.get().state()
    }

    /// Whether another client has asked the holder to release the lock when it can.
    #[must_use]
    pub fn asked(&self) -> bool {
        self.0.get().asked()
    }

    /// Pauses the work for this long. If the lease ends meanwhile, returns then, with how it ended.
    ///
    /// # Panics
    /// On a thread of an async runtime.
    #[must_use = "it tells that the lease has ended"]
    pub fn sleep(&self, pause: Duration) -> Option<End> {
        let ended = self.0.get().ended();
        self.0
            .runtime
            .block_on(async { timeout(pause, ended).await.ok() })
    }

    /// Calls `act` on another thread when the lease is lost, within milliseconds of its deadline, to stop whatever the
    /// work waits for. Does nothing if this handle ends the lease.
    ///
    /// A process that is paused, or a machine that is very busy, acts late. Only a resource that
    /// checks the token is safe from that.
    pub fn on_loss(&self, act: impl FnOnce(End) + Send + 'static) {
        self.0.runtime.on_loss(self.0.get().ended(), act);
    }

    /// Ends the work's protection and releases the lock; see [`Lease::release`].
    ///
    /// # Errors
    /// As for [`dlock_core::Lease::release`].
    pub fn release(self) -> Result<ReleaseEnd, Error> {
        self.0.end(dlock_core::Guard::release)
    }

    /// The same for work that was not done and that another process may do; see [`Lease::release_open`].
    ///
    /// # Errors
    /// As for [`dlock_core::Lease::release`].
    pub fn release_open(self) -> Result<ReleaseEnd, Error> {
        self.0.end(dlock_core::Guard::release_open)
    }

    /// Ends the guard and leaves the lock to the redeemer of the ticket; see [`Lease::hand_over`].
    ///
    /// # Errors
    /// [`Error::Lost`] if the lease has ended already.
    pub fn hand_over(mut self) -> Result<Ticket, Error> {
        self.0.take().hand_over()
    }
}

impl<H: Handle> Held<H> {
    fn get(&self) -> &H {
        match &self.handle {
            Some(handle) => handle,
            None => gone(),
        }
    }

    fn take(&mut self) -> H {
        match self.handle.take() {
            Some(handle) => handle,
            None => gone(),
        }
    }

    fn end<T, F: Future<Output = T>>(mut self, end: impl FnOnce(H) -> F) -> T {
        let handle = self.take();
        self.runtime.block_on(end(handle))
    }
}

impl<H: Handle> Drop for Held<H> {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            // Waits as long as the async `with` does for its release.
            let patience = (self.duration / 6).min(handle.remaining());
            self.runtime.settle(handle.release(), patience);
        }
    }
}

fn there_mut<H>(handle: &mut Option<H>) -> &mut H {
    match handle {
        Some(handle) => handle,
        None => gone(),
    }
}

fn gone() -> ! {
    unreachable!("a handle is taken by what ends it, and by nothing else")
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0.get(), f)
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0.get(), f)
    }
}
