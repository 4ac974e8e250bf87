//! Where things are told to the `metrics` facade: one function for each thing that happens, called by
//! the code that decides it and never with a lock of ours held. What the names are is
//! [`metrics`](crate::metrics)' business.
//!
//! `observe/silent.rs` has the same functions for builds without the feature: they do nothing.

use std::sync::Arc;

use crate::{
    Clock, Ended, Error, ErrorKind, LossCause, ProviderError,
    attempt::TryEnd,
    client::Shared,
    clock::{Look, Tick},
    lock::Settings,
    metrics::{
        ACQUIRE, HOLD, LOSSES, RELEASES, RENEWAL_MARGIN, RENEWALS, STORE_CALL, SharedString,
        TAKEOVERS, TRIES, UNKNOWN_OUTCOMES,
    },
    plan::Plan,
    term::Term,
    waiting::{Acquired, Wait},
};

/// What the metrics of some locks are told apart by; empty unless a user chose one.
#[derive(Clone, Debug)]
pub(crate) struct Group(Option<Arc<str>>);

/// What is asked of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Acquire,
    Renew,
    RenewMany,
    Release,
    Read,
    Watch,
}

/// A call for the lock that has not ended. Dropping it tells that the caller went away.
pub(crate) struct Asking<'a> {
    lock: &'a Settings,
    call: &'static str,
    since: Look,
    outcome: &'static str,
}

/// A call to the store that has not ended. One whose caller went away tells nothing.
pub(crate) struct StoreCall<'a> {
    clock: &'a Clock,
    backend: &'static str,
    group: &'a Group,
    operation: Operation,
    since: Tick,
}

impl Group {
    pub(crate) const NONE: Self = Self(None);

    pub(crate) fn new(name: Option<String>) -> Self {
        Self(name.map(Into::into))
    }

    fn label(&self) -> SharedString {
        match &self.0 {
            Some(name) => SharedString::from_shared(Arc::clone(name)),
            None => SharedString::const_str(""),
        }
    }
}

impl Operation {
    const fn word(self) -> SharedString {
        SharedString::const_str(match self {
            Self::Acquire => "acquire",
            Self::Renew => "renew",
            Self::RenewMany => "renew_many",
            Self::Release => "release",
            Self::Read => "read",
            Self::Watch => "watch",
        })
    }
}

impl<'a> Asking<'a> {
    pub(crate) fn begin(lock: &'a Settings, wait: Wait) -> Self {
        Self {
            lock,
            call: match wait {
                Wait::No => "try",
                Wait::Limit(_) => "wait",
            },
            since: lock.shared.clock.look(),
            outcome: "dropped",
        }
    }

    pub(crate) fn end(mut self, answer: &Result<Acquired, Error>) {
        self.outcome = match answer {
            Ok(Acquired::Holding(_)) => "granted",
            Ok(Acquired::Held(_)) => "held",
            Err(Error::Timeout { .. }) => "timed_out",
            Err(Error::Closed) => "closed",
            Err(_) => "failed",
        };
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let Settings { shared, plan, .. } = self.lock;
        let Some([backend, group]) = labels(shared, plan) else {
            return;
        };
        let took = shared.clock.elapsed(self.since);
        let values = [backend, group, self.call.into(), self.outcome.into()];
        ACQUIRE.record(values, took.as_secs_f64());
    }
}

impl<'a> StoreCall<'a> {
    pub(crate) fn begin(shared: &'a Shared, operation: Operation, group: &'a Group) -> Self {
        Self {
            clock: &shared.clock,
            backend: shared.backend,
            group,
            operation,
            since: shared.clock.now(),
        }
    }

    pub(crate) fn end<T>(self, answer: &Result<T, ProviderError>) {
        let took = self.clock.now().since(self.since);
        let values = || {
            let operation = self.operation.word();
            [self.backend.into(), self.group.label(), operation]
        };
        let [backend, group, operation] = values();
        let outcome = answer.as_ref().err().map_or("answered", without_answer);
        STORE_CALL.record(
            [backend, group, operation, outcome.into()],
            took.as_secs_f64(),
        );
        // Renewals tell that themselves, each of a batch for its own lease.
        let renewals = matches!(self.operation, Operation::Renew | Operation::RenewMany);
        if is_unknown(answer.as_ref().err()) && !renewals {
            UNKNOWN_OUTCOMES.count(values());
        }
    }
}

/// A lock was built. What rarely happens is told as zero, since a counter that appears with its first
/// event has no rate at it.
pub(crate) fn built(Settings { shared, plan, .. }: &Settings) {
    let Some([backend, group]) = labels(shared, plan) else {
        return;
    };
    for cause in ["expired", "refused"] {
        LOSSES.known([backend.clone(), group.clone(), cause.into()]);
    }
    TAKEOVERS.known([backend, group]);
}

