//! Locks that are held together, and a set that is not complete yet.

use std::{collections::BTreeMap, fmt, mem, time::Duration};

use dlock_core::{
    End, Error, FencingToken, Guard, LeaseView, Name, ReleaseEnd, State, scope::Scope,
};

use crate::joining::{all, first};

/// Several locks that are held and renewed, each with its own token, for as long as this guard lives.
///
/// When one of them is lost, the whole is: stop working, and release the others. As for a [`Guard`], dropping releases
/// in the background, and at the end of `main` only an awaited release does.
#[must_use = "locks that are dropped are released at once"]
pub struct MultiGuard(Vec<Guard>);

impl MultiGuard {
    /// The fencing token of each.
    #[must_use]
    pub fn tokens(&self) -> BTreeMap<Name, FencingToken> {
        self.0.iter().map(of).collect()
    }

    /// Whether the holder may still act under all of them; see [`LeaseView::is_valid`](dlock_core::LeaseView::is_valid).
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.0.iter().all(|guard| LeaseView::is_valid(guard))
    }

    /// The remaining time of the lease that ends first, if no further renewal succeeds; zero once one has ended.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.0
            .iter()
            .map(|guard| guard.remaining())
            .min()
            .unwrap_or_default()
    }

    /// Ended if one has ended, else unsure if one is, else valid.
    #[must_use]
    pub fn state(&self) -> State {
        let mut whole = State::Valid;
        for guard in &self.0 {
            match guard.state() {
                State::Valid => {}
                State::Unsure => whole = State::Unsure,
                ended @ State::Ended(_) => return ended,
            }
        }
        whole
    }

    /// Whether another client has asked the holder to release one of them when it can; see
    /// [`LeaseView::asked`](dlock_core::LeaseView::asked).
    #[must_use]
    pub fn asked(&self) -> bool {
        self.0.iter().any(|guard| guard.asked())
    }

    /// Resolves when the first of them has ended, with its cause. Borrows nothing.
    ///
    /// # Cancel safety
    /// Cancel safe: it only watches.
    pub fn ended(&self) -> impl Future<Output = End> + Send + use<> {
        first(self.0.iter().map(|guard| LeaseView::ended(guard)).collect())
    }

    /// Ends the work's protection and releases all of them at the same time; see
    /// [`Lease::release`](dlock_core::Lease::release). Returns how each release ended. End the work first.
    ///
    /// # Cancel safety
    /// As for [`Lease::release`](dlock_core::Lease::release).
    pub async fn release(self) -> BTreeMap<Name, Result<ReleaseEnd, Error>> {
        let names: Vec<_> = self.0.iter().map(|guard| of(guard).0).collect();
        let ends = all(self.0.into_iter().map(Guard::release).collect()).await;
        names.into_iter().zip(ends).collect()
    }

    /// The same for work that was not done and that another process may do; see
    /// [`Lease::release_open`](dlock_core::Lease::release_open).
    ///
    /// # Cancel safety
    /// As for [`Lease::release`](dlock_core::Lease::release).
    pub async fn release_open(self) -> BTreeMap<Name, Result<ReleaseEnd, Error>> {
        for guard in &self.0 {
            guard.leave_open();
        }
        self.release().await
    }
}

fn of(guard: &Guard) -> (Name, FencingToken) {
    (guard.name().clone(), guard.token())
}

impl Scope for MultiGuard {
    type Tokens = BTreeMap<Name, FencingToken>;

    fn tokens(&self) -> Self::Tokens {
        self.tokens()
    }

    fn state(&self) -> State {
        self.state()
    }

    fn is_valid(&self) -> bool {
        self.is_valid()
    }

    fn ended(&self) -> impl Future<Output = End> + Send {
        self.ended()
    }

    async fn give_back(self) {
        all(self.0.into_iter().map(Scope::give_back).collect()).await;
    }
}

/// The locks held so far, while the next one is waited for. No work runs under them yet, so that releasing them closes
/// no name, however this ends.
#[derive(Default)]
pub(super) struct Incomplete(Vec<Guard>);

impl Incomplete {
    pub(super) fn append(&mut self, mut others: Self) {
        self.0.append(&mut others.0);
    }

    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }

    /// The first loss; never, if there are none yet.
    pub(super) fn ended(&self) -> impl Future<Output = End> + Send + use<> {
        first(self.0.iter().map(|guard| LeaseView::ended(guard)).collect())
    }

    /// The guard of all, if none of them was lost meanwhile.
    pub(super) fn complete(mut self) -> Result<MultiGuard, End> {
        let whole = MultiGuard(mem::take(&mut self.0));
        match whole.state() {
            State::Ended(loss) => {
                self.0 = whole.0;
                Err(loss)
            }
            State::Valid | State::Unsure => Ok(whole),
        }
    }

    /// Waits briefly for the releases, as `with` does for its own.
    pub(super) async fn give_back(mut self) {
        self.leave_open();
        let guards = mem::take(&mut self.0).into_iter();
        all(guards.map(Scope::give_back).collect()).await;
    }

    fn leave_open(&self) {
        for guard in &self.0 {
            guard.leave_open();
        }
    }
}

impl From<Guard> for Incomplete {
    fn from(guard: Guard) -> Self {
        Self(vec![guard])
    }
}

impl Drop for Incomplete {
    fn drop(&mut self) {
        self.leave_open();
    }
}

impl fmt::Debug for MultiGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MultiGuard")
            .field("tokens", &self.tokens())
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}
