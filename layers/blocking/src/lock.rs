//! The lock, for threads that wait.

use std::time::Duration;

use dlock_core::{BuildError, Client, Error, FencingToken, Holder, Name, Record, Ticket};

use crate::{Guard, Lease, Runtime};

/// A distributed lock for programs without async: [`dlock_core::DLock`], whose page says what it promises. Made by
/// [`Runtime::lock`].
///
/// Cheap to clone; clones are the same lock.
///
/// # Panics
/// Every method that waits for the store or for the lock panics on a thread of an async runtime.
#[derive(Clone, Debug)]
pub struct DLock {
    lock: dlock_core::DLock,
    runtime: Runtime,
}

/// Answer to [`DLock::try_acquire`].
#[derive(Debug)]
#[must_use = "an acquired lease that is dropped is released at once"]
#[expect(
    clippy::exhaustive_enums,
    reason = "either we have it or another client does"
)]
pub enum TryAcquire {
    /// It is ours.
    Acquired(Lease),
    /// It is held, or closed: see [`Record::is_closed`].
    Held(Holder),
}

/// How a ticket is redeemed; see [`dlock_core::Redeem`]. Made by [`DLock::redeem`].
#[derive(Clone, Copy, Debug)]
#[must_use = "nothing is sent before `once`, `wait` or `within`"]
pub struct Redeem<'a> {
    lock: &'a DLock,
    ticket: &'a Ticket,
}

impl Runtime {
    /// This lock, for threads that wait.
    #[must_use]
    pub fn lock(&self, lock: dlock_core::DLock) -> DLock {
        DLock::new(lock, self.clone())
    }
}

impl DLock {
    const fn new(lock: dlock_core::DLock, runtime: Runtime) -> Self {
        Self { lock, runtime }
    }

    /// A lock with the same settings over the same client, under another name.
    ///
    /// # Errors
    /// [`BuildError::Name`] if the text is not a name.
    pub fn named(&self, name: impl AsRef<str>) -> Result<Self, BuildError> {
        Ok(self.like(self.lock.named(name)?))
    }

    /// The same lock with another label for people; see [`dlock_core::DLock::owned_by`].
    ///
    /// # Errors
    /// [`BuildError::Owner`] if the text cannot be a label.
    pub fn owned_by(&self, owner: impl Into<String>) -> Result<Self, BuildError> {
        Ok(self.like(self.lock.owned_by(owner)?))
    }

    /// The same lock with other data for its next leases; see [`dlock_core::DLock::carrying`].
    ///
    /// # Errors
    /// [`BuildError::Data`] if it is more than 4096 bytes.
    pub fn carrying(&self, data: impl Into<Vec<u8>>) -> Result<Self, BuildError> {
        Ok(self.like(self.lock.carrying(data)?))
    }

    /// Tries once, ahead of all waiters. A refusal is no error.
    ///
    /// # Errors
    /// As for [`dlock_core::DLock::try_acquire`].
    pub fn try_acquire(&self) -> Result<TryAcquire, Error> {
        self.answer(self.lock.try_acquire())
    }

    /// Waits until the lock is ours: first come, first served among the waiters of this process.
    ///
    /// # Errors
    /// As for [`dlock_core::DLock::acquire`].
    pub fn acquire(&self) -> Result<Lease, Error> {
        self.lease(self.lock.acquire())
    }

    /// Waits, but no longer than `limit` in all. A zero limit tries once.
    ///
    /// # Errors
    /// As for [`dlock_core::DLock::acquire_timeout`]: [`Error::Timeout`] when the time is up.
    pub fn acquire_timeout(&self, limit: Duration) -> Result<Lease, Error> {
        self.lease(self.lock.acquire_timeout(limit))
    }

    /// Continues a lease that was handed over, ahead of all waiters; see [`dlock_core::DLock::redeem`].
    pub const fn redeem<'a>(&'a self, ticket: &'a Ticket) -> Redeem<'a> {
        Redeem { lock: self, ticket }
    }

