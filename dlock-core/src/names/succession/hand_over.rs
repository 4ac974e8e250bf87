//! The releasing task's end of a hand-over (H1, H3): it offers its term to be claimed, waits for the verdict of the first
//! waiter in line, for a while, and says whether there is still something to release. Dropping it withdraws what nobody
//! has taken.

use std::{sync::Arc, time::Duration};

use tokio::sync::oneshot;
use uuid::Uuid;

use super::{NameState, Offer, PassBudget};
use crate::{Clock, emit::emit, provider::Version, time::Plan};

/// The releasing task's end of a hand-over. Dropping it withdraws an offer that no waiter has taken.
pub(crate) struct HandOver {
    state: Arc<NameState>,
    uuid: Uuid,
    verdict: oneshot::Receiver<()>,
}

impl NameState {
    /// The release of an identity begins, which is retired (G4). If it is a lease's, this version is on offer to be
    /// claimed by the first waiter in line in the same instant. `None` if nobody waits, or if the name goes back to the
    /// store for other waiters' sake: then the release is sent.
    pub(crate) fn hand_over_to_waiter(
        self: &Arc<Self>,
        clock: &Clock,
        plan: &Plan,
        uuid: Uuid,
        claim: Option<Version>,
    ) -> Option<HandOver> {
        let mut known = self.known();
        self.mark_retired(&mut known, clock, uuid, plan.duration, Duration::ZERO);
        // Where we were granted a later term, this one is over in the store, and does not end the row of hand-overs.
        let is_newest = known.newest == Some(uuid);
        let succession = known.succession.as_mut().filter(|_| is_newest)?;
        let claim = claim.filter(|_| succession.accepts_claim(clock, plan))?;
        let (granted, verdict) = oneshot::channel();
        succession.offer = Some(Offer::Claim(claim, granted));
        drop(known);
        self.freed.notify_waiters();
        Some(HandOver {
            state: Arc::clone(self),
            uuid,
            verdict,
        })
    }
}

impl HandOver {
    /// Whether a waiter has a lease. False as soon as none can have, or has taken too long: other processes
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
        self.state.take_offer_of(self.uuid).is_some()
    }
}

impl Drop for HandOver {
    fn drop(&mut self) {
        let _withdrawn = self.take_back();
    }
}
