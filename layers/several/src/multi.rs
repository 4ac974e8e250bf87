//! Several locks held as one.

mod guard;

use std::{collections::BTreeMap, pin::pin, time::Duration};

use dlock_core::{DLock, Error, FencingToken, Holder, Name, TryAcquire, scope};

use self::guard::Incomplete;
pub use self::guard::MultiGuard;
use crate::{BuildError, joining::all};

/// Several locks that are held together: all of them, or none. Made by [`MultiLock::new`].
///
/// It asks for all of them at once, in whatever order they were given. If one is not granted, it gives back those whose
/// names follow, and acquires the rest one after the other in the order of their names. So a process that waits for a
/// lock holds only locks with lesser names, and processes that want the same locks never wait for each other in a
/// circle, as long as each of them takes all its locks by one `MultiLock`. While it waits for a later one it holds and
/// renews the earlier ones, which keep others out meanwhile. It releases them together.
///
/// Each lock has its own token, for the resource that it protects.
#[derive(Clone, Debug)]
pub struct MultiLock(Vec<DLock>);

/// Answer to [`MultiLock::try_hold`].
#[derive(Debug)]
#[must_use = "locks that are dropped are released at once"]
#[expect(
    clippy::exhaustive_enums,
    reason = "either we have all or another client has one"
)]
pub enum TryHold {
    /// All are ours.
    Held(MultiGuard),
    /// This one is held by another client, or closed. None is ours.
    Refused {
        /// The first that was refused, in the order of the names.
        name: Name,
        /// Its holder.
        holder: Holder,
    },
}

impl MultiLock {
    /// Several locks as one: all or none, in an order that prevents waiting in a circle.
    ///
    /// ```no_run
    /// # // no_run: needs a provider, and this crate has none.
    /// # use dlock_core::{DLock, FencingToken};
    /// # use dlock_several::MultiLock;
    /// # async fn example(accounts: DLock) -> Result<(), Box<dyn std::error::Error>> {
    /// # async fn transfer(_: FencingToken, _: FencingToken) -> Result<(), std::io::Error> { Ok(()) }
    /// let both = MultiLock::new([accounts.named("account-7")?, accounts.named("account-3")?])?;
    /// both.with(async |tokens| transfer(tokens["account-7"], tokens["account-3"]).await).await??;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`BuildError::Many`] if there are none, if two have the same name, or if they are of different clients.
    pub fn new(locks: impl IntoIterator<Item = DLock>) -> Result<Self, BuildError> {
        let many = Self::in_order_of_names(locks.into_iter().collect());
        let locks = &many.0;
        let neighbours = || locks.iter().zip(locks.iter().skip(1));
        let reason = if locks.is_empty() {
            "there is none"
        } else if neighbours().any(|(a, b)| a.name() == b.name()) {
            "two of them have the same name"
        } else if neighbours().any(|(a, b)| a.client() != b.client()) {
            "they are of different clients, between which there is no order; make them with `DLock::named`"
        } else {
            return Ok(many);
        };
        Err(BuildError::Many { reason })
    }

    /// Sorts locks of one client, each with a different name.
    pub(super) fn in_order_of_names(mut locks: Vec<DLock>) -> Self {
        locks.sort_by(|a, b| a.name().cmp(b.name()));
        Self(locks)
    }

    /// Tries each once, all at the same time: until the last is answered, it has those that were free, and other clients
    /// are refused. A refusal is no error, and leaves nothing held.
    ///
    /// # Errors
    /// As for [`DLock::try_acquire`]; [`Error::Lost`] if one was lost while it tried the others.
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind, as for [`DLock::try_acquire`].
    pub async fn try_hold(&self) -> Result<TryHold, Error> {
        let (first_ones, refusal) = at_once(&self.0).await;
        let Some(refusal) = refusal else {
            return Ok(TryHold::Held(first_ones.complete()?));
        };
        let name = self.0[first_ones.len()].name().clone();
        first_ones.give_back().await;
        refusal.map(|holder| TryHold::Refused { name, holder })
    }

    /// Waits until all are ours, and renews them from then on. If one is lost while another is waited for, it begins
    /// again.
    ///
    /// # Errors
    /// As for [`DLock::acquire`]; then none is held.
    ///
    /// # Cancel safety
    /// Dropping the future gives up the places in the queues and the locks held so far.
    pub async fn hold(&self) -> Result<MultiGuard, Error> {
        self.wait(None).await
    }

    /// [`MultiLock::hold`], but no longer than `limit` in all. A zero limit tries each once, and one that was
    /// refused once more.
    ///
    /// # Errors
    /// [`Error::Timeout`] when the time is up, with the holder of the lock that was waited for; otherwise as for
    /// [`MultiLock::hold`].
    ///
    /// # Cancel safety
    /// As for [`MultiLock::hold`].
    pub async fn hold_timeout(&self, limit: Duration) -> Result<MultiGuard, Error> {
        self.wait(Some(limit)).await
    }

