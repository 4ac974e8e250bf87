//! One try for a lock: one uuid and one `sent`, repeated on the wire until the store has answered or the try is given
//! up. A repeat grants at most once, since the store recognises its uuid.

use std::{num::NonZeroU8, sync::Arc, time::Duration};

use tokio::runtime::Handle;
use uuid::Uuid;

use super::caller_gone::CallerGone;
use crate::{
    ErrorKind, FencingToken, ProviderError, Record,
    emit::log,
    events::Operation,
    lease::{Holding, Origin, PendingRelease, Settings, Term},
    provider::{Acquire, AcquireOutcome, Version},
    testing::Event,
    time::HolderInstant,
};

/// The parts that are drawn anew for each try.
pub(crate) struct Draw {
    pub(crate) uuid: Uuid,
    /// The version that it claims.
    pub(crate) prev: Option<Version>,
    /// How many leases may follow one another on its term.
    pub(crate) tokens: NonZeroU8,
    /// The mark that it leaves in the record if it is refused (N1).
    pub(crate) marks: u32,
    /// How long it is repeated: D/3; for a call that tries once, less the time that its turn in an outage has taken.
    pub(crate) within: Duration,
}

/// How a try ended.
pub(crate) enum TryEnd {
    /// The lock is ours, and valid.
    Granted(Holding),
    /// Another holder has it.
    Held(Record),
    /// A3: a try with a fresh uuid may follow at once.
    Spent,
    /// The grant was known only after its deadline. It is being released.
    Late,
    /// No answer until `sent` + D/3, or until the caller's time was up. Anything that it may have left in the store
    /// is being released.
    GivenUp(ProviderError),
    /// A retry cannot help.
    Fatal(ProviderError),
}

impl TryEnd {
    /// The outcome, as metrics call it.
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            Self::Granted(_) => "granted",
            Self::Held(_) => "held",
            Self::Spent => "spent",
            Self::Late => "late",
            Self::GivenUp(_) => "given_up",
            Self::Fatal(_) => "fatal",
        }
    }
}

