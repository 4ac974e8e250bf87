//! A term that lingers with its client: it is on offer to the first waiter in line (S1), or to the next caller with
//! nobody in line (S7), and its release has returned. Who is not fit for it ends it. A keeper, a task of a layer above,
//! ends it in time (S4); one task for many terms, since to start one for each release would cost more than the release
//! saves.

use std::sync::{Arc, Weak};

use tokio::{runtime::Id, sync::Notify};
use uuid::Uuid;

use super::{Begun, Following, GoesOn, Known, NameState, Offer, PassBudget, Succession};
use crate::{Clock, time::HolderInstant};

/// The duty to give a term back that lingers. Dropping it sends the release, which takes the lock of the name.
pub(crate) trait Duty: Send {
    /// Another lease has followed: there is nothing to give back.
    fn was_taken(self: Box<Self>);
}

/// A term whose lease has ended, and on which the next one may follow. Dropping it sends the release.
pub(crate) struct OfferedTerm {
    pub(super) giver: Arc<dyn GoesOn>,
    pub(super) until: HolderInstant,
    /// It is for those who were in line when it was offered.
    pub(super) in_line: bool,
    pub(super) duty: Box<dyn Duty>,
}

/// What looks after the terms of a name that linger: a task on the runtime where their releases run. Dropping this wakes
/// the task, which ends.
pub(super) struct Keeper {
    runtime: Id,
    identity: Weak<Notify>,
    /// Until when it sleeps.
    wakes: HolderInstant,
}

/// A keeper exists as long as its identity does, which rings when the keeper is needed no longer.
pub(crate) type KeeperIdentity = Arc<Notify>;

/// Whether a term lingers.
pub(crate) enum Lingers {
    /// The term does not go on.
    No,
    /// It does, and there is a keeper.
    Kept,
    /// It does, and the caller has to start this keeper.
    Unkept(KeeperIdentity),
}

impl Keeper {
    fn is_for(&self, runtime: Id) -> bool {
        self.runtime == runtime && self.identity.strong_count() > 0
    }

    fn is(&self, identity: &KeeperIdentity) -> bool {
        self.identity.as_ptr() == Arc::as_ptr(identity)
    }

    /// An offer may end sooner than the one that it sleeps for: a term that was on offer to the line lingers next (S7).
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
    fn keeper_for(&mut self, runtime: Id, until: HolderInstant) -> (Lingers, Option<Keeper>) {
        if let Some(keeper) = self.keeper.as_mut().filter(|keeper| keeper.is_for(runtime)) {
            keeper.wakes_by(until);
            return (Lingers::Kept, None);
        }
        let identity = KeeperIdentity::default();
        let before = self.keeper.replace(Keeper {
            runtime,
            identity: Arc::downgrade(&identity),
            wakes: until,
        });
        (Lingers::Unkept(identity), before)
    }
}

impl NameState {
    /// The release of a lease begins, whose term lingers if it may go on: until the instant that `until` says, given
    /// whether anybody is in line. If so, the duty to give it back begins, before anybody can take the term: `begin` is
    /// asked for it, and has none where the client is closed. `runtime`: where its release will run.
    pub(crate) fn linger(
        &self,
        giver: Arc<dyn GoesOn>,
        until: impl FnOnce(bool) -> Option<HolderInstant>,
        runtime: Id,
        begin: impl FnOnce() -> Option<Box<dyn Duty>>,
    ) -> Lingers {
        let mut known = self.known();
        // A later term of ours has the line.
        if known.newest != Some(giver.uuid()) {
            return Lingers::No;
        }
        let succession = known.succession.get_or_insert_default();
        succession.pass_budget = PassBudget::default();
        let in_line = !succession.runtimes.is_empty();
        let until = until(in_line).filter(|_| succession.offer.is_none() && giver.may_go_on());
        let Some((until, duty)) = until.and_then(|until| Some((until, begin()?))) else {
            succession.ends_block(giver.is_used_up(), giver.clock());
            return Lingers::No;
        };
        succession.offer = Some(Offer::Term(OfferedTerm {
            giver,
            until,
            in_line,
            duty,
        }));
        let (lingers, before) = succession.keeper_for(runtime, until);
        drop(known);
        drop(before);
        if in_line {
            self.freed.notify_waiters();
        }
        lingers
    }

    /// The same as [`NameState::succeed`] for a caller outside of the line. While anybody is in line the term is the
    /// first waiter's.
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
        let offered = known.take_term_if(|_| true)?;
        Some(self.follow(known, offered, clock, begin))
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
        let until = match &succession.offer {
            Some(Offer::Term(offered)) => Some(offered.until),
            Some(Offer::Claim(..)) | None => None,
        };
        if let Some(until) = until.filter(|until| now < *until && !at_once) {
            if let Some(keeper) = &mut succession.keeper {
                keeper.wakes = until;
            }
            return Some(until);
        }
        succession.keeper = None;
        let over = self.stop_lingering(&mut known, |_| true);
        drop(known);
        drop(over);
        None
    }

    /// Retires a term that lingers (G4). The offer is to be dropped without the lock, which sends the release.
    fn stop_lingering(
        &self,
        known: &mut Known,
        which: impl FnOnce(&dyn GoesOn) -> bool,
    ) -> Option<OfferedTerm> {
        let offered = known.take_term_if(|offered| which(&*offered.giver))?;
        self.is_over(known, &*offered.giver);
        Some(offered)
    }
}