    /// Waits for all, runs the work while all are held and renewed, and releases them when the work has ended, as
    /// [`DLock::with`] does. The work gets the token of each name. If one of them is lost, the work is dropped.
    ///
    /// # Errors
    /// [`Error::Lost`] for the first that ended before the work had; otherwise as for [`MultiLock::hold`].
    ///
    /// # Cancel safety
    /// Dropping the future drops the work, then releases the locks in the background.
    pub async fn with<F, Fut, T>(&self, work: F) -> Result<T, Error>
    where
        F: FnOnce(BTreeMap<Name, FencingToken>) -> Fut,
        Fut: Future<Output = T>,
    {
        scope::run(self.hold().await?, work).await
    }

    /// [`MultiLock::with`] for work that returns a `Result` whose error can hold an [`Error`]: one `?`
    /// instead of two.
    ///
    /// # Errors
    /// The work's own error, or those of [`MultiLock::with`].
    ///
    /// # Cancel safety
    /// As for [`MultiLock::with`].
    pub async fn with_result<F, Fut, T, E>(&self, work: F) -> Result<T, E>
    where
        F: FnOnce(BTreeMap<Name, FencingToken>) -> Fut,
        Fut: Future<Output = Result<T, E>>,
        E: From<Error>,
    {
        self.with(work).await?
    }

    async fn wait(&self, limit: Option<Duration>) -> Result<MultiGuard, Error> {
        let stopwatch = self.0[0].client().clock().stopwatch();
        loop {
            let left = || limit.map(|limit| limit.saturating_sub(stopwatch.elapsed()));
            match self.in_order(left).await {
                Ok(guard) => return Ok(guard),
                // A lock held so far is lost: no work has begun yet, so all are acquired again.
                Err(Error::Lost(_)) => {}
                Err(Error::Timeout { holder, source, .. }) => {
                    return Err(Error::Timeout {
                        waited: stopwatch.elapsed(),
                        holder,
                        source,
                    });
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Acquires one after the other, except those that were free from the first one on.
    async fn in_order(
        &self,
        left: impl Fn() -> Option<Duration> + Send + Sync,
    ) -> Result<MultiGuard, Error> {
        let mut first_ones = self.first_ones(left()).await?;
        for lock in &self.0[first_ones.len()..] {
            let next = tokio::select! {
                biased;
                loss = first_ones.ended() => Err(Error::Lost(loss)),
                next = acquire(lock, left()) => next,
            };
            match next {
                Ok(next) => first_ones.append(next),
                Err(error) => {
                    first_ones.give_back().await;
                    return Err(error);
                }
            }
        }
        Ok(first_ones.complete()?)
    }

    /// Acquires the first, and tries the others meanwhile. They are given back if they are answered before it is
    /// acquired: no lock is held while one before it is waited for.
    async fn first_ones(&self, limit: Option<Duration>) -> Result<Incomplete, Error> {
        let (first, others) = (&self.0[0], &self.0[1..]);
        let may_try = |lock: &&DLock| !lock.is_others_turn();
        let tried = if may_try(&first) {
            others.iter().take_while(may_try).count()
        } else {
            0
        };
        let mut first = pin!(acquire(first, limit));
        let mut tries = pin!(at_once(&others[..tried]));
        let (first, (others, _)) = tokio::select! {
            biased;
            first = &mut first => (first, tries.await),
            (others, _) = &mut tries => {
                let (first, ()) = tokio::join!(first, others.give_back());
                return first;
            }
        };
        match first {
            Ok(mut first) => {
                first.append(others);
                Ok(first)
            }
            Err(error) => {
                others.give_back().await;
                Err(error)
            }
        }
    }
}

/// Waits for one of them, and keeps it held.
async fn acquire(lock: &DLock, limit: Option<Duration>) -> Result<Incomplete, Error> {
    let lease = match limit {
        Some(limit) => lock.acquire_timeout(limit).await,
        None => lock.acquire().await,
    };
    Ok(Incomplete::from(lease?.keep_alive()))
}

/// Tries all of them at the same time, and keeps those before the first that was not granted, whose answer accompanies
/// them. Those that follow it are given back.
async fn at_once(locks: &[DLock]) -> (Incomplete, Option<Result<Holder, Error>>) {
    let tries = locks.iter().map(async |lock| {
        Ok(match lock.try_acquire().await? {
            TryAcquire::Acquired(lease) => Ok(Incomplete::from(lease.keep_alive())),
            TryAcquire::Held(holder) => Err(holder),
        })
    });
    let (mut first_ones, mut others, mut refusal) =
        (Incomplete::default(), Incomplete::default(), None);
    for answer in all(tries.collect()).await {
        match answer {
            Ok(Ok(one)) if refusal.is_none() => first_ones.append(one),
            Ok(Ok(one)) => others.append(one),
            Ok(Err(holder)) => refusal = refusal.or(Some(Ok(holder))),
            Err(error) => refusal = refusal.or(Some(Err(error))),
        }
    }
    others.give_back().await;
    (first_ones, refusal)
}
