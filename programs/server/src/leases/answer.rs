//! The common parts of the answers about leases.

use axum::Json;
use dlock_core::provider::{ReleaseOutcome, Version};
use dlock_http::{Code, Problem, leases::Released, pseudonym};

use crate::problem::Refusal;

pub(super) type Answer<T> = Result<Json<T>, Refusal>;

pub(super) fn released(outcome: ReleaseOutcome) -> Answer<Released> {
    match outcome {
        ReleaseOutcome::Released { wanted } => Ok(Json(Released { wanted })),
        ReleaseOutcome::NotHeld(record) => Err(refused(Code::NotHeld, record)),
    }
}

/// The store refused, and this record says why.
pub(super) fn refused(code: Code, record: Option<dlock_core::Record>) -> Refusal {
    Problem::new(code).record(record.map(Into::into)).into()
}

/// A version as the store has it, from the uuid that its client knows.
pub(super) fn pseudonymous(Version { uuid, renewals }: Version) -> Version {
    Version {
        uuid: pseudonym(uuid),
        renewals,
    }
}
