//! As many holders at a time as there are permits, each of which is a lock.

use std::time::Duration;

use dlock_core::{DLock, Error, Lease, TryAcquire};

use crate::{BuildError, MultiLock, joining::first};

/// A limited number of holders at a time among all processes that use the same store and name. Made by
/// [`Semaphore::new`].
///
/// Each permit is a separate lock, named `NAME/1`, `NAME/2` and so on, and everything that holds of a lock holds of it:
/// a permit of a dead holder is free when its lease ends, and a live holder learns that it is lost before that. Which
/// of the free ones is granted is random; a waiter waits for all of them.
///
/// - **A fencing token belongs to one permit.** The tokens of two permits have no common order, so a resource that
///   keeps the highest token it has seen has to keep one for each [`Permit::slot`]. Against too much load, which is
///   what semaphores are mostly for, no token is needed.
/// - **There is no queue**: the waiters of one process get each permit in turn, and among processes the store decides.
/// - **Each waiter costs as much as one waiter on each of the permits**, which is why there are at most 64.
/// - **The number is the caller's**, and is not in the store: while processes use different numbers, the largest holds.
#[derive(Clone, Debug)]
pub struct Semaphore(Vec<DLock>);

/// One of the permits, and its number.
#[derive(Debug)]
#[must_use = "a permit that is dropped is released at once"]
#[non_exhaustive]
pub struct Permit {
    /// The permit's number: 1 to the number of permits. No other holder has it at the same time, so it can choose a
    /// port, a shard, or the fence of a resource.
    pub slot: usize,
    /// The lease of that permit's lock.
    pub lease: Lease,
}

impl Semaphore {
    /// The highest possible number of permits.
    pub const MOST: usize = 64;

    /// At most `permits` holders at a time, under names that begin with the lock's and a slash.
    ///
    /// ```no_run
    /// # // no_run: needs a provider, and this crate has none.
    /// # async fn example(lock: dlock_core::DLock) -> Result<(), Box<dyn std::error::Error>> {
    /// # async fn crawl() {}
    /// use dlock_several::Semaphore;
    ///
    /// let crawlers = Semaphore::new(&lock.named("crawlers")?, 8)?;
    /// let permit = crawlers.acquire().await?;
    /// permit.lease.with(async |_| crawl().await).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`BuildError::Permits`] if the number is not 1 to 64; [`BuildError::Name`] if the name is too long for the
    /// ending.
    pub fn new(lock: &DLock, permits: usize) -> Result<Self, BuildError> {
        if !(1..=Self::MOST).contains(&permits) {
            return Err(BuildError::Permits { permits });
        }
        let permit = |slot| lock.named(format!("{}/{slot}", lock.name()));
        let locks: Result<_, _> = (1..=permits).map(permit).collect();
        Ok(Self(locks?))
    }

    /// Tries each permit once, in turn, until one is granted; `None` if all are taken.
    ///
    /// # Errors
    /// As for [`DLock::try_acquire`].
    ///
    /// # Cancel safety
    /// As for [`DLock::try_acquire`].
    pub async fn try_acquire(&self) -> Result<Option<Permit>, Error> {
        self.try_each(|_| true).await
    }

    /// Waits until a permit is ours.
    ///
    /// # Errors
    /// As for [`DLock::acquire`].
    ///
    /// # Cancel safety
    /// As for [`DLock::acquire`].
    pub async fn acquire(&self) -> Result<Permit, Error> {
        match self.try_in_turn().await? {
            Some(permit) => Ok(permit),
            None => self.wait(DLock::acquire).await,
        }
    }

    /// [`Semaphore::acquire`], but no longer than `limit` in all. A limit that leaves no time to wait tries
    /// each permit two or three times.
    ///
    /// # Errors
    /// As for [`DLock::acquire_timeout`]: [`Error::Timeout`] when the time is up, with the holder of one of
    /// the permits.
    ///
    /// # Cancel safety
    /// As for [`DLock::acquire`].
    pub async fn acquire_timeout(&self, limit: Duration) -> Result<Permit, Error> {
        let stopwatch = self.0[0].client().clock().stopwatch();
        if let Some(permit) = self.try_in_turn().await? {
            return Ok(permit);
        }
        let left = limit.saturating_sub(stopwatch.elapsed());
        if left.is_zero()
            && let Some(permit) = self.try_acquire().await?
        {
            return Ok(permit);
        }
        self.wait(|lock| lock.acquire_timeout(left)).await
    }

    /// All permits as one: its holder is alone, as a writer is among readers that have one permit each.
    ///
    /// It takes those that are free at once, up to the first that is not, and the others one after the other, each as
    /// any waiter does; those who want one permit get the ones that it does not have yet. A holder of a permit must not
    /// wait for it, since it would wait for itself. Of two holders of all, the later one has larger tokens for every
    /// permit, so a resource checks the token of one: that of `NAME/1`.
    ///
    /// ```no_run
    /// # // no_run: needs a provider, and this crate has none.
    /// # async fn example(lock: dlock_core::DLock) -> Result<(), Box<dyn std::error::Error>> {
    /// # async fn read() {}
    /// # async fn rewrite(_: dlock_core::FencingToken) {}
    /// # use dlock_several::Semaphore;
    /// let readers = Semaphore::new(&lock.named("report")?, 8)?;
    /// // One of up to eight.
    /// readers.acquire().await?.lease.with(async |_| read().await).await?;
    /// // Alone.
    /// readers.all().with(async |tokens| rewrite(tokens["report/1"]).await).await?;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn all(&self) -> MultiLock {
        MultiLock::in_order_of_names(self.0.clone())
    }

    /// Asks once for each permit that no other waiter is to have first.
    async fn try_in_turn(&self) -> Result<Option<Permit>, Error> {
        self.try_each(|lock| !lock.is_others_turn()).await
    }

    async fn try_each(&self, asks: impl Fn(&DLock) -> bool) -> Result<Option<Permit>, Error> {
        let count = self.0.len();
        let start = fastrand::usize(..count);
        for place in 0..count {
            let place = (start + place) % count;
            let lock = &self.0[place];
            if asks(lock)
                && let TryAcquire::Acquired(lease) = lock.try_acquire().await?
            {
                return Ok(Some(permit(place, lease)));
            }
        }
        Ok(None)
    }

    /// Waits for all of them at once. A wait that is granted its permit after the first releases it.
    ///
    /// Each wait marks its term (N1), since only the release of a marked term sends a hint: a waiter with one mark for all
    /// permits would not hear of the others.
    async fn wait<'a, F: Future<Output = Result<Lease, Error>>>(
        &'a self,
        acquire: impl Fn(&'a DLock) -> F,
    ) -> Result<Permit, Error> {
        let waits = self.0.iter().enumerate().map(|(place, lock)| {
            let lease = acquire(lock);
            async move { Ok(permit(place, lease.await?)) }
        });
        first(waits.collect()).await
    }
}

const fn permit(place: usize, lease: Lease) -> Permit {
    Permit {
        slot: place + 1,
        lease,
    }
}
