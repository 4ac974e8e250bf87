//! A term that may go on is on offer to the first waiter in line (S1), and its release has returned. A waiter that is not
//! fit for it ends it. A keeper, a task of a layer above, ends it in time (S4); one task for many terms, since to start
//! one for each release would cost more than the release saves.

use std::sync::{Arc, Weak};

use tokio::{runtime::Id, sync::Notify};

use super::{GoesOn, NameState, Succession};
use crate::time::HolderInstant;

/// The duty to give a term back that is on offer. Dropping it sends the release, which takes the lock of the name.
pub(crate) trait Duty: Send {
    /// Another lease has followed: there is nothing to give back.
    fn was_taken(self: Box<Self>);
}

/// A term whose lease has ended, and on which the next one may follow. Dropping it sends the release.
pub(crate) struct OfferedTerm {
    pub(super) giver: Arc<dyn GoesOn>,
    pub(super) until: HolderInstant,
    pub(super) duty: Box<dyn Duty>,
}

/// What looks after the terms of a name that are on offer: a task on the runtime where their releases run. Dropping this wakes
/// the task, which ends.
pub(super) struct Keeper {
    runtime: Id,
    identity: Weak<Notify>,
    /// Until when it sleeps.
    wakes: HolderInstant,
}

/// A keeper exists as long as its identity does, which rings when the keeper is needed no longer.
pub(crate) type KeeperIdentity = Arc<Notify>;

/// Whether a term is on offer.
pub(crate) enum Offering {
    /// The term does not go on.
    No,
    /// It is, and there is a keeper.
    Kept,
    /// It is, and the caller has to start this keeper.
    Unkept(KeeperIdentity),
}

impl Keeper {
    fn is_for(&self, runtime: Id) -> bool {
        self.runtime == runtime && self.identity.strong_count() > 0
    }

    fn is(&self, identity: &KeeperIdentity) -> bool {
        self.identity.as_ptr() == Arc::as_ptr(identity)
    }

    /// An offer may end sooner than the one that it sleeps for: that of a shorter lease.
    fn wakes_by(&mut self, until: HolderInstant) {
        if until < self.wakes
            && let Some(identity) = self.identity.upgrade()
        {
            self.wakes = until;
            identity.notify_one();
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if let Some(identity) = self.identity.upgrade() {
            identity.notify_one();
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
    fn keeper_for(&mut self, runtime: Id, until: HolderInstant) -> (Offering, Option<Keeper>) {
        if let Some(keeper) = self.keeper.as_mut().filter(|keeper| keeper.is_for(runtime)) {
            keeper.wakes_by(until);
            return (Offering::Kept, None);
        }
        let identity = KeeperIdentity::default();
        let before = self.keeper.replace(Keeper {
            runtime,
            identity: Arc::downgrade(&identity),
            wakes: until,
        });
        (Offering::Unkept(identity), before)
    }
}

impl NameState {
    /// The release of a lease begins, whose term is on offer until then if it may go on and anybody is in line. If so,
    /// the duty to give it back begins, before anybody can take the term: `begin` is asked for it, and has none where the
    /// client is closed. `runtime`: where its release will run.
    pub(crate) fn offer_term(
        &self,
        giver: Arc<dyn GoesOn>,
        until: HolderInstant,
        runtime: Id,
        begin: impl FnOnce() -> Option<Box<dyn Duty>>,
    ) -> Offering {
        let mut known = self.known();
        // A later term of ours has the line.
        if known.newest != Some(giver.uuid()) {
            return Offering::No;
        }
        let succession = known.succession.get_or_insert_default();
        let goes_on =
            !succession.runtimes.is_empty() && succession.offer.is_none() && giver.may_go_on();
        let Some(duty) = goes_on.then(begin).flatten() else {
            succession.ends_block(giver.is_used_up(), giver.clock());
            return Offering::No;
        };
        succession.offer = Some(OfferedTerm { giver, until, duty });
        let (offering, before) = succession.keeper_for(runtime, until);
        drop(known);
        drop(before);
        self.freed.notify_waiters();
        offering
    }

    /// What a keeper is to do: sleep until this instant and ask again, or end. `at_once`: nothing stays on offer.
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
        let until = succession.offer.as_ref().map(|offered| offered.until);
        if let Some(until) = until.filter(|until| now < *until && !at_once) {
            if let Some(keeper) = &mut succession.keeper {
                keeper.wakes = until;
            }
            return Some(until);
        }
        succession.keeper = None;
        let over = known.take_offer();
        if let Some(offered) = &over {
            self.is_over(&mut known, &*offered.giver);
        }
        drop(known);
        drop(over);
        None
    }
}
