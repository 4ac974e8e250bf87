//! The lock itself: a name and its settings over a client. The state of a term is kept by its lease.

#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc, time::Duration};

use crate::{
    BuildError, Client, Error, FencingToken, Guard, Holder, Lease, Name, Record, Ticket,
    events::Operation,
    lease::{Settings, checked_data, checked_owner},
    waiting::{self, Acquired, Wait},
};

/// A distributed lock: one holder at a time among all processes that use the same store and name.
///
/// Cheap to clone; clones are the same lock, and two leases of one process exclude each other just
/// as those of two machines do. Locks are not re-entrant.
///
/// # Guarantees and limits
/// A lease ends automatically when its holder dies. A holder learns that it lost the lease before another client can
/// get it, as long as its clock is at most 10 % wrong (with the default margin) and its process runs at all. A
/// process that is *paused* past its deadline may still believe in its lease for an instant after it wakes up, and a
/// request in flight may still arrive. If overlapping effects would be wrong rather than wasteful, pass the
/// [token](crate::LeaseView::token) to the storage and let it refuse older ones ([`Fence`](crate::Fence)).
///
/// # Panics
/// Every `async` method panics when polled outside a Tokio runtime with its time driver enabled.
#[derive(Clone)]
pub struct DLock(pub(crate) Arc<Settings>);

/// Answer to [`DLock::try_acquire`].
#[derive(Debug)]
#[must_use = "an acquired lease that is dropped is released at once"]
#[expect(
    clippy::exhaustive_enums,
    reason = "either we have it or another holder does"
)]
pub enum TryAcquire {
    /// The lock is ours.
    Acquired(Lease),
    /// Another holder has it, or it is closed: see [`Record::is_closed`].
    Held(Holder),
}

impl DLock {
    /// A lock with the same settings over the same client, under another name.
    ///
    /// # Errors
    /// [`BuildError::Name`] if `name` is not a valid name.
    pub fn named(&self, name: impl AsRef<str>) -> Result<Self, BuildError> {
        let store = &self.0.store;
        let name = Name::new(name)?;
        Ok(Self(Arc::new(Settings {
            state: store.names.get(&name, &store.clock),
            name,
            ..Settings::clone(&self.0)
        })))
    }

    /// The same lock with another label for people, such as one for each worker of a process. Its waiters stand in
    /// the same queue, and the two locks exclude each other as clones do.
    ///
    /// Other processes count those that take turns by the labels of the holders that they have seen. So to a process
    /// that has a label for each of its tasks, they leave the lock for longer between terms.
    ///
    /// ```
    /// # use dlock_core::{BuildError, DLock};
    /// # fn example(lock: &DLock) -> Result<(), BuildError> {
    /// let lock = lock.owned_by("worker-7")?.carrying("page 4")?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`BuildError::Owner`] if `owner` is not a valid label.
    pub fn owned_by(&self, owner: impl Into<String>) -> Result<Self, BuildError> {
        Ok(Self(Arc::new(Settings {
            owner: checked_owner(owner.into())?.into(),
            ..Settings::clone(&self.0)
        })))
    }

    /// The same lock with other data, which its next leases store next to it while they hold it. A lease that is
    /// already held keeps the data that it was acquired with.
    ///
    /// # Errors
    /// [`BuildError::Data`] if it is more than 4096 bytes.
    pub fn carrying(&self, data: impl Into<Vec<u8>>) -> Result<Self, BuildError> {
        Ok(Self(Arc::new(Settings {
            data: Some(checked_data(data.into())?.into()),
            ..Settings::clone(&self.0)
        })))
    }

    /// Tries once, ahead of all waiters. A refusal is not an error.
    ///
    /// For work that is to be done once per period, build the lock with `at_least`: without it, a short job also runs
    /// on every host whose clock gets there after the first one has finished.
    ///
    /// Repeated calls share what their [`Client`] has observed, so they take over from a dead holder after one
    /// duration, also on stores whose clock decides nothing
    /// ([`Discipline::Observer`](crate::provider::Discipline::Observer): DynamoDB). On those stores a *program* that
    /// tries once and exits loses what it has seen, and however often it is started, it never gets a dead holder's
    /// lock: give its client a place to keep its observations ([`Client::observations`]), or wait for longer than the
    /// record's duration ([`DLock::acquire_timeout`]). [`Holder::observed`] says how much of that duration has been
    /// seen so far. Where the store's clock ends leases, a single call gets a lock whose lease has run out.
    ///
    /// # Errors
    /// [`Error::Provider`] if the store gave no answer within half of the lease, or answered
    /// [`Fatal`](crate::ErrorKind::Fatal); [`Error::Closed`].
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind: the try runs to its answer in the background and releases what it
    /// got.
    pub async fn try_acquire(&self) -> Result<TryAcquire, Error> {
        self.once(None).await
    }

