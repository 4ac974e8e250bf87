//! The sink of metrics. Nothing is emitted to it while a mutex of this crate is locked.

use std::{sync::Arc, time::Duration};

use super::{
    AcquireEnd, Event, Operation,
    metrics::{
        ACQUIRE, HOLD, LOSSES, RELEASES, RENEWAL_MARGIN, RENEWALS, STORE_CALL, SharedString,
        TAKEOVERS, TRIES, UNKNOWN_OUTCOMES,
    },
};
use crate::{EndCause, ErrorKind, ProviderError, ReleaseEnd, time::Plan};

/// Records the metrics of an event of a lock with this plan.
pub(crate) fn take(backend: &'static str, plan: &Plan, event: &Event) {
    let labels = labels(backend, plan.group.as_ref());
    match event {
        Event::Built => built(labels),
        Event::AcquireEnded {
            waited, took, end, ..
        } => {
            let call = if *waited { "wait" } else { "try" };
            let [backend, group] = labels;
            let values = [backend, group, call.into(), acquire_end(*end).into()];
            ACQUIRE.record(values, took.as_secs_f64());
        }
        Event::TryEnded { outcome, took_over } => {
            TRIES.count(with(labels.clone(), *outcome));
            if *took_over {
                TAKEOVERS.count(labels);
            }
        }
        Event::Renewed { left, .. } => {
            RENEWALS.count(with(labels.clone(), "renewed"));
            RENEWAL_MARGIN.record(labels, *left);
        }
        Event::RenewedLate(..) => RENEWALS.count(with(labels, "late")),
        Event::RenewalRefused(..) => RENEWALS.count(with(labels, "refused")),
        Event::RenewalFailed(.., error) => {
            RENEWALS.count(with(labels.clone(), without_answer(error)));
            if error.kind() == ErrorKind::Unknown {
                UNKNOWN_OUTCOMES.count(with(labels, Operation::Renew.word()));
            }
        }
        Event::Ended { held, cause, .. } => {
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
        Event::HandedOn(..) => RELEASES.count(with(labels, "handed_on")),
        Event::ReleaseEnded(.., answer) => {
            let outcome = match answer {
                Ok(ReleaseEnd::Released) => "released",
                Ok(ReleaseEnd::NotHeld(_)) => "not_held",
                Ok(ReleaseEnd::Unconfirmed) => "unconfirmed",
                Err(_) => "failed",
            };
            RELEASES.count(with(labels, outcome));
        }
        // Recorded, but not measured.
        Event::AcquireBegan { .. }
        | Event::Tried { .. }
        | Event::Granted(..)
        | Event::KeptAlive(..)
        | Event::EndDelivered(..)
        | Event::ReleaseBegan(..) => {}
    }
}

/// A call to the store has ended: for locks of this backend and group.
pub(crate) fn called(
    (backend, group): (&'static str, Option<&Arc<str>>),
    operation: Operation,
    took: Duration,
    error: Option<&ProviderError>,
) {
    let labels = labels(backend, group);
    let outcome = error.map_or("answered", without_answer);
    let [backend, group] = labels.clone();
    let values = [backend, group, operation.word(), outcome.into()];
    STORE_CALL.record(values, took.as_secs_f64());
    // Renewals report that themselves, each of a batch for its own lease.
    let renewals = matches!(operation, Operation::Renew | Operation::RenewMany);
    if error.is_some_and(|error| error.kind() == ErrorKind::Unknown) && !renewals {
        UNKNOWN_OUTCOMES.count(with(labels, operation.word()));
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

/// The first two labels of every metric. `group` is empty unless a user chose one.
fn labels(backend: &'static str, group: Option<&Arc<str>>) -> [SharedString; 2] {
    let group = group.map_or(SharedString::const_str(""), |group| {
        SharedString::from_shared(Arc::clone(group))
    });
    [backend.into(), group]
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
