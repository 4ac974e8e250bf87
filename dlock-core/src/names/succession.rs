//! Handing a name to the client's own next waiter: the term that is on offer to the first waiter in line continues with
//! a lease of the waiter's (the book, "Waiting": Terms that continue inside a client). Sends nothing. The duty to
//! release stays with the offer and its keeper (`offering`) until the waiter has a lease, so nothing is lost if a
//! waiter is.

mod offering;
#[cfg(test)]
mod tests;

use std::time::Duration;

use tokio::runtime::Id;
use uuid::Uuid;

pub(crate) use self::offering::Offering;
use super::{
    Known, NameState,
    blocks::BlockSize,
    offer::{GoesOn, OfferedTerm},
    queue::Line,
};
use crate::{Clock, time::Plan};

/// The outcome for a term that was on offer.
pub(crate) enum Following<L> {
    /// It continues with this lease.
    Lease(L),
    /// It does not: its release is in flight.
    Over(Uuid),
}

impl Line {
    /// A term with a block of tokens goes back to the store, with its tokens used up or not.
    fn ends_block(&mut self, used_up: bool, clock: &Clock) {
        let since = self.block_since.filter(|_| used_up);
        self.block_size = since.map_or_else(BlockSize::default, |since| {
            self.block_size.after_used_up(clock.elapsed(since))
        });
    }
}

impl NameState {
    /// Whether a term is on offer to the first waiter in line on this runtime.
    pub(crate) fn is_offered(&self, runtime: Id) -> bool {
        let mut known = self.known();
        known.line(runtime).is_some_and(|line| line.offer.is_some())
    }

    /// Continues the term on offer on this runtime. `begin` begins the lease, with the highest token that was seen
    /// apart from those of its block (T6). Only the first waiter in line calls this. If the term cannot continue, it
    /// ends, and its release is sent.
    ///
    /// One step: its keeper finds either the offer or nothing to release.
    pub(crate) fn succeed<L>(
        &self,
        runtime: Id,
        clock: &Clock,
        begin: impl FnOnce(&dyn GoesOn, u64) -> Option<L>,
    ) -> Option<Following<L>> {
        let mut known = self.known();
        let offered = known.line(runtime)?.offer.take()?;
        let giver = &*offered.giver;
        // A later term of ours has larger tokens; and a keeper may be late.
        let in_time = known.newest == Some(giver.uuid()) && clock.now() < offered.until;
        let lease = in_time.then(|| begin(giver, known.highest_elsewhere));
        let Some(lease) = lease.flatten() else {
            let uuid = giver.uuid();
            self.is_over(&mut known, &offered);
            drop(known);
            return Some(Following::Over(uuid));
        };
        drop(known);
        offered.duty.was_taken();
        Some(Following::Lease(lease))
    }

    /// Whether a lease of this runtime has the name, and its term will probably continue with the first waiter in
    /// line.
    pub(crate) fn will_go_on(&self, runtime: Id, clock: &Clock, plan: &Plan) -> bool {
        let mut known = self.known();
        let since = known.line(runtime).and_then(|line| line.block_since);
        since.is_some_and(|since| clock.elapsed(since) < plan.succession_time())
            && !known.live.is_empty()
    }

    /// Retires a term that is no longer on offer and has not continued, before its release runs.
    pub(super) fn is_over(&self, known: &mut Known, offered: &OfferedTerm) {
        let giver = &*offered.giver;
        let (clock, uuid) = (giver.clock(), giver.uuid());
        self.mark_retired(known, clock, uuid, giver.duration(), Duration::ZERO);
    }
}
