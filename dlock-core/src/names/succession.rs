//! Handing a name to the client's own next waiter: the waiters in line, and the term that is on offer to the first of
//! them, which goes on with a lease of the waiter's (S1). Sends nothing. The duty to release stays with the offer and its
//! keeper (`offering`) until the waiter has a lease, so nothing is lost with a waiter (S4).

mod blocks;
mod offering;
#[cfg(test)]
mod tests;

use std::{
    any::Any,
    num::NonZeroU8,
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::runtime::{Handle, Id};
use uuid::Uuid;

pub(crate) use self::offering::{Duty, KeeperIdentity, Offering};
use self::{
    blocks::BlockSize,
    offering::{Keeper, OfferedTerm},
};
use super::{
    Known, NameState,
    runtimes::{Runtimes, Waiter},
};
use crate::{
    Clock,
    time::{ContenderInstant, Plan},
};

/// The waiters of one name, and what is on offer to them.
#[derive(Default)]
pub(super) struct Succession {
    /// Waiters in line, with the one that contends.
    pub(super) runtimes: Runtimes,
    /// The term whose lease has ended, until a waiter takes it or it goes back.
    offer: Option<OfferedTerm>,
    /// When the newest term was granted, if it has tokens for more leases than one.
    block_since: Option<ContenderInstant>,
    /// Of the next term for which a block is asked.
    block_size: BlockSize,
    /// What looks after terms on offer (S4).
    keeper: Option<Keeper>,
}

/// A waiter's registration; dropping the last one withdraws the offer.
pub(crate) struct Registration {
    state: Arc<NameState>,
    runtime: Id,
    waiter: Weak<dyn Waiter>,
}

/// A term whose lease has ended, and on which another lease of this client may follow (S1).
pub(crate) trait GoesOn: Any + Send + Sync {
    fn uuid(&self) -> Uuid;
    fn duration(&self) -> Duration;
    fn clock(&self) -> &Clock;
    /// S1, S3: whether another lease may follow.
    fn may_go_on(&self) -> bool;
    /// S3: no token is left for another.
    fn is_used_up(&self) -> bool;
}

/// What became of a term that was on offer.
pub(crate) enum Following<L> {
    /// It goes on with this lease.
    Lease(L),
    /// It does not: its release is on its way.
    Over(Uuid),
}

impl Succession {
    /// A term of this client begins.
    pub(super) fn begins(&mut self) {
        self.block_since = None;
    }

    /// A term with a block of tokens goes back to the store.
    fn ends_block(&mut self, used_up: bool, clock: &Clock) {
        let since = self.block_since.filter(|_| used_up);
        self.block_size = since.map_or_else(BlockSize::default, |since| {
            self.block_size.after_used_up(clock.elapsed(since))
        });
    }

    /// What would be forgotten with it is worth nothing.
    fn is_idle(&self) -> bool {
        let Self {
            runtimes,
            offer,
            block_since,
            block_size: _,
            keeper,
        } = self;
        runtimes.is_empty() && offer.is_none() && block_since.is_none() && keeper.is_none()
    }
}

impl Known {
    pub(super) fn is_offered(&self) -> bool {
        let succession = self.succession.as_ref();
        succession.is_some_and(|succession| succession.offer.is_some())
    }

    fn take_offer(&mut self) -> Option<OfferedTerm> {
        self.succession.as_mut()?.offer.take()
    }
}

impl NameState {
    /// Registers a waiter until the returned value is dropped. Its runtime must not stand still for longer than
    /// `patience`.
    pub(crate) fn register(
        self: &Arc<Self>,
        waiter: Weak<dyn Waiter>,
        patience: Duration,
    ) -> Registration {
        // Its task will run here.
        let runtime = Handle::current();
        let mut known = self.known();
        let runtimes = &mut known.succession.get_or_insert_default().runtimes;
        runtimes.join(&runtime, Weak::clone(&waiter), patience);
        Registration {
            state: Arc::clone(self),
            runtime: runtime.id(),
            waiter,
        }
    }

    /// The newest term, which was granted just now, has tokens for more leases than one.
    pub(crate) fn has_block(&self, clock: &Clock) {
        let mut known = self.known();
        known.succession.get_or_insert_default().block_since = Some(clock.contender_now());
    }

    /// How many tokens to ask for where leases are to follow one another on a term.
    pub(crate) fn block_size(&self) -> NonZeroU8 {
        let known = self.known();
        let succession = known.succession.as_deref();
        let size = succession.map(|succession| succession.block_size);
        size.unwrap_or_default().tokens()
    }

    /// How many waiters stand in line, with the one that contends.
    pub(crate) fn waiters(&self) -> usize {
        let known = self.known();
        let succession = known.succession.as_ref();
        succession.map_or(0, |succession| succession.runtimes.waiters())
    }

    /// A term is on offer to the first waiter in line.
    pub(crate) fn is_offered(&self) -> bool {
        self.known().is_offered()
    }

    /// S1: goes on with the term on offer, by what `begin` does with it and with the highest token that was seen beside
    /// those of its block (T6). Only the first waiter in line does. If that cannot be, the term is over, and its release is
    /// sent.
    ///
    /// One step: its keeper finds either the offer or nothing to give back.
    pub(crate) fn succeed<L>(
        &self,
        clock: &Clock,
        begin: impl FnOnce(&dyn GoesOn, u64) -> Option<L>,
    ) -> Option<Following<L>> {
        let mut known = self.known();
        let offered = known.take_offer()?;
        let giver = &*offered.giver;
        // A later term of ours has larger tokens; and a keeper may be late.
        let in_time = known.newest == Some(giver.uuid()) && clock.now() < offered.until;
        let Some(lease) = in_time
            .then(|| begin(giver, known.highest_elsewhere))
            .flatten()
        else {
            let uuid = giver.uuid();
            self.is_over(&mut known, giver);
            drop(known);
            return Some(Following::Over(uuid));
        };
        drop(known);
        offered.duty.was_taken();
        Some(Following::Lease(lease))
    }

    /// A lease of ours has the name, and its term will probably go on with the first waiter in line.
    pub(crate) fn will_go_on(&self, clock: &Clock, plan: &Plan) -> bool {
        let known = self.known();
        let since = known.succession.as_ref().and_then(|line| line.block_since);
        since.is_some_and(|since| clock.elapsed(since) < plan.succession_time())
            && !known.live.is_empty()
    }

    /// A term that is on offer no more, and has not gone on, is retired (G4), before its release runs.
    fn is_over(&self, known: &mut Known, giver: &dyn GoesOn) {
        let (clock, uuid) = (giver.clock(), giver.uuid());
        self.mark_retired(known, clock, uuid, giver.duration(), Duration::ZERO);
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut known = self.state.known();
        let Some(succession) = &mut known.succession else {
            return;
        };
        let Succession {
            runtimes, offer, ..
        } = &mut **succession;
        runtimes.leave(self.runtime, &self.waiter);
        let unclaimed = offer.take_if(|_| runtimes.is_empty());
        if succession.is_idle() {
            // Most names are held for longer than they are waited for.
            known.succession = None;
        }
        if let Some(offered) = &unclaimed {
            self.state.is_over(&mut known, &*offered.giver);
        }
        drop(known);
        drop(unclaimed);
    }
}