/// A try has ended.
pub(crate) fn tried(Settings { shared, plan, .. }: &Settings, end: &TryEnd) {
    let outcome = match end {
        TryEnd::Granted(_) => "granted",
        TryEnd::Held(_) => "held",
        TryEnd::Spent => "spent",
        TryEnd::Late => "late",
        TryEnd::GivenUp(_) => "given_up",
        TryEnd::Fatal(_) => "fatal",
    };
    let Some([backend, group]) = labels(shared, plan) else {
        return;
    };
    TRIES.count([backend, group, outcome.into()]);
}

/// A question that only observing asks.
pub(crate) fn asks(question: impl FnOnce() -> bool) -> bool {
    question()
}

/// A grant took a lock over.
pub(crate) fn took_over(Settings { shared, plan, .. }: &Settings) {
    if let Some(labels) = labels(shared, plan) {
        TAKEOVERS.count(labels);
    }
}

/// A renewal was answered: this was the deadline before. `None`: it had passed.
pub(crate) fn renewed(term: &Term, before: Option<Tick>) {
    let Term { shared, plan, .. } = term;
    let Some([backend, group]) = labels(shared, plan) else {
        return;
    };
    let outcome = if before.is_some() { "renewed" } else { "late" };
    RENEWALS.count([backend.clone(), group.clone(), outcome.into()]);
    if let Some(before) = before {
        let left = before.since(shared.clock.now());
        let part = left.as_secs_f64() / plan.duration.as_secs_f64();
        RENEWAL_MARGIN.record([backend, group], part);
    }
}

/// The store said that the term is over.
pub(crate) fn refused(Term { shared, plan, .. }: &Term) {
    let Some([backend, group]) = labels(shared, plan) else {
        return;
    };
    RENEWALS.count([backend, group, "refused".into()]);
}

/// A renewal got no answer.
pub(crate) fn renewal_failed(Term { shared, plan, .. }: &Term, error: &ProviderError) {
    let Some([backend, group]) = labels(shared, plan) else {
        return;
    };
    RENEWALS.count([backend.clone(), group.clone(), without_answer(error).into()]);
    if is_unknown(Some(error)) {
        UNKNOWN_OUTCOMES.count([backend, group, Operation::Renew.word()]);
    }
}

/// A lease that was granted to a try of that `sent` has ended: for this cause, at its deadline if that
/// has passed.
pub(crate) fn ended(term: &Term, granted: Tick, deadline: Tick, cause: &LossCause) {
    let Term { shared, plan, .. } = term;
    let (end, lost) = match cause {
        LossCause::Released => ("released", false),
        LossCause::HandedOver => ("handed_over", false),
        LossCause::Expired { .. } => ("expired", true),
        LossCause::Refused { .. } => ("refused", true),
        LossCause::HeldTooLong => ("held_too_long", true),
    };
    let Some([backend, group]) = labels(shared, plan) else {
        return;
    };
    let held = deadline.min(shared.clock.now()).since(granted);
    HOLD.record(
        [backend.clone(), group.clone(), end.into()],
        held.as_secs_f64(),
    );
    if lost {
        LOSSES.count([backend, group, end.into()]);
    }
}

/// A term went to the client's own next waiter, in its write.
pub(crate) fn handed_on(shared: &Shared, plan: &Plan) {
    let Some([backend, group]) = labels(shared, plan) else {
        return;
    };
    RELEASES.count([backend, group, "handed_on".into()]);
}

/// A release was sent, and ended so.
pub(crate) fn released(shared: &Shared, plan: &Plan, answer: &Result<Ended, ProviderError>) {
    let outcome = match answer {
        Ok(Ended::Released) => "released",
        Ok(Ended::NotHeld(_)) => "not_held",
        Ok(Ended::Unconfirmed) => "unconfirmed",
        Err(_) => "failed",
    };
    let Some([backend, group]) = labels(shared, plan) else {
        return;
    };
    RELEASES.count([backend, group, outcome.into()]);
}

/// `None` for what is not told.
fn labels(shared: &Shared, plan: &Plan) -> Option<[SharedString; 2]> {
    plan.told
        .then(|| [shared.backend.into(), plan.group.label()])
}

fn without_answer(error: &ProviderError) -> &'static str {
    match error.kind() {
        ErrorKind::NotApplied => "not_applied",
        ErrorKind::Unknown => "unknown",
        ErrorKind::Fatal => "fatal",
    }
}

fn is_unknown(error: Option<&ProviderError>) -> bool {
    error.is_some_and(|error| error.kind() == ErrorKind::Unknown)
}
