//! The leases that one command runs under. It may run as long as all of them last.

use std::{future::poll_fn, pin::Pin, task::Poll, time::Duration};

use dlock_core::{End, LeaseView};

/// One lease or several, as one.
pub(crate) struct Leases(Vec<LeaseView>);

impl Leases {
    /// At least one.
    pub(crate) fn new(leases: impl IntoIterator<Item = LeaseView>) -> Self {
        Self(leases.into_iter().collect())
    }

    /// The remaining time of the one that ends first; zero once one has ended.
    pub(super) fn remaining(&self) -> Duration {
        let left = self.0.iter().map(LeaseView::remaining);
        left.min().unwrap_or_default()
    }

    pub(super) fn is_valid(&self) -> bool {
        self.0.iter().all(LeaseView::is_valid)
    }

    /// Resolves when one of them has ended. Borrows nothing.
    pub(crate) fn ended(&self) -> impl Future<Output = End> + use<> {
        first(self.0.iter().map(LeaseView::ended).collect())
    }

    /// Resolves when one of them was asked for, or one has ended. Borrows nothing.
    pub(crate) fn until_asked(&self) -> impl Future<Output = ()> + use<> {
        first(self.0.iter().map(LeaseView::until_asked).collect())
    }
}

/// The output of the first of these futures to resolve, polled in their order.
fn first<F: Future>(futures: Vec<F>) -> impl Future<Output = F::Output> {
    let mut futures: Vec<Pin<Box<F>>> = futures.into_iter().map(Box::pin).collect();
    poll_fn(move |context| {
        let mut polls = futures
            .iter_mut()
            .map(|future| future.as_mut().poll(context));
        polls.find(Poll::is_ready).unwrap_or(Poll::Pending)
    })
}