    /// Waits until the lock is ours, and renews it from then on.
    ///
    /// # Errors
    /// As for [`DLock::acquire`].
    pub fn hold(&self) -> Result<Guard, Error> {
        Ok(self.acquire()?.keep_alive())
    }

    /// Waits for the lock, runs the work while it is held and renewed, and releases it when the work has ended, or has
    /// panicked. See [`Lease::with`].
    ///
    /// # Errors
    /// [`Error::Lost`] if the lease ended before the work had. Otherwise as for [`DLock::acquire`].
    pub fn with<T>(&self, work: impl FnOnce(&Guard) -> T) -> Result<T, Error> {
        self.acquire()?.with(work)
    }

    /// [`DLock::with`] for work that returns a `Result` whose error can hold an [`Error`]: one `?`
    /// instead of two.
    ///
    /// # Errors
    /// The work's own error, or those of [`DLock::with`].
    pub fn with_result<T, E: From<Error>>(
        &self,
        work: impl FnOnce(&Guard) -> Result<T, E>,
    ) -> Result<T, E> {
        self.with(work)?
    }

    /// The record as the store has it, without acquiring; `None` if the lock was never held.
    ///
    /// # Errors
    /// As for [`dlock_core::DLock::read`].
    pub fn read(&self) -> Result<Option<Record>, Error> {
        self.runtime.block_on(self.lock.read())
    }

    /// Makes the next grants carry a token above this one; see [`dlock_core::DLock::raise_floor`].
    pub fn raise_floor(&self, highest: FencingToken) {
        self.lock.raise_floor(highest);
    }

    /// The name of the lock.
    #[must_use]
    pub fn name(&self) -> &Name {
        self.lock.name()
    }

    /// The label people see; decides nothing.
    #[must_use]
    pub fn owner(&self) -> &str {
        self.lock.owner()
    }

    /// The lease's duration.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.lock.duration()
    }

    /// The client that the locks of this process share; see [`dlock_core::Client`].
    #[must_use]
    pub fn client(&self) -> Client {
        self.lock.client()
    }

    fn like(&self, lock: dlock_core::DLock) -> Self {
        Self::new(lock, self.runtime.clone())
    }

    fn lease(
        &self,
        acquire: impl Future<Output = Result<dlock_core::Lease, Error>>,
    ) -> Result<Lease, Error> {
        let lease = self.runtime.block_on(acquire)?;
        Ok(self.held(lease))
    }

    fn answer(
        &self,
        ask: impl Future<Output = Result<dlock_core::TryAcquire, Error>>,
    ) -> Result<TryAcquire, Error> {
        Ok(match self.runtime.block_on(ask)? {
            dlock_core::TryAcquire::Acquired(lease) => TryAcquire::Acquired(self.held(lease)),
            dlock_core::TryAcquire::Held(holder) => TryAcquire::Held(holder),
        })
    }

    fn held(&self, lease: dlock_core::Lease) -> Lease {
        Lease::new(lease, self.runtime.clone(), self.lock.duration())
    }
}

impl Redeem<'_> {
    /// Tries once.
    ///
    /// # Errors
    /// As for [`dlock_core::Redeem::once`].
    pub fn once(self) -> Result<TryAcquire, Error> {
        self.lock.answer(self.lock.lock.redeem(self.ticket).once())
    }

    /// Tries, and waits for the lock if the ticket is worth nothing any more.
    ///
    /// # Errors
    /// As for [`dlock_core::Redeem::wait`].
    pub fn wait(self) -> Result<Lease, Error> {
        self.lock.lease(self.lock.lock.redeem(self.ticket).wait())
    }

    /// [`Redeem::wait`], but no longer than `limit` in all. A zero limit tries once.
    ///
    /// # Errors
    /// As for [`dlock_core::Redeem::within`].
    pub fn within(self, limit: Duration) -> Result<Lease, Error> {
        self.lock
            .lease(self.lock.lock.redeem(self.ticket).within(limit))
    }
}
