//! Handing a name to the client's own next waiter: the waiters in line, and what is on offer to the first of them. Either
//! a term goes on with a lease of the waiter's (S1), or the waiter's try may claim it (H1, H3), within the pass budget
//! that ends a row of such hand-overs (H5). Sends nothing. The duty to release stays behind until the waiter has a
//! lease, so nothing is lost with a waiter (S4): with the releasing task, which waits for the verdict on a claim
//! (`hand_over`), or with the keeper of a term that may go on (`offering`).

mod blocks;
mod hand_over;
mod offering;
#[cfg(test)]
mod tests;

use std::{
    any::Any,
    num::NonZeroU8,
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::{
    runtime::{Handle, Id},
    sync::oneshot,
};
use uuid::Uuid;

use self::{
    blocks::BlockSize,
    offering::{Keeper, OfferedTerm},
};
pub(crate) use self::{
    hand_over::HandOver,
    offering::{Duty, KeeperIdentity, Offering},
};
use super::{
    Known, NameState,
    runtimes::{Runtimes, Waiter},
};
use crate::{
    Clock,
    provider::Version,
    time::{ContenderInstant, Plan},
};

/// H5: the most hand-overs in a row. Each saves the store a write and a waiter a round trip; together they
/// keep the waiters of other processes waiting. Sixteen leave 6 % of what there is to save.
const MOST_PASSES: usize = 16;

/// The waiters of one name, and what is on offer to them.
#[derive(Default)]
pub(super) struct Succession {
    /// Waiters in line, with the one that contends.
    pub(super) runtimes: Runtimes,
    /// The term whose release has begun, until a waiter takes it or it is taken back.
    offer: Option<Offer>,
    pass_budget: PassBudget,
    /// When the newest term was granted, if it has tokens for more leases than one.
    block_since: Option<ContenderInstant>,
    /// Of the next term for which a block is asked.
    block_size: BlockSize,
    /// When a term last did not go on because the waiter's lock is unlike its holder's.
    unlike_since: Option<ContenderInstant>,
    /// What looks after terms on offer (S4).
    keeper: Option<Keeper>,
}

/// Hand-overs in a row: since when, and how many. (Cohort locks call this limit a pass budget.)
#[derive(Default)]
struct PassBudget {
    since: Option<ContenderInstant>,
    passes: usize,
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

/// What became of a try to begin the next lease on a term.
pub(crate) enum Begun<L> {
    Lease(L),
    /// The waiter's lock is unlike its holder's.
    Unlike,
    /// The term is over.
    Over,
}

/// What became of a term that was on offer.
pub(crate) enum Following<L> {
    /// It goes on with this lease.
    Lease(L),
    /// It does not: its release is on its way.
    Over(Uuid),
}

/// What is on offer to the first waiter in line. Dropping it has the release sent.
pub(crate) enum Offer {
    /// The waiter may claim this version, ground (b) of `prev`. The releasing task waits for the verdict.
    Claim(Version, oneshot::Sender<()>),
    /// The term may go on with a lease of the waiter's (S1).
    Term(OfferedTerm),
}

impl Succession {
    /// A term of this client begins.
    pub(super) fn begins(&mut self) {
        self.block_since = None;
    }

    /// Whether the first waiter in line may claim the newest term, which counts against the pass budget.
    fn accepts_claim(&mut self, clock: &Clock, plan: &Plan) -> bool {
        let PassBudget { since, passes } = std::mem::take(&mut self.pass_budget);
        if self.runtimes.is_empty() || self.offer.is_some() {
            return false;
        }
        let now = clock.contender_now();
        let since = since.unwrap_or(now);
        let long = passes >= MOST_PASSES || now.since(since) >= plan.pass_time();
        if !long {
            self.pass_budget = PassBudget {
                since: Some(since),
                passes: passes + 1,
            };
        }
        !long
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
            pass_budget,
            block_since,
            block_size: _,
            unlike_since,
            keeper,
        } = self;
        let counts = pass_budget.since.or(*block_since).or(*unlike_since);
        runtimes.is_empty() && offer.is_none() && counts.is_none() && keeper.is_none()
    }
}

impl Known {
    pub(super) fn is_offered(&self) -> bool {
        let succession = self.succession.as_ref();
        succession.is_some_and(|succession| succession.offer.is_some())
    }

    fn take_offer_if(&mut self, which: impl FnOnce(&mut Offer) -> bool) -> Option<Offer> {
        self.succession.as_mut()?.offer.take_if(which)
    }

    fn take_term(&mut self) -> Option<OfferedTerm> {
        let taken = self.take_offer_if(|offer| matches!(offer, Offer::Term(_)));
        match taken? {
            Offer::Term(offered) => Some(offered),
            Offer::Claim(..) => None,
        }
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

    /// Takes what is on offer to be claimed. Only the first waiter in line does.
    pub(crate) fn take_offer(&self) -> Option<Offer> {
        self.known()
            .take_offer_if(|offer| offer.version().is_some())
    }

    /// Takes what is on offer to be claimed if it is this term.
    pub(crate) fn take_offer_of(&self, uuid: Uuid) -> Option<Offer> {
        self.known()
            .take_offer_if(|offer| offer.version().is_some_and(|version| version.uuid == uuid))
    }

    /// S1: goes on with the term on offer, by what `begin` does with it and with the highest token that was seen beside
    /// those of its block (T6). Only the first waiter in line does. If that cannot be, the term is over, and its release is
    /// sent.
    ///
    /// One step: its keeper finds either the offer or nothing to give back.
    pub(crate) fn succeed<L>(
        &self,
        clock: &Clock,
        begin: impl FnOnce(&dyn GoesOn, u64) -> Begun<L>,
    ) -> Option<Following<L>> {
        let mut known = self.known();
        let offered = known.take_term()?;
        let giver = &*offered.giver;
        // A later term of ours has larger tokens; and a keeper may be late.
        let begun = if known.newest == Some(giver.uuid()) && clock.now() < offered.until {
            begin(giver, known.highest_elsewhere)
        } else {
            Begun::Over
        };
        if matches!(begun, Begun::Unlike) {
            let succession = known.succession.get_or_insert_default();
            succession.unlike_since = Some(clock.contender_now());
        }
        let Begun::Lease(lease) = begun else {
            let uuid = giver.uuid();
            self.is_over(&mut known, giver);
            drop(known);
            return Some(Following::Over(uuid));
        };
        drop(known);
        offered.duty.was_taken();
        Some(Following::Lease(lease))
    }

    /// A term that is on offer no more, and has not gone on, is retired (G4), before its release runs.
    fn is_over(&self, known: &mut Known, giver: &dyn GoesOn) {
        let (clock, uuid) = (giver.clock(), giver.uuid());
        self.mark_retired(known, clock, uuid, giver.duration(), Duration::ZERO);
    }

    /// Within the last lease a term did not go on because the waiter's lock is unlike its holder's. So it will be again
    /// where each caller has an owner or data of its own: claims are cheaper there than a release and an acquire.
    pub(crate) fn are_unlike(&self, clock: &Clock, plan: &Plan) -> bool {
        let mut known = self.known();
        let Some(succession) = &mut known.succession else {
            return false;
        };
        let since = &mut succession.unlike_since;
        // Not kept for longer than it counts.
        since.take_if(|since| clock.elapsed(*since) >= plan.duration);
        since.is_some()
    }

    /// The name came from the store, or goes back to it: the next hand-over is the first of a new row.
    pub(crate) fn reset_passes(&self) {
        if let Some(succession) = &mut self.known().succession {
            succession.pass_budget = PassBudget::default();
        }
    }

    /// A lease of ours has the name, and it will probably go to the first waiter in line without the store: it
    /// came to that lease by a hand-over, or its term goes on.
    pub(crate) fn is_passed_on(&self, clock: &Clock, plan: &Plan) -> bool {
        let known = self.known();
        let Some(Succession {
            pass_budget,
            block_since,
            ..
        }) = known.succession.as_deref()
        else {
            return false;
        };
        let goes_on =
            block_since.is_some_and(|since| clock.elapsed(since) < plan.succession_time());
        (pass_budget.passes > 0 || goes_on) && !known.live.is_empty()
    }
}

impl Offer {
    /// The version that the waiter may claim.
    pub(crate) fn version(&self) -> Option<Version> {
        match self {
            Self::Claim(version, _) => Some(*version),
            Self::Term(_) => None,
        }
    }

    /// The waiter has a lease: there is nothing to release any more.
    pub(crate) fn granted(self) {
        match self {
            Self::Claim(_, granted) => {
                // The releasing task is gone only if its runtime has ended.
                let _gone = granted.send(());
            }
            Self::Term(offered) => offered.duty.was_taken(),
        }
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
        if let Some(Offer::Term(offered)) = &unclaimed {
            self.state.is_over(&mut known, &*offered.giver);
        }
        drop(known);
        drop(unclaimed);
    }
}
