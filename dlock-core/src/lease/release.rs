//! The release of a term: a call that ends it in the store, whatever the store answers (the book, "Losing and failing":
//! Releases).

#[cfg(test)]
mod tests;

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, UNIX_EPOCH},
};

use tokio::{
    runtime::{Handle, Id},
    task::JoinHandle,
};
use uuid::Uuid;

use super::Term;
use crate::{
    ErrorKind, FencingToken, Name, ProviderError, Record, ReleaseEnd,
    emit::{self, log},
    events::Operation,
    names::NameState,
    provider::{Closing, Release, ReleaseOutcome},
    store::{Store, driven::Work},
    testing::Event,
    time::{HolderInstant, Plan},
    turns::Wanted,
};

/// The release of a term, or of a try that may have left a term.
pub(crate) struct PendingRelease {
    pub(crate) store: Arc<Store>,
    pub(crate) state: Arc<NameState>,
    pub(crate) name: Name,
    pub(crate) plan: Arc<Plan>,
    pub(crate) uuid: Uuid,
    pub(crate) token: Option<FencingToken>,
    /// `sent` of the term's newest renewal, or of the try: by that + D the store lets go automatically.
    pub(crate) sent: HolderInstant,
    /// Until when the name is closed instead of freed (B4).
    pub(crate) closes_until: Option<HolderInstant>,
    pub(crate) origin: Origin,
    /// Whether every attempt of its try was answered.
    pub(crate) answered: bool,
    /// Where the term was contended for.
    pub(crate) runtime: Id,
}

/// The origin of the term that is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A lease. `protected`: it was valid until its release began, and so the work was protected to its end.
    Lease { protected: bool },
    /// A grant that came too late.
    Grant,
    /// A try without an answer: it may still be in flight to the store.
    Try,
}

/// Warns if the runtime ends before a release has, as it does when `main` returns.
struct CutOff(Option<Name>);

impl CutOff {
    fn did_not_happen(mut self) {
        self.0 = None;
    }
}

impl Drop for CutOff {
    fn drop(&mut self) {
        let Some(lock) = self.0.take() else { return };
        log!(
            warn,
            name: "release_cut_off",
            %lock,
            "the runtime ended before a release did: others wait for the expiry; await the release, or Client::close, before the runtime ends"
        );
    }
}

impl Drop for PendingRelease {
    /// Without an answer it wakes a waiter as well, which need not wait for it any more.
    fn drop(&mut self) {
        if self.state.release_ended(self.uuid) {
            self.state.wake();
        }
    }
}

impl PendingRelease {
    /// The release of a lease that its holder has ended.
    pub(crate) fn of(term: &Term, closes_until: Option<HolderInstant>) -> Self {
        Self {
            store: Arc::clone(&term.store),
            state: Arc::clone(&term.state),
            name: term.name.clone(),
            plan: Arc::clone(&term.plan),
            uuid: term.uuid,
            token: Some(term.token),
            sent: term.last_sent(),
            origin: Origin::Lease {
                protected: term.was_valid_to_its_release(),
            },
            closes_until,
            answered: term.answered,
            runtime: term.home.id(),
        }
    }

    /// Runs in a task of ours on `home`; dropping the returned handle does not stop it. Never blocks and never
    /// panics: on a runtime that has shut down the task is dropped, and the term ends with its lease.
    pub(crate) fn spawn(self, home: &Handle) -> JoinHandle<Result<ReleaseEnd, ProviderError>> {
        home.spawn(self.begin())
    }

    /// The release has begun when this returns, and runs with the future.
    pub(crate) fn begin(self) -> Work<Result<ReleaseEnd, ProviderError>> {
        let (uuid, token) = (self.uuid, self.token);
        let began = || Event::ReleaseBegan(uuid, token);
        self.store.record(&self.name, began);
        self.retire();
        self.go_on()
    }

    /// A release that has begun, and whose term has not continued, ends in a task of ours.
    pub(crate) fn spawn_begun(self, home: &Handle) {
        drop(home.spawn(self.go_on()));
    }