    /// Waits until the lock is ours: first come, first served among the waiters on one runtime of this process.
    /// Several runtimes of a process compete for the lock as several processes do.
    ///
    /// A grant that the caller does not pick up (poll for) within a sixth of the lease is released; the call then
    /// queues again when it is next polled.
    ///
    /// # Errors
    /// [`Error::Provider`] if the store answered [`Fatal`](crate::ErrorKind::Fatal), or did not
    /// answer at all for the time set by `give_up_after`; [`Error::Closed`].
    ///
    /// # Cancel safety
    /// Dropping the future gives up the place in the queue and leaves nothing behind: a try in flight runs to its
    /// answer in the background and releases what it got.
    pub async fn acquire(&self) -> Result<Lease, Error> {
        self.wait(None, None).await
    }

    /// Waits for the lock, but no longer than `limit` in all: queueing, retries and store calls included. A zero
    /// limit tries once.
    ///
    /// # Errors
    /// [`Error::Timeout`] when the limit has passed, with the last known holder of the lock; otherwise as
    /// [`DLock::acquire`].
    ///
    /// # Cancel safety
    /// As for [`DLock::acquire`].
    pub async fn acquire_timeout(&self, limit: Duration) -> Result<Lease, Error> {
        self.limited(limit, None).await
    }

    /// Waits until the lock is ours, and renews it from then on, until the guard is released or dropped. At the end
    /// of `main` the lock is released only if the release is awaited: see [`Guard`].
    ///
    /// # Errors
    /// As for [`DLock::acquire`].
    ///
    /// # Cancel safety
    /// As for [`DLock::acquire`].
    pub async fn hold(&self) -> Result<Guard, Error> {
        Ok(self.acquire().await?.keep_alive())
    }

    /// Waits for the lock, runs the work while the lock is held and renewed, and releases it when the work has ended.
    /// The work gets the fencing token of the lease. To wait no longer than a limit, or to try once, see
    /// [`Lease::with`].
    ///
    /// If the lease is lost, the work is dropped at its next await and the call fails: divide work that must not be
    /// cut in the middle into steps that each check the token at the storage. If the work panics, the lock is
    /// released first and then the panic continues. A store that does not answer the release delays the result by at
    /// most a sixth of the lease, and never past the end of the lease; the release continues in the background.
    ///
    /// ```no_run
    /// # // no_run: needs a provider, and this crate has none.
    /// # async fn example(lock: dlock_core::DLock) -> Result<(), Box<dyn std::error::Error>> {
    /// # async fn write(_: dlock_core::FencingToken) -> Result<u64, std::io::Error> { Ok(0) }
    /// let rows = lock.with(|token| async move { write(token).await }).await??;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Lost`] if the lease ended before the work had; its `work_finished` says whether the work ran to its
    /// end nevertheless, too late to be protected. Otherwise as for [`DLock::acquire`].
    ///
    /// # Cancel safety
    /// Dropping the future drops the work, then releases the lock in the background.
    pub async fn with<F, Fut, T>(&self, work: F) -> Result<T, Error>
    where
        F: FnOnce(FencingToken) -> Fut,
        Fut: Future<Output = T>,
    {
        self.acquire().await?.with(work).await
    }

    /// [`DLock::with`] for work that returns a `Result` whose error can hold an [`Error`]: one `?`
    /// instead of two.
    ///
    /// # Errors
    /// The work's own error, or those of [`DLock::with`].
    ///
    /// # Cancel safety
    /// As for [`DLock::with`].
    pub async fn with_result<F, Fut, T, E>(&self, work: F) -> Result<T, E>
    where
        F: FnOnce(FencingToken) -> Fut,
        Fut: Future<Output = Result<T, E>>,
        E: From<Error>,
    {
        self.with(work).await?
    }