/// Runs one try. `time_left` is called before every attempt: it returns the remainder of the caller's limit, `None`
/// for no limit. Once `gone` is cancelled nothing is repeated.
pub(crate) async fn run(
    lock: &Arc<Settings>,
    Draw {
        uuid,
        prev,
        tokens,
        marks,
        within,
    }: Draw,
    gone: &CallerGone,
    time_left: impl Fn() -> Option<Duration> + Send + Sync,
) -> TryEnd {
    let Settings {
        store,
        state,
        name,
        owner,
        plan,
        data,
    } = &**lock;
    // Before the provider is called for the first attempt, so that the holder counts from before the store does; pool
    // checkout counts against us.
    let sent = store.clock.now();
    let mut open = OpenTry {
        lock: Arc::clone(lock),
        uuid,
        sent,
        token: None,
        may_exist: false,
        granted: false,
        home: Handle::current(),
    };
    let request = Acquire::new(name.clone(), uuid, plan.duration)
        .owner(owner.as_ref())
        .prev(prev)
        .data(data.as_ref().map(|data| data.to_vec()))
        .floor(state.floor())
        .tokens(tokens)
        .marks(marks);
    store.record(name, || Event::Tried {
        uuid,
        sent: sent.reading(),
        duration: plan.duration,
        prev,
        floor: request.floor,
    });
    if let Some(claimed) = prev {
        state.claims(claimed, uuid);
    }
    let mut alone = true;
    let mut asked = sent;
    // The error of the attempt before.
    let mut told: Option<ProviderError> = None;

    loop {
        let limit = time_left().unwrap_or(Duration::MAX).min(plan.attempt());
        // Until there is an answer, the attempt may have been applied; also if this future is dropped
        // or the provider panics.
        let before = std::mem::replace(&mut open.may_exist, true);
        let call = store.provider.acquire(&request);
        let what = (Operation::Acquire, plan.group.as_ref());
        let error = match store.call(what, limit, call).await {
            Ok(AcquireOutcome::Acquired(tokens)) => {
                if store.clock.now() >= sent + plan.validity() {
                    // T6: the highest token this client has *seen*.
                    state.granted_to_nobody(tokens.last());
                    open.token = Some(tokens.last());
                    return TryEnd::Late;
                }
                open.disarm();
                let term = Term::new(lock, uuid, tokens, sent, alone);
                return TryEnd::Granted(Holding::new(term));
            }
            Ok(AcquireOutcome::Held(record)) => {
                open.refused();
                if let Some(claimed) = prev
                    && alone
                {
                    state.claim_failed(claimed);
                }
                return TryEnd::Held(record);
            }
            Ok(AcquireOutcome::Spent) => {
                open.refused();
                return TryEnd::Spent;
            }
            Err(error) => error,
        };
        alone = false;
        log!(
            debug,
            name: "acquire_unanswered",
            error = &error as &dyn std::error::Error,
            "no answer to an acquire"
        );
        match error.kind() {
            ErrorKind::Fatal => {
                open.may_exist = before;
                return TryEnd::Fatal(error);
            }
            // Certainly not applied: only the clean-up depends on this being right.
            ErrorKind::NotApplied => open.may_exist = before,
            ErrorKind::Unknown => {}
        }
        // An attempt that the caller's limit cut short says nothing of the cause; the one before it may have.
        let cut_short = limit < plan.attempt() && store.clock.now().since(asked) >= limit;
        let error = told.take().filter(|_| cut_short).unwrap_or(error);
        let pause = store.pause_after_failure(plan);
        let out_of_time = time_left().is_some_and(|left| left <= pause);
        let tried_enough = store.clock.now() + pause >= sent + within;
        if out_of_time || tried_enough {
            return TryEnd::GivenUp(error);
        }
        store.clock.pause(pause).await;
        let left = (sent + within).since(store.clock.now());
        let patience = time_left().unwrap_or(Duration::MAX).min(left);
        let admitted = tokio::select! {
            biased;
            admitted = store.outage.admit(plan, patience) => admitted,
            () = gone.cancelled() => return TryEnd::GivenUp(error),
        };
        // The caller has gone away meanwhile, and its turn with it.
        if admitted.is_err() || time_left().is_some_and(|left| left.is_zero()) {
            return TryEnd::GivenUp(error);
        }
        told = Some(error);
        asked = store.clock.now();
    }
}

/// A try that has not ended. Dropping it ends it: its uuid is retired, and what it may have left in the store is
/// released in the background. That covers tries given up, a runtime that drops this task, and a provider that panics.
struct OpenTry {
    lock: Arc<Settings>,
    uuid: Uuid,
    sent: HolderInstant,
    /// The token of a grant that came too late.
    token: Option<FencingToken>,
    may_exist: bool,
    granted: bool,
    /// The runtime of its calls, and of its release.
    home: Handle,
}

impl OpenTry {
    /// A definite answer without a grant: nothing to release. A late copy may still come; this client then knows the
    /// uuid as one of its own, and others are blocked for the lease's duration at most.
    fn refused(&mut self) {
        self.may_exist = false;
    }

    /// Granted: from here on the lease is responsible for it.
    fn disarm(&mut self) {
        self.granted = true;
        self.may_exist = false;
    }
}

impl Drop for OpenTry {
    fn drop(&mut self) {
        let Settings {
            store,
            state,
            name,
            plan,
            ..
        } = &*self.lock;
        if !self.granted {
            state.retire(&store.clock, self.uuid, plan.duration);
        }
        if !self.may_exist {
            return;
        }
        let release = PendingRelease {
            store: Arc::clone(store),
            state: Arc::clone(state),
            name: name.clone(),
            plan: Arc::clone(plan),
            uuid: self.uuid,
            token: self.token,
            sent: self.sent,
            closes_until: None,
            origin: match self.token {
                Some(_) => Origin::Grant,
                None => Origin::Try,
            },
            answered: false,
            runtime: self.home.id(),
        };
        drop(release.spawn(&self.home));
    }
}
