//! S7: after a release with nobody in line a term may linger with its client, and its keeper gives it back in time. The
//! keeper is a task on the runtime where the release is to run: with that runtime it ends, and the term runs out.

#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use super::{PendingRelease, Term};
use crate::{
    ReleaseEnd,
    events::Measured,
    names::{Duty, KeeperIdentity, Lingers, NameState},
    store::Store,
    testing::Event,
};

/// The lease has just been given back, and frees its name. Whether its term lingers.
pub(super) fn lingers(term: &Arc<Term>) -> bool {
    let Some(until) = term.lingers_until() else {
        return false;
    };
    let Term {
        store, state, plan, ..
    } = &**term;
    let track = || -> Box<dyn Send> { Box::new(store.track(plan)) };
    // What counts as running by now, a client waits for that closes after this.
    let begin = || (!store.is_closed()).then(|| GivesBack::begin(term));
    let offered = Arc::<Term>::clone(term);
    match state.linger(offered, until, (term.home.id(), plan), track, begin) {
        Lingers::No => false,
        Lingers::Kept => true,
        Lingers::Unkept(identity) => {
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

/// The duty to give a term back whose last lease was this one. Dropping it sends the release.
struct GivesBack(Option<Arc<Term>>);

impl GivesBack {
    fn begin(term: &Arc<Term>) -> Box<dyn Duty> {
        let began = |uuid, token| Event::ReleaseBegan {
            uuid,
            token: Some(token),
        };
        term.emit(began);
        Box::new(Self(Some(Arc::clone(term))))
    }
}

impl Duty for GivesBack {
    /// To its holder the lease is released, as after any hand-over.
    fn was_taken(mut self: Box<Self>) {
        let Some(term) = self.0.take() else { return };
        term.store.source(&term.plan).measure(|| Measured::HandedOn);
        term.emit(|uuid, token| Event::ReleaseEnded {
            uuid,
            token: Some(token),
            ended: Ok(ReleaseEnd::Released),
        });
    }
}

impl Drop for GivesBack {
    fn drop(&mut self) {
        if let Some(term) = self.0.take() {
            PendingRelease::of(&term, None, None).spawn_lingered(&term.home);
        }
    }
}

/// Looks after the terms of one name that linger. Dropping it, with its runtime, ends what lingers there.
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