    /// The record as the store has it, without acquiring: the holder of the lock, since when, its data; `None` if the
    /// lock was never held. The record may have changed when this returns.
    ///
    /// # Errors
    /// [`Error::Provider`] if the store gave no answer within a sixth of the lease.
    ///
    /// # Cancel safety
    /// Cancel safe: nothing changes.
    pub async fn read(&self) -> Result<Option<Record>, Error> {
        let Settings {
            store,
            state,
            name,
            plan,
            ..
        } = &*self.0;
        let what = (Operation::Read, plan.group.as_ref());
        let record = store
            .call(what, plan.attempt(), store.provider.read(name))
            .await?;
        if let Some(record) = &record {
            store.observe(state, name, record, plan.attempt()).await;
        }
        Ok(record)
    }

    /// Resolves when nothing that this lock has begun is in flight to the store: the tries of acquires that were
    /// dropped, and the releases of leases that were dropped. Includes those of its clones, and of locks made from it
    /// with [`DLock::named`]. A call that waits for the lock counts as in flight until it ends; a lease that a caller
    /// holds does not.
    ///
    /// For a program that has stopped waiting and is about to exit, and that shares its client with others:
    /// afterwards nothing that it left behind keeps other clients out. [`Client::close`] does the same for a whole
    /// client. Give it a time limit: a try takes at most a sixth of the lease, and a release without an answer is
    /// repeated for as long as one lease.
    ///
    /// # Cancel safety
    /// Cancel safe: it only watches.
    pub async fn idle(&self) {
        self.0.store.idle(&self.0.plan).await;
    }

    /// Makes the next grants carry a token above this one (T6): pass what a resource reported as
    /// [`Stale::highest`](crate::Stale::highest) if the lock's store may have lost its data.
    ///
    /// The next token is at least 128 higher, not 1: the reported one may be the first of a
    /// [block](crate::provider::Tokens) whose other tokens the resource has yet to see.
    pub fn raise_floor(&self, highest: FencingToken) {
        self.0.state.told(highest);
    }

    /// Whether it may be the turn of others: callers of this runtime wait for the lock; this runtime has released it, and
    /// leaves it to other clients that wait; or a release of this client is in flight, whose answer will say whether they
    /// do. [`DLock::acquire`] waits for its turn. [`DLock::try_acquire`] passes them by, so a caller that acquires again
    /// and again in that way keeps them out.
    ///
    /// # Panics
    /// Outside of a Tokio runtime.
    #[must_use]
    pub fn is_others_turn(&self) -> bool {
        waiting::is_others_turn(&self.0, tokio::runtime::Handle::current().id())
    }

    /// The name that is locked.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.0.name
    }

    /// The label that people see. It decides nothing.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.0.owner
    }

    /// The lease's duration D.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.0.plan.duration
    }

    /// The client that the locks of this process share.
    #[must_use]
    pub fn client(&self) -> Client {
        Client(Arc::clone(&self.0.store))
    }

    pub(super) async fn once(&self, ticket: Option<&Ticket>) -> Result<TryAcquire, Error> {
        Ok(match waiting::acquire(&self.0, Wait::No, ticket).await? {
            Acquired::Holding(holding) => TryAcquire::Acquired(Lease(holding)),
            Acquired::Held(holder) => TryAcquire::Held(holder),
        })
    }

    pub(super) async fn limited(
        &self,
        limit: Duration,
        ticket: Option<&Ticket>,
    ) -> Result<Lease, Error> {
        if !limit.is_zero() {
            return self.wait(Some(limit), ticket).await;
        }
        match self.once(ticket).await? {
            TryAcquire::Acquired(lease) => Ok(lease),
            TryAcquire::Held(holder) => Err(Error::Timeout {
                waited: Duration::ZERO,
                holder: Some(Box::new(holder)),
                source: None,
            }),
        }
    }

    pub(super) async fn wait(
        &self,
        limit: Option<Duration>,
        ticket: Option<&Ticket>,
    ) -> Result<Lease, Error> {
        match waiting::acquire(&self.0, Wait::Limit(limit), ticket).await? {
            Acquired::Holding(holding) => Ok(Lease(holding)),
            // Waiting ends with a lease or an error.
            Acquired::Held(holder) => Err(Error::Timeout {
                waited: limit.unwrap_or_default(),
                holder: Some(Box::new(holder)),
                source: None,
            }),
        }
    }
}

impl fmt::Debug for DLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DLock")
            .field("name", &self.0.name)
            .field("owner", &self.0.owner)
            .field("duration", &self.0.plan.duration)
            .field("backend", &self.0.store.backend)
            .finish_non_exhaustive()
    }
}
