//! After a release the term of a lease may continue with the first waiter in line: it is on offer, and its keeper
//! releases it in time. The keeper is a task on the runtime where the release is to run: with that runtime the keeper
//! ends, and the term runs out.

#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use super::{PendingRelease, Term};
use crate::{
    names::{Duty, KeeperIdentity, NameState, Offering},
    store::{Store, TaskToken},
    testing::Event,
};

/// The lease has just been released, and frees its name. Returns whether its term is on offer now.
pub(super) fn is_offered(term: &Arc<Term>) -> bool {
    let Some(until) = term.goes_on_until() else {
        return false;
    };
    let Term {
        store, state, plan, ..
    } = &**term;
    let (giver, home) = (Arc::<Term>::clone(term), term.home.id());
    match state.offer_term(giver, until, home, || GivesBack::begin(term)) {
        Offering::No => false,
        Offering::Kept => true,
        Offering::Unkept(identity) => {
            let keeper = Keeper {
                store: Arc::clone(store),
                state: Arc::clone(state),
                identity,
            };
            let step = plan.step();
            drop(term.home.spawn(async move { keeper.run(step).await }));
            true
        }
    }
}

/// The duty to release a term whose last lease was this one. Dropping it sends the release.
struct GivesBack {
    term: Option<Arc<Term>>,
    /// Dropped when the release is in flight, which then counts as running itself.
    _tracked: TaskToken,
}

impl GivesBack {
    /// `None` if the client is closed. A client that closes after this waits for it.
    fn begin(term: &Arc<Term>) -> Option<Box<dyn Duty>> {
        let tracked = term.store.track(&term.plan);
        if term.store.is_closed() {
            return None;
        }
        term.record(|uuid, token| Event::ReleaseBegan(uuid, Some(token)));
        Some(Box::new(Self {
            term: Some(Arc::clone(term)),
            _tracked: tracked,
        }))
    }
}

impl Duty for GivesBack {
    /// To its holder the lease is released, as after any hand-over.
    fn was_taken(mut self: Box<Self>) {
        if let Some(term) = self.term.take() {
            term.emit(Event::HandedOn);
        }
    }
}

impl Drop for GivesBack {
    fn drop(&mut self) {
        if let Some(term) = self.term.take() {
            PendingRelease::of(&term, None).spawn_begun(&term.home);
        }
    }
}

/// Looks after the terms of one name that are on offer. Dropping it, with its runtime, ends the offers there.
struct Keeper {
    store: Arc<Store>,
    state: Arc<NameState>,
    identity: KeeperIdentity,
}

impl Keeper {
    async fn run(self, step: Duration) {
        let Store { clock, .. } = &*self.store;
        let closing = self.store.closing();
        while let Some(until) = self
            .state
            .keep(&self.identity, clock.now(), closing.is_cancelled())
        {
            tokio::select! {
                biased;
                () = closing.cancelled() => {}
                () = self.identity.notified() => {}
                () = clock.sleep_until(until, step) => {}
            }
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let now = self.store.clock.now();
        let _nothing_left = self.state.keep(&self.identity, now, true);
    }
}