    fn go_on(self) -> Work<Result<ReleaseEnd, ProviderError>> {
        let tracked = self.store.track(&self.plan);
        let (uuid, token) = (self.uuid, self.token);
        let span = emit::span(
            || tracing::debug_span!("release", lock = %self.name, backend = self.store.backend, token = self.token.map(u64::from)),
        );
        let plan = Arc::clone(&self.plan);
        let cut_off = CutOff(Some(self.name.clone()));
        Box::pin(emit::within(span, async move {
            let answer = self.run().await;
            cut_off.did_not_happen();
            let ended = || Event::ReleaseEnded(uuid, token, answer.clone());
            self.store.emit(&self.name, &plan, ended);
            match &answer {
                Err(error) => log!(
                    warn,
                    name: "release_failed",
                    error = error as &dyn std::error::Error,
                    "the release failed; others wait for the expiry"
                ),
                Ok(ended) => log!(debug, name: "released", ?ended, "released a term"),
            }
            drop(tracked);
            answer
        }))
    }

    /// The longest that the release of a lease may take on a runtime that is driven: until the store must have let
    /// go, and two attempts.
    pub(crate) fn bound(term: &Term) -> Duration {
        let Term { store, plan, .. } = term;
        let left = (term.last_sent() + plan.duration).since(store.clock.now());
        left + 2 * plan.attempt()
    }

    /// Retires our identity. The store knows already that the term has ended: there is nothing to release.
    pub(crate) fn nothing_left(self) {
        let Self { store, state, .. } = &self;
        state.retire(&store.clock, self.uuid, self.plan.duration);
    }

    /// Retires our identity before the release's task runs, so that no waiter of ours takes the term for another's.
    fn retire(&self) {
        let Self { store, state, .. } = self;
        let (clock, lease) = (&store.clock, self.plan.duration);
        match self.closes_until {
            Some(until) => state.closes(clock, self.uuid, lease, until.since(clock.now())),
            None => state.retire(clock, self.uuid, lease),
        }
    }

    async fn run(&self) -> Result<ReleaseEnd, ProviderError> {
        let mut answer = self.send().await;
        if self.origin == Origin::Try && matches!(answer, Ok(ReleaseEnd::NotHeld(_))) {
            // Requests may overtake each other, and an orphan would block others for D.
            self.store.clock.pause(self.plan.attempt()).await;
            answer = self.send().await;
        }
        answer
    }

    /// Repeats until the store has answered or must have let go by expiry. At least one attempt is made, however late
    /// it is: from the answer a stale holder learns that it is stale.
    async fn send(&self) -> Result<ReleaseEnd, ProviderError> {
        let Self { store, plan, .. } = self;
        let until = self.sent + plan.duration;
        let mut request = Release::new(self.name.clone(), self.uuid, self.token);
        let closing = self.closes_until.map(|until| {
            let random = store.entropy.uuid()?;
            Ok((until, Closing::drawn(random, Duration::ZERO)))
        });
        let closing = closing.transpose()?;
        let what = (Operation::Release, plan.group.as_ref());
        // A closing frees nothing, so the store sends no hint of it.
        let hinted = store.channel_open.load(Ordering::SeqCst) && closing.is_none();
        // Where nothing is known of others, its hint is expected only after the answer, unless it has come by then.
        let mut unheard = hinted.then(|| self.state.hints());
        if let Some(mut turns) = self.state.known_turns()
            && let Some(turns) = turns.known(self.runtime)
        {
            turns.releases(hinted, store.clock.contender_now());
            unheard = None;
        }
        let mut alone = true;
        // The release of a lease is tried at once; that of a try which the store did not answer waits for its turn.
        let mut limited = self.origin == Origin::Try;
        loop {
            let left = || until.since(store.clock.now());
            // A first attempt that is not admitted in time is sent at the end nevertheless.
            if limited && store.outage.admit(plan, left()).await.is_err() && !alone {
                return Ok(Self::unconfirmed());
            }
            limited = true;
            let limit = if alone {
                plan.attempt()
            } else {
                left().min(plan.attempt())
            };
            // One uuid in all attempts, so that a repeat finds its work done; each closes for the remaining time.
            request.closing =
                closing.map(|(until, closing)| closing.lasting(until.since(store.clock.now())));
            let call = store.provider.release(&request);
            match store.call(what, limit, call).await {
                Ok(outcome) => {
                    if let Some(closing) = request.closing
                        && outcome.is_released()
                    {
                        self.observe(closing).await;
                    }
                    if self.answered && alone && outcome.is_released() {
                        self.state.all_answered(self.uuid);
                    }
                    return Ok(self.answered(outcome, alone, unheard));
                }
                Err(error) if error.kind() == ErrorKind::Fatal => return Err(error),
                Err(error) => log!(
                    debug,
                    name: "release_unanswered",
                    error = &error as &dyn std::error::Error,
                    "no answer to a release"
                ),
            }
            // It may have been applied, even if the error says otherwise: more than wording depends on this.
            alone = false;
            let pause = store.pause_after_failure(plan);
            if left().saturating_sub(pause) < Duration::from_millis(1) {
                return Ok(Self::unconfirmed());
            }
            store.clock.pause(pause).await;
        }
    }

