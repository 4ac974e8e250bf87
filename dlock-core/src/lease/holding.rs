//! A term with the duty to release it: the part that `Lease` and `Guard` share.

#[cfg(test)]
mod tests;

use std::{future::poll_fn, pin::pin, sync::Arc, task::Poll, time::Duration};

use tokio::runtime::Handle;

use crate::{
    Error, ProviderError, ReleaseEnd, Ticket,
    emit::contained,
    lease::{LeaseView, PendingRelease, Term, offering},
    store::driven::{Driven, Unfinished, Work},
};

/// A term with the duty to release it. Dropping it releases in the background.
pub(crate) struct Holding(Option<LeaseView>);

impl Holding {
    pub(crate) fn new(term: Arc<Term>) -> Self {
        Self(Some(LeaseView::new(term)))
    }

    pub(crate) fn term(&self) -> &Arc<Term> {
        self.view().term()
    }

    pub(crate) fn view(&self) -> &LeaseView {
        #[expect(
            clippy::expect_used,
            reason = "only `release` and `drop` take it, and both end the value"
        )]
        self.0
            .as_ref()
            .expect("a holding has its term until it ends")
    }

    /// Releases, and waits for the outcome. Dropping this future does not stop the release.
    pub(crate) async fn release(mut self) -> Result<ReleaseEnd, Error> {
        let Some(view) = self.0.take() else {
            return Ok(ReleaseEnd::Unconfirmed);
        };
        let term = view.term();
        let Some(release) = begin_release(term) else {
            return Ok(ReleaseEnd::Released);
        };
        match at_home(term, || PendingRelease::bound(term), release.begin()).await {
            Some(Ok(answer)) => answer.map_err(Error::from),
            Some(Err(ended)) => Err(ProviderError::unknown("the release was cut off")
                .with_source(ended)
                .into()),
            // The lease has run out.
            None => Ok(ReleaseEnd::Unconfirmed),
        }
    }

    /// Ends the lease without a release, and leaves it to the process that redeems the ticket. A lease that was lost is
    /// released like any other.
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
        let Some(view) = self.0.take() else { return };
        let term = view.term();
        let Some(release) = begin_release(term) else {
            return;
        };
        // Where the store itself has answered that the term has ended (R3), there is nothing to release.
        if term.was_refused() {
            release.nothing_left();
        } else {
            drop(release.spawn(&term.home));
        }
    }
}

/// Runs work of a term on its home runtime, whatever becomes of this future. On that runtime it runs in the caller's
/// poll at first. From another runtime it runs in a task, which is awaited for at most `bound`: a home runtime that
/// lives but that no thread drives runs no task. If the other runtime has no timers, there is no bound.
pub(crate) async fn at_home<T: Send + 'static>(
    term: &Term,
    bound: impl FnOnce() -> Duration,
    work: Work<T>,
) -> Option<Result<T, Unfinished>> {
    let (store, home) = (&term.store, &term.home);
    let here = Handle::try_current().ok();
    if here.as_ref().is_some_and(|here| here.id() == home.id()) {
        return Some(Driven::new(&store.watchdogs, work).await);
    }
    let task = home.spawn(work);
    if here.is_none() {
        return Some(task.await.map_err(Unfinished::from));
    }
    let (mut bound, mut timers) = (pin!(store.clock.pause(bound())), true);
    let bound = poll_fn(|context| {
        // Only a panic shows that there are none.
        let polled = timers.then(|| contained(|| bound.as_mut().poll(context)));
        let polled = polled.flatten();
        timers = polled.is_some();
        polled.unwrap_or(Poll::Pending)
    });
    tokio::select! {
        biased;
        ended = task => Some(ended.map_err(Unfinished::from)),
        () = bound => None,
    }
}

/// The release begins here: from now on the lease is invalid. `None` if its term is on offer to the next waiter: for
/// the holder that counts as released.
fn begin_release(term: &Arc<Term>) -> Option<PendingRelease> {
    term.begin_release();
    let closes_until = term.closes_until();
    if closes_until.is_none() && offering::is_offered(term) {
        return None;
    }
    Some(PendingRelease::of(term, closes_until))
}
