//! The releasing task's end of a hand-over (H1, H3, S1): it makes the offer, waits for the verdict of the first waiter in
//! line, for a while, and says whether there is still something to release. Dropping it withdraws what nobody has taken.

use std::{sync::Arc, time::Duration};

use tokio::sync::oneshot;
use uuid::Uuid;

use super::{GoesOn, NameState, Offer, Offered, PassBudget, Releaser};
use crate::{Clock, emit::emit, time::Plan};

/// The releasing task's end of a hand-over. Dropping it withdraws an offer that no waiter has taken.
pub(crate) struct HandOver {
    state: Arc<NameState>,
    uuid: Uuid,
    /// The lease on offer, if its term may go on.
    giver: Option<Arc<dyn GoesOn>>,
    verdict: oneshot::Receiver<()>,
}

impl NameState {
    /// The release of an identity begins. If it is a lease's, what it offers is on offer to the first waiter in
    /// line in the same instant. `None` if nobody waits, or if the name goes back to the store for other waiters'
    /// sake: then the release is sent, and the identity is retired (G4). So it is at once where the waiter is to
    /// claim the term; a term that goes on is not over (S1).
    pub(crate) fn hand_over_to_waiter(
        self: &Arc<Self>,
        clock: &Clock,
        plan: &Plan,
        uuid: Uuid,
        offered: Option<Offered>,
    ) -> Option<HandOver> {
        let giver = match &offered {
            Some(Offered::Term(term)) => Some(Arc::clone(term)),
            Some(Offered::Claim(_)) | None => None,
        };
        let mut known = self.known();
        // Where we were granted a later term, this one is over in the store, and does not end the row of hand-overs.
        let is_newest = known.newest == Some(uuid);
        let succession = known.succession.as_mut().filter(|_| is_newest);
        let accepted = succession.is_some_and(|succession| match &offered {
            Some(offered) => succession.accepts(offered, clock, plan),
            None => false,
        });
        let offered = offered.filter(|_| accepted);
        if giver.is_none() || offered.is_none() {
            self.mark_retired(&mut known, clock, uuid, plan.duration, Duration::ZERO);
        }
        let offered = offered?;
        let (granted, verdict) = oneshot::channel();
        known.succession.get_or_insert_default().offer = Some(Offer {
            offered,
            releaser: Releaser::Task(granted),
        });
        drop(known);
        self.freed.notify_waiters();
        Some(HandOver {
            state: Arc::clone(self),
            uuid,
            giver,
            verdict,
        })
    }
}

impl HandOver {
    /// Whether a waiter has a lease. False as soon as none can have, or has taken too long: other processes
    /// wait as well, and the release is safe beside a try that is still under way (H3).
    pub(crate) async fn granted(mut self, clock: &Clock, plan: &Plan) -> bool {
        let granted = self.verdict(clock, plan).await;
        if self.giver.is_some() {
            // A term that goes on is not released, however late the verdict comes.
            return !self.withdraw();
        }
        if !granted {
            self.resets_passes();
        }
        granted
    }

    /// The name goes back to the store, unless we were granted a later term: its row of hand-overs goes on.
    fn resets_passes(&self) {
        let mut known = self.state.known();
        if known.newest == Some(self.uuid)
            && let Some(succession) = &mut known.succession
        {
            succession.pass_budget = PassBudget::default();
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
        let taken = self.state.known().take_offer_if(|offer| self.made(offer));
        taken.is_some()
    }

    /// The offer is this task's. Another lease of the term may be on offer by now.
    fn made(&self, offer: &Offer) -> bool {
        match (&offer.offered, &self.giver) {
            (Offered::Term(offered), Some(giver)) => Arc::ptr_eq(offered, giver),
            (Offered::Claim(version), None) => version.uuid == self.uuid,
            _ => false,
        }
    }

    /// S1: ends the term's time with this client, unless it has gone on. Whether it ends.
    fn withdraw(&self) -> bool {
        let mut known = self.state.known();
        let untaken = known.take_offer_if(|offer| self.made(offer));
        let over = self.giver.as_ref().filter(|giver| !giver.has_successor());
        if let Some(giver) = over {
            self.state.ends_with(&mut known, &**giver);
        }
        drop(known);
        drop(untaken);
        over.is_some()
    }
}

impl Drop for HandOver {
    fn drop(&mut self) {
        let _ended = self.withdraw();
    }
}
