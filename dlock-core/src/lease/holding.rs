//! A term with the duty to give it back: the part that `Lease` and `Guard` share.

#[cfg(test)]
mod tests;

use std::{future::poll_fn, pin::pin, sync::Arc, task::Poll};

use tokio::{
    runtime::Handle,
    task::{JoinError, JoinHandle},
};

use crate::{
    Error, ProviderError, ReleaseEnd, Ticket,
    emit::contained,
    lease::{Origin, PendingRelease, Term},
};

/// A term with the duty to release it. Dropping it releases in the background (G3).
pub(crate) struct Holding(Option<Arc<Term>>);

impl Holding {
    pub(crate) fn new(term: Arc<Term>) -> Self {
        Self(Some(term))
    }

    pub(crate) fn term(&self) -> &Arc<Term> {
        #[expect(
            clippy::expect_used,
            reason = "only `release` and `drop` take it, and both end the value"
        )]
        self.0
            .as_ref()
            .expect("a holding has its term until it ends")
    }

    /// Releases, and waits for the outcome (V7). The release runs in a task on the lease's home
    /// runtime: dropping this future does not stop it.
    pub(crate) async fn release(mut self) -> Result<ReleaseEnd, Error> {
        let Some(term) = self.0.take() else {
            return Ok(ReleaseEnd::Unconfirmed);
        };
        let release = begin_release(&term);
        let bound = term.store.clock.pause(release.bound());
        match joined(release.spawn(&term.home), &term.home, bound).await {
            Some(Ok(answer)) => answer.map_err(Error::from),
            Some(Err(ended)) => Err(ProviderError::unknown("the release was cut off")
                .with_source(ended)
                .into()),
            // The lease has run out.
            None => Ok(ReleaseEnd::Unconfirmed),
        }
    }

    /// Ends the lease without a release, and leaves it to the process that redeems the ticket (H7). A lease
    /// that was lost is given back like any other.
    pub(crate) fn hand_over(mut self) -> Result<Ticket, Error> {
        self.term().hand_over()?;
        let ticket = Ticket::new(self.term().name.clone(), self.term().version())
            .closing(self.term().left_to_close());
        self.0 = None;
        Ok(ticket)
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        let Some(term) = self.0.take() else { return };
        let release = begin_release(&term);
        // Where the store itself has answered that the term has ended (R3), there is nothing to release.
        if term.was_refused() {
            release.nothing_left();
        } else {
            drop(release.spawn(&term.home));
        }
    }
}

/// Waits for a task of ours on its home runtime. From another runtime it waits at most for the bound: a home
/// runtime that lives and that nobody drives runs no task. Where the other runtime has no timers there is no
/// bound.
pub(crate) async fn joined<T>(
    task: JoinHandle<T>,
    home: &Handle,
    bound: impl Future<Output = ()>,
) -> Option<Result<T, JoinError>> {
    let elsewhere = Handle::try_current().is_ok_and(|here| here.id() != home.id());
    if !elsewhere {
        return Some(task.await);
    }
    let (mut bound, mut timers) = (pin!(bound), true);
    let bound = poll_fn(|context| {
        // Only a panic tells that there are none.
        let polled = timers.then(|| contained(|| bound.as_mut().poll(context)));
        let polled = polled.flatten();
        timers = polled.is_some();
        polled.unwrap_or(Poll::Pending)
    });
    tokio::select! {
        biased;
        ended = task => Some(ended),
        () = bound => None,
    }
}

/// The release begins here: from now on the lease is invalid (V7).
fn begin_release(term: &Arc<Term>) -> PendingRelease {
    let sent = term.begin_release();
    let closes_until = term.closes_until();
    PendingRelease {
        store: Arc::clone(&term.store),
        state: Arc::clone(&term.state),
        name: term.name.clone(),
        plan: Arc::clone(&term.plan),
        uuid: term.uuid,
        token: Some(term.token),
        sent,
        origin: Origin::Lease {
            protected: term.was_valid_to_its_release(),
        },
        // Where the store itself has answered that the term has ended there is nothing to hand over; and a name
        // that is closed goes to no waiter.
        version: (!term.was_refused() && closes_until.is_none()).then(|| term.version()),
        closes_until,
        answered: term.answered,
    }
}
