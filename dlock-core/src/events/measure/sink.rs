//! What happened, as metrics.

use std::sync::Arc;

use super::{Measured, Operation, Source};
use crate::{
    EndCause, ErrorKind, ProviderError, ReleaseEnd,
    events::metrics::{
        ACQUIRE, HOLD, LOSSES, RELEASES, RENEWAL_MARGIN, RENEWALS, STORE_CALL, SharedString,
        TAKEOVERS, TRIES, UNKNOWN_OUTCOMES,
    },
    testing::AcquireEnd,
};

pub(super) fn take(source: Source<'_>, what: &Measured<'_>) {
    if !source.observed && !matches!(what, Measured::Called { .. }) {
        return;
    }
    let labels: [SharedString; 2] = [source.backend.into(), group(source)];
    match *what {
        Measured::Built => built(labels),
        Measured::AcquireEnded { waited, took, end } => {
            let call = if waited { "wait" } else { "try" };
            let [backend, group] = labels;
            let values = [backend, group, call.into(), acquire_end(end).into()];
            ACQUIRE.record(values, took.as_secs_f64());
        }
        Measured::Called {
            operation,
            took,
            error,
        } => {
            let outcome = error.map_or("answered", without_answer);
            let [backend, group] = labels.clone();
            let values = [backend, group, operation.word(), outcome.into()];
            STORE_CALL.record(values, took.as_secs_f64());
            // Renewals tell that themselves, each of a batch for its own lease.
            let renewals = matches!(operation, Operation::Renew | Operation::RenewMany);
            if is_unknown(error) && !renewals {
                UNKNOWN_OUTCOMES.count(with(labels, operation.word()));
            }
        }
        Measured::Tried(outcome) => TRIES.count(with(labels, outcome)),
        Measured::TookOver => TAKEOVERS.count(labels),
        Measured::Renewed { left: None } => RENEWALS.count(with(labels, "late")),
        Measured::Renewed { left: Some(left) } => {
            RENEWALS.count(with(labels.clone(), "renewed"));
            RENEWAL_MARGIN.record(labels, left);
        }
        Measured::Refused => RENEWALS.count(with(labels, "refused")),
        Measured::RenewalFailed(error) => {
            RENEWALS.count(with(labels.clone(), without_answer(error)));
            if is_unknown(Some(error)) {
                UNKNOWN_OUTCOMES.count(with(labels, Operation::Renew.word()));
            }
        }
        Measured::Ended { held, cause } => {
            let (end, lost) = match cause {
                EndCause::Released => ("released", false),
                EndCause::HandedOver => ("handed_over", false),
                EndCause::Expired { .. } => ("expired", true),
                EndCause::Refused { .. } => ("refused", true),
                EndCause::HeldTooLong => ("held_too_long", true),
            };
            HOLD.record(with(labels.clone(), end), held.as_secs_f64());
            if lost {
                LOSSES.count(with(labels, end));
            }
        }
        Measured::HandedOn => RELEASES.count(with(labels, "handed_on")),
        Measured::Released(answer) => {
            let outcome = match answer {
                Ok(ReleaseEnd::Released) => "released",
                Ok(ReleaseEnd::NotHeld(_)) => "not_held",
                Ok(ReleaseEnd::Unconfirmed) => "unconfirmed",
                Err(_) => "failed",
            };
            RELEASES.count(with(labels, outcome));
        }
    }
}

/// Counters of rare events begin at zero, since a counter that appears with its first event has no rate at
/// that event.
fn built(labels: [SharedString; 2]) {
    for cause in ["expired", "refused"] {
        LOSSES.known(with(labels.clone(), cause));
    }
    TAKEOVERS.known(labels);
}

/// The label `group`: empty unless a user chose one.
fn group(source: Source<'_>) -> SharedString {
    match source.group {
        Some(group) => SharedString::from_shared(Arc::clone(group)),
        None => SharedString::const_str(""),
    }
}

fn with(labels: [SharedString; 2], third: impl Into<SharedString>) -> [SharedString; 3] {
    let [backend, group] = labels;
    [backend, group, third.into()]
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

const fn acquire_end(end: AcquireEnd) -> &'static str {
    match end {
        AcquireEnd::Granted { .. } => "granted",
        AcquireEnd::Held => "held",
        AcquireEnd::TimedOut => "timed_out",
        AcquireEnd::Closed => "closed",
        AcquireEnd::Failed(_) => "failed",
        AcquireEnd::Dropped => "dropped",
    }
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