    fn unconfirmed() -> ReleaseEnd {
        log!(
            warn,
            name: "release_unconfirmed",
            "the store did not confirm the release; others wait for the expiry"
        );
        ReleaseEnd::Unconfirmed
    }

    /// The store has just confirmed that the name is closed. Other clients observe the closing when they read
    /// the record; this one observes it now, and so opens the name that much earlier on an observer's store,
    /// for later processes as well.
    async fn observe(&self, closing: Closing) {
        let Self {
            store,
            state,
            name,
            plan,
            ..
        } = self;
        let Some(token) = self.token else {
            return;
        };
        let closed = Record::new(closing.uuid(), "", UNIX_EPOCH, token, closing.lasts());
        store.observe(state, name, &closed, plan.attempt()).await;
    }

    /// The meaning of an answer; `alone`: whether the first attempt got it. Any release of this client, even an
    /// orphan's, wakes its head waiter.
    fn answered(&self, outcome: ReleaseOutcome, alone: bool, unheard: Option<u32>) -> ReleaseEnd {
        let ended = match outcome {
            ReleaseOutcome::Released { wanted } => {
                self.leave_to_others(wanted, unheard);
                ReleaseEnd::Released
            }
            ReleaseOutcome::NotHeld(record) => {
                self.leave_to_others(false, None);
                self.not_held(record, alone)
            }
        };
        // Before the waiters for it are woken.
        self.state.release_ended(self.uuid);
        self.state.wake();
        ended
    }

    /// Leaves a wanted name to the other contenders for a while: they hear of the release only now. Nothing is kept for
    /// a name that one contender has to itself. `unheard`: the hints before a release that does not expect its own yet.
    fn leave_to_others(&self, is_marked: bool, unheard: Option<u32>) {
        let Self {
            store, state, plan, ..
        } = self;
        // Waiters on other runtimes of this process hear of it, whatever the store sends.
        let elsewhere = state.waits_elsewhere(self.runtime);
        let listens = plan.wakeups && store.channel_open.load(Ordering::SeqCst);
        let certain = is_marked || elsewhere;
        let wanted = Wanted {
            guessed: !store.marks && !certain,
            ..Wanted::of(plan, certain || !store.marks, listens || elsewhere)
        };
        let now = store.clock.contender_now();
        if wanted.is_wanted {
            let mut contenders = state.turns();
            let turns = contenders.of(self.runtime);
            if unheard == Some(state.hints()) {
                turns.releases(true, now);
            }
            turns.released(wanted, now);
        } else if let Some(mut contenders) = state.known_turns()
            && let Some(turns) = contenders.known(self.runtime)
        {
            turns.released(wanted, now);
        }
    }

    /// L3. It is certain that another client took the lease only if nothing of this client can have ended the term:
    /// neither an earlier attempt of this release, after which another waiter may have been quick, nor a try that
    /// claimed the term, even if that try's own term has ended by now.
    fn not_held(&self, record: Option<Record>, alone: bool) -> ReleaseEnd {
        let Self { store, state, .. } = self;
        if let Some(record) = &record {
            state.saw(&store.clock, record);
        }
        // A try of this client that claimed the term and came before this release.
        let shows_our_own = |record: &Record| state.went_to_our_own(self.uuid, record.uuid);
        // B4: had the name been closed, no other client could hold it yet.
        let intruded = self
            .closes_until
            .is_some_and(|until| store.clock.now() < until);
        if record.as_ref().is_some_and(shows_our_own) && !intruded {
            return ReleaseEnd::Released;
        }
        let Origin::Lease { protected } = self.origin else {
            return ReleaseEnd::NotHeld(record);
        };
        if alone && !state.may_be_claimed(self.uuid) {
            return ReleaseEnd::NotHeld(record);
        }
        log!(debug, name: "release_overtaken", "not held after what may have ended the term: no loss");
        if protected && !intruded {
            ReleaseEnd::Released
        } else {
            ReleaseEnd::Unconfirmed
        }
    }
}
