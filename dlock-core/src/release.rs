//! Giving a term back, to the client's own next waiter (H1) or to the store, whatever it answers
//! (V7, G3).

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::runtime::Handle;
use tracing::Instrument;
use uuid::Uuid;

use crate::{
    Ended, ErrorKind, Event, FencingToken, Name, ProviderError, Release, ReleaseOutcome, Version,
    client::Shared,
    clock::Tick,
    names::{NameState, Offer},
    observe::{self, Operation},
    plan::Plan,
};

/// The release of a term, or of a try that may have left one.
pub(crate) struct Giveback {
    pub(crate) shared: Arc<Shared>,
    pub(crate) state: Arc<NameState>,
    pub(crate) name: Name,
    pub(crate) plan: Arc<Plan>,
    pub(crate) uuid: Uuid,
    pub(crate) token: Option<FencingToken>,
    /// `sent` of the term's newest renewal, or of the try: by that + D the store lets go by itself.
    pub(crate) sent: Tick,
    /// The version to hand over, if the term was a lease that may still be ours.
    pub(crate) version: Option<Version>,
    /// Every attempt of its try was answered.
    pub(crate) answered: bool,
}

impl Giveback {
    /// Runs in a task of ours on `home`; whoever drops the returned handle stops nothing. Never
    /// blocks and never panics: on a runtime that has shut down the task is dropped, and the term
    /// ends with its lease.
    pub(crate) fn spawn(
        self,
        home: &Handle,
    ) -> tokio::task::JoinHandle<Result<Ended, ProviderError>> {
        let errand = self.shared.errand();
        let uuid = self.uuid;
        self.shared
            .tell(&self.name, || Event::ReleaseBegan { uuid });
        let offer = self.offer();
        let span = tracing::debug_span!("release", lock = %self.name, backend = self.shared.backend, token = self.token.map(u64::from));
        home.spawn(
            async move {
                let answer = self.run(offer).await;
                self.shared.tell(&self.name, || Event::ReleaseEnded {
                    uuid,
                    ended: answer.clone(),
                });
                match &answer {
                    Ok(Ended::Unconfirmed) => tracing::warn!(
                        name: "release_unconfirmed",
                        "the store did not confirm the release; others wait for the expiry"
                    ),
                    Err(error) => tracing::warn!(
                        name: "release_failed",
                        error = error as &dyn std::error::Error,
                        "the release failed; others wait for the expiry"
                    ),
                    Ok(ended) => tracing::debug!(name: "released", ?ended, "gave a term back"),
                }
                drop(errand);
                answer
            }
            .instrument(span),
        )
    }

    /// Our identity is over (G4), and the store knows it: there is nothing to release.
    pub(crate) fn nothing_left(self) {
        let Self { shared, state, .. } = &self;
        state.over(&shared.clock, self.uuid, self.plan.duration);
    }

    /// G4: our identity is over from here on. H1: in the same instant the term is offered to whoever is
    /// first in line here. That is done before the task below runs, so that a waiter hears of it at once,
    /// also from a runtime that has ended.
    fn offer(&self) -> Option<Offer> {
        let Self { shared, state, .. } = self;
        let version = self.version.filter(|_| !shared.is_closed());
        state.give_up(&shared.clock, &self.plan, self.uuid, version)
    }

    /// The waiter's try ends the term in the write that begins its own. Whatever else becomes of it,
    /// the release is sent.
    async fn run(&self, offer: Option<Offer>) -> Result<Ended, ProviderError> {
        if let Some(offer) = offer
            && (offer.granted(&self.shared.clock, &self.plan).await
                || planted!(FailedHandOverForgotten))
        {
            if self.answered {
                self.state.settled(self.uuid);
            }
            observe::handed_on(&self.shared, &self.plan);
            return Ok(Ended::Released);
        }
        let answer = self.send().await;
        observe::released(&self.shared, &self.plan, &answer);
        answer
    }

    /// Repeats until the store has answered or must have let go by itself. At least one attempt is
    /// made, however late it is: the answer tells a stale holder that it is stale.
    async fn send(&self) -> Result<Ended, ProviderError> {
        let Self { shared, plan, .. } = self;
        let until = self.sent + plan.duration;
        let request = Release::new(self.name.clone(), self.uuid, self.token);
        let what = (Operation::Release, &plan.group);
        let mut limit = plan.attempt();
        let mut all_answered = self.answered;
        let heard = shared.watching.load(Ordering::SeqCst);
        if heard {
            self.state.fairness().releases();
        }
        loop {
            let call = shared.provider.release(&request);
            match shared.call(what, limit, call).await {
                Ok(outcome) => {
                    if all_answered && outcome == ReleaseOutcome::Released {
                        self.state.settled(self.uuid);
                    }
                    if heard && matches!(outcome, ReleaseOutcome::NotHeld(_)) {
                        self.state.fairness().did_not_release();
                    }
                    return Ok(self.answered(outcome));
                }
                Err(error)
                    if error.kind() == ErrorKind::Fatal && !planted!(FatalReleaseRepeated) =>
                {
                    return Err(error);
                }
                Err(error) => tracing::debug!(
                    name: "release_unanswered",
                    error = &error as &dyn std::error::Error,
                    "no answer to a release"
                ),
            }
            all_answered = false;
            let pause = shared.pause_after_failure(plan.duration);
            let left = until.since(shared.clock.now()).saturating_sub(pause);
            if left < Duration::from_millis(1) || planted!(ReleaseOnce) {
                if planted!(UnconfirmedIsError) {
                    return Err(ProviderError::unknown("the release was not confirmed"));
                }
                return Ok(Ended::Unconfirmed);
            }
            shared.clock.pause(pause).await;
            limit = left.min(plan.attempt());
        }
    }

    /// W7: any release of ours, an orphan's too, wakes our own head waiter.
    fn answered(&self, outcome: ReleaseOutcome) -> Ended {
        let ended = match outcome {
            ReleaseOutcome::Released => {
                // I18: the others hear of it only now.
                self.state.fairness().gives_back(&self.shared.clock);
                Ended::Released
            }
            ReleaseOutcome::NotHeld(_) if planted!(StaleReleaseHidden) => Ended::Released,
            ReleaseOutcome::NotHeld(record) => {
                if let Some(record) = &record {
                    self.state.saw(&self.shared.clock, record);
                }
                match record {
                    // A try that came before this release, and of which its giver has not heard.
                    Some(record) if self.state.went_to_our_own(self.uuid, record.uuid) => {
                        Ended::Released
                    }
                    record => Ended::NotHeld(record),
                }
            }
        };
        if !planted!(ReleaseWakesNobody) {
            self.state.freed.notify_waiters();
        }
        ended
    }
}
