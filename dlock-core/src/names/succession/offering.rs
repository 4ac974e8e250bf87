//! A term that may continue is on offer to the first waiter in line, and its release has returned. A waiter that is not
//! fit for it ends it. A keeper, a task of a layer above, ends it in time; one task serves many terms, since starting
//! one for each release would cost more than the release saves.

use std::sync::{Arc, MutexGuard};

use tokio::runtime::Id;

use crate::{
    names::{
        Known, NameState,
        offer::{Duty, GoesOn, Keeper, KeeperIdentity, OfferedTerm},
        queue::Line,
    },
    time::HolderInstant,
};

/// Whether a term is on offer.
pub(crate) enum Offering {
    /// The term does not continue.
    No,
    /// It is, and there is a keeper.
    Kept,
    /// It is, and the caller has to start this keeper.
    Unkept(KeeperIdentity),
}

impl Keeper {
    fn is(&self, identity: &KeeperIdentity) -> bool {
        self.identity.as_ptr() == Arc::as_ptr(identity)
    }
}

impl Line {
    fn is_kept_by(&self, identity: &KeeperIdentity) -> bool {
        self.keeper
            .as_ref()
            .is_some_and(|keeper| keeper.is(identity))
    }

    fn keeper_until(&mut self, until: HolderInstant) -> Offering {
        if let Some(keeper) = &mut self.keeper
            && let Some(identity) = keeper.identity.upgrade()
        {
            // An offer may end sooner than the one that the keeper sleeps for: that of a shorter lease.
            if until < keeper.wakes {
                keeper.wakes = until;
                identity.notify_one();
            }
            return Offering::Kept;
        }
        let identity = KeeperIdentity::default();
        self.keeper = Some(Keeper {
            identity: Arc::downgrade(&identity),
            wakes: until,
        });
        Offering::Unkept(identity)
    }
}

impl NameState {
    /// Offers the term of a lease whose release begins, until `until` at the latest, if the term may continue and a
    /// waiter is in line on this runtime, where its release will run. If so, the duty to release it begins before any
    /// waiter can take the term: `begin` returns that duty, or `None` if the client is closed.
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
        let Some(line) = known.line(runtime) else {
            return Offering::No;
        };
        let goes_on = !line.arrivals.is_empty() && line.offer.is_none() && giver.may_go_on();
        let Some(duty) = goes_on.then(begin).flatten() else {
            line.ends_block(giver.is_used_up(), giver.clock());
            return Offering::No;
        };
        line.offer = Some(OfferedTerm { giver, until, duty });
        let offering = line.keeper_until(until);
        let queue = Arc::clone(&line.queue);
        drop(known);
        queue.freed.notify_waiters();
        offering
    }

    /// The next step of a keeper: sleep until this instant and call again, or end. `at_once`: nothing stays on offer.
    pub(crate) fn keep(
        &self,
        identity: &KeeperIdentity,
        now: HolderInstant,
        at_once: bool,
    ) -> Option<HolderInstant> {
        let mut known = self.known();
        let mut lines = known.lines.iter_mut();
        let line = lines.find(|line| line.is_kept_by(identity))?;
        let until = line.offer.as_ref().map(|offered| offered.until);
        if let Some(until) = until.filter(|until| now < *until && !at_once) {
            if let Some(keeper) = &mut line.keeper {
                keeper.wakes = until;
            }
            return Some(until);
        }
        line.keeper = None;
        let over = line.offer.take();
        known.forget_idle_lines();
        self.give_back(known, over);
        None
    }

    /// Ends an offer whose time has passed: its keeper is late, or on a runtime that no thread drives, and would keep
    /// waiters on other runtimes from the name for as long as the lease lasts.
    pub(crate) fn end_late_offer(&self, now: HolderInstant) {
        let mut known = self.known();
        let mut lines = known.lines.iter_mut();
        let over = lines.find_map(|line| line.offer.take_if(|offered| offered.until <= now));
        self.give_back(known, over);
    }

    /// Drops the lock of the name before the release is sent.
    pub(in crate::names) fn give_back(
        &self,
        mut known: MutexGuard<'_, Known>,
        over: Option<OfferedTerm>,
    ) {
        if let Some(offered) = &over {
            self.is_over(&mut known, offered);
        }
        drop(known);
        drop(over);
    }
}
