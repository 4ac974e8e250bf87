//! Handing a name to the client's own next waiter (H1, H3): the waiters in line, the offer that a releasing
//! task makes to the first of them, and the pass budget that ends a row of hand-overs (H5). Sends nothing:
//! the releasing task keeps the duty to release until a waiter's try was granted, so nothing is lost with a
//! waiter.

#[cfg(test)]
mod tests;

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::{
    runtime::{Handle, Id},
    sync::oneshot,
};
use uuid::Uuid;

use super::{
    NameState,
    runtimes::{Runtimes, Waiter},
};
use crate::{
    Clock,
    emit::emit,
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
    /// The term whose release has begun, until a waiter takes it or the releasing task takes it back.
    offer: Option<Offer>,
    pass_budget: PassBudget,
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

/// The releasing task's end of a hand-over. Dropping it withdraws an offer that no waiter has taken.
pub(crate) struct HandOver {
    state: Arc<NameState>,
    uuid: Uuid,
    verdict: oneshot::Receiver<()>,
}

/// The successor's end of a hand-over: a term that it may claim, ground (b) of `prev`. Dropping it tells the
/// releasing task to send its release.
pub(crate) struct Offer {
    pub(crate) version: Version,
    granted: oneshot::Sender<()>,
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
        let runtimes = &mut known.succession.runtimes;
        runtimes.join(&runtime, Weak::clone(&waiter), patience);
        Registration {
            state: Arc::clone(self),
            runtime: runtime.id(),
            waiter,
        }
    }

    /// Retires an identity whose release begins (G4). If it is a lease's, its term is offered to the first
    /// waiter in line, in the same instant. `None` if nobody waits, or if the pass budget is used up: then the
    /// release is sent.
    pub(crate) fn hand_over_to_waiter(
        self: &Arc<Self>,
        clock: &Clock,
        plan: &Plan,
        uuid: Uuid,
        version: Option<Version>,
    ) -> Option<HandOver> {
        let now = clock.contender_now();
        let mut known = self.known();
        self.mark_retired(&mut known, clock, uuid, plan.duration, Duration::ZERO);
        let version = version?;
        // We were granted a later term: this one is over in the store, and does not end the row of hand-overs.
        if known.newest != Some(version.uuid) {
            return None;
        }
        let Succession {
            runtimes,
            offer,
            pass_budget,
        } = &mut known.succession;
        let since = *pass_budget.since.get_or_insert(now);
        let long = pass_budget.passes >= MOST_PASSES || clock.elapsed(since) >= plan.pass_time();
        if runtimes.is_empty() || offer.is_some() || long {
            *pass_budget = PassBudget::default();
            return None;
        }
        pass_budget.passes += 1;
        let (granted, verdict) = oneshot::channel();
        *offer = Some(Offer { version, granted });
        drop(known);
        self.freed.notify_waiters();
        Some(HandOver {
            state: Arc::clone(self),
            uuid: version.uuid,
            verdict,
        })
    }

    /// A term is on offer to the first waiter in line.
    pub(crate) fn is_offered(&self) -> bool {
        self.known().succession.offer.is_some()
    }

    /// Takes what is on offer. Only the first waiter in line does.
    pub(crate) fn take_offer(&self) -> Option<Offer> {
        self.known().succession.offer.take()
    }

    /// Takes what is on offer if it is this term.
    pub(crate) fn take_offer_of(&self, uuid: Uuid) -> Option<Offer> {
        let mut known = self.known();
        let offer = &mut known.succession.offer;
        offer.take_if(|offer| offer.version.uuid == uuid)
    }

    /// The name came from the store, or goes back to it: the next hand-over is the first of a new row.
    pub(crate) fn reset_passes(&self) {
        self.known().succession.pass_budget = PassBudget::default();
    }

    /// The name came to a lease of ours by a hand-over, and will probably go on to the first waiter in line in
    /// the same way.
    pub(crate) fn is_passed_on(&self) -> bool {
        let known = self.known();
        known.succession.pass_budget.passes > 0 && !known.live.is_empty()
    }
}

impl Offer {
    /// The try that claimed it was granted: there is nothing to release any more.
    pub(crate) fn granted(self) {
        // The releasing task is gone only if its runtime has ended.
        let _gone = self.granted.send(());
    }
}

impl HandOver {
    /// Whether a waiter's try was granted. False as soon as none can be, or has taken too long: other processes
    /// wait as well, and the release is safe beside a try that is still under way (H3).
    pub(crate) async fn granted(mut self, clock: &Clock, plan: &Plan) -> bool {
        let granted = self.verdict(clock, plan).await;
        if !granted {
            self.resets_passes();
        }
        granted
    }

    /// The name goes back to the store, unless we were granted a later term: its row of hand-overs goes on.
    fn resets_passes(&self) {
        let mut known = self.state.known();
        if known.newest == Some(self.uuid) {
            known.succession.pass_budget = PassBudget::default();
        }
    }

    async fn verdict(&mut self, clock: &Clock, plan: &Plan) -> bool {
        tokio::select! {
            biased;
            verdict = &mut self.verdict => return verdict.is_ok(),
            () = clock.pause(plan.successor_patience()) => {}
        }
        if self.take_back() {
            emit(|| tracing::debug!(name: "hand_on_unclaimed", "nobody came for the lock"));
            return false;
        }
        // The successor's try gets the time of an attempt.
        tokio::select! {
            biased;
            verdict = &mut self.verdict => verdict.is_ok(),
            () = clock.pause(plan.attempt()) => false,
        }
    }

    /// Whether the offer was still there.
    fn take_back(&self) -> bool {
        self.state.take_offer_of(self.uuid).is_some()
    }
}

impl Drop for HandOver {
    fn drop(&mut self) {
        let _taken_by_somebody = self.take_back();
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut known = self.state.known();
        let Succession {
            runtimes, offer, ..
        } = &mut known.succession;
        runtimes.leave(self.runtime, &self.waiter);
        let unclaimed = offer.take_if(|_| runtimes.is_empty());
        drop(known);
        drop(unclaimed);
    }
}
