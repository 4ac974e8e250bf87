//! S7: a term that lingers: it is on offer with nobody in line, and no task waits for what becomes of it. The next caller
//! takes it, or ends it where it is not for that caller's lock. A keeper, a task of a layer above, ends it in time; one
//! task for many terms, since to start one for each release would cost more than the release saves.

use std::sync::{Arc, Weak};

use tokio::{runtime::Id, sync::Notify};
use uuid::Uuid;

use super::{Begun, Following, GoesOn, Known, NameState, Offer, Offered, Releaser, Succession};
use crate::{
    Clock,
    time::{HolderInstant, Plan},
};

/// The duty to give a term back that lingers. Dropping it sends the release, which takes the lock of the name.
pub(crate) trait Duty: Send {
    /// Another lease has followed: there is nothing to give back.
    fn was_taken(self: Box<Self>);
}

pub(super) struct Lingering {
    until: HolderInstant,
    pub(super) duty: Box<dyn Duty>,
}

/// What looks after the terms of a name that linger: a task on the runtime where their releases run. It counts as
/// running for the locks with this plan, as long as it is needed. Dropping this wakes the task, which ends.
pub(super) struct Keeper {
    runtime: Id,
    plan: Arc<Plan>,
    identity: Weak<Notify>,
    _tracked: Box<dyn Send>,
}

/// A keeper exists as long as its identity does, which rings when the keeper is needed no longer.
pub(crate) type KeeperIdentity = Arc<Notify>;

/// Whether a term lingers.
pub(crate) enum Lingers {
    /// Somebody is in line, or the term does not go on.
    No,
    /// It does, and there is a keeper.
    Kept,
    /// It does, and the caller has to start this keeper.
    Unkept(KeeperIdentity),
}

impl Keeper {
    fn is_for(&self, runtime: Id, plan: &Arc<Plan>) -> bool {
        let alive = self.identity.strong_count() > 0;
        alive && self.runtime == runtime && Arc::ptr_eq(&self.plan, plan)
    }

    fn is(&self, identity: &KeeperIdentity) -> bool {
        self.identity.as_ptr() == Arc::as_ptr(identity)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if let Some(identity) = self.identity.upgrade() {
            identity.notify_one();
        }
    }
}

impl Offer {
    pub(super) fn lingers(&self) -> bool {
        self.lingers_until().is_some()
    }

    /// Its time is over.
    pub(super) fn has_lingered(&self, clock: &Clock) -> bool {
        self.lingers_until()
            .is_some_and(|until| clock.now() >= until)
    }

    fn lingers_until(&self) -> Option<HolderInstant> {
        match &self.releaser {
            Releaser::Lingering(Lingering { until, .. }) => Some(*until),
            Releaser::Task(_) => None,
        }
    }
}

impl Succession {
    fn is_kept_by(&self, identity: &KeeperIdentity) -> bool {
        self.keeper
            .as_ref()
            .is_some_and(|keeper| keeper.is(identity))
    }

    /// With the keeper that it replaces, which is to be dropped without the lock of the name: that wakes others.
    fn keeper_for(
        &mut self,
        runtime: Id,
        plan: &Arc<Plan>,
        track: impl FnOnce() -> Box<dyn Send>,
    ) -> (Lingers, Option<Keeper>) {
        let keeper = self.keeper.as_ref();
        if keeper.is_some_and(|keeper| keeper.is_for(runtime, plan)) {
            return (Lingers::Kept, None);
        }
        let identity = KeeperIdentity::default();
        let before = self.keeper.replace(Keeper {
            runtime,
            plan: Arc::clone(plan),
            identity: Arc::downgrade(&identity),
            _tracked: track(),
        });
        (Lingers::Unkept(identity), before)
    }
}

impl NameState {
    /// The release of a lease begins, whose term lingers until then if it may go on and nobody is in line. If so, the
    /// duty to give it back begins, before anybody can take the term; `begin` is asked for it once the keeper counts as
    /// running, by `track`, and has none where the client is closed. `runtime`: where its release will run.
    pub(crate) fn linger(
        &self,
        term: Arc<dyn GoesOn>,
        until: HolderInstant,
        (runtime, plan): (Id, &Arc<Plan>),
        track: impl FnOnce() -> Box<dyn Send>,
        begin: impl FnOnce() -> Option<Box<dyn Duty>>,
    ) -> Lingers {
        let mut known = self.known();
        if known.newest != Some(term.uuid()) {
            return Lingers::No;
        }
        let succession = known.succession.get_or_insert_default();
        let nobody = succession.runtimes.is_empty() && succession.offer.is_none();
        if !nobody || !term.may_go_on() {
            return Lingers::No;
        }
        let (lingers, before) = succession.keeper_for(runtime, plan, track);
        let Some(duty) = begin() else {
            let keeper = succession.keeper.take();
            drop(known);
            drop((keeper, before));
            return Lingers::No;
        };
        succession.offer = Some(Offer {
            offered: Offered::Term(term),
            releaser: Releaser::Lingering(Lingering { until, duty }),
        });
        drop(known);
        drop(before);
        lingers
    }

    /// The same as [`NameState::succeed`] for a caller outside of the line, with a term that lingers. While anybody is
    /// in line it is the first waiter's.
    pub(crate) fn take_lingering<L>(
        &self,
        clock: &Clock,
        begin: impl FnOnce(&dyn GoesOn, u64) -> Begun<L>,
    ) -> Option<Following<L>> {
        let mut known = self.known();
        let succession = known.succession.as_mut()?;
        if !succession.runtimes.is_empty() {
            return None;
        }
        let offer = known.take_offer_if(|offer| offer.lingers())?;
        self.follow(known, offer, clock, begin)
    }

    /// Somebody else wants this term: it lingers no longer.
    pub(crate) fn end_lingering(&self, uuid: Uuid) {
        let mut known = self.known();
        let over = self.stop_lingering(&mut known, |term| term.uuid() == uuid);
        drop(known);
        drop(over);
    }

    /// What a keeper is to do: sleep until this instant and ask again, or end. `at_once`: nothing lingers any more.
    pub(crate) fn keep(
        &self,
        identity: &KeeperIdentity,
        now: HolderInstant,
        at_once: bool,
    ) -> Option<HolderInstant> {
        let mut known = self.known();
        let succession = known
            .succession
            .as_mut()
            .filter(|succession| succession.is_kept_by(identity))?;
        let until = succession.offer.as_ref().and_then(Offer::lingers_until);
        if until.is_some_and(|until| now < until) && !at_once {
            return until;
        }
        // Until the release runs, it counts as running.
        let keeper = succession.keeper.take();
        let over = self.stop_lingering(&mut known, |_| true);
        drop(known);
        drop(over);
        drop(keeper);
        None
    }

    /// Retires a term that lingers (G4). The offer is to be dropped without the lock, which sends the release.
    fn stop_lingering(
        &self,
        known: &mut Known,
        which: impl FnOnce(&dyn GoesOn) -> bool,
    ) -> Option<Offer> {
        let offer = known.take_offer_if(|offer| match &offer.offered {
            Offered::Term(term) => offer.lingers() && which(&**term),
            Offered::Claim(_) => false,
        })?;
        let _over = self.is_over(known, &offer);
        Some(offer)
    }
}
