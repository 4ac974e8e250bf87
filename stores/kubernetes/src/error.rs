//! The one place that maps the client's errors to the three kinds of the protocol.

use std::{error::Error as StdError, io};

use dlock_core::{ErrorKind, ProviderError};
use hyper_util::client::legacy;
use kube::{
    Error,
    core::{Status, response::StatusDetails},
};

/// Whether the condition of a write did not hold.
pub(crate) fn is_lost(error: &Error) -> bool {
    is_conflict(error) || matches!(error, Error::Api(status) if is_failed_test(status))
}

/// Whether an object did not have the version that its replacement names.
pub(crate) fn is_conflict(error: &Error) -> bool {
    matches!(error, Error::Api(status) if status.code == 409)
}

/// Whether the object is missing.
pub(crate) fn is_missing(error: &Error) -> bool {
    matches!(error, Error::Api(status) if status.code == 404)
}

/// A patch was meant for other contents. A refusal of the patched object has the same code, and details that name the
/// object.
fn is_failed_test(status: &Status) -> bool {
    let names = |details: &StatusDetails| !details.name.is_empty() || !details.causes.is_empty();
    status.code == 422 && !status.details.as_ref().is_some_and(names)
}

/// The kind of an error of the client, and what to do about it.
pub(crate) fn failed(error: Error, namespace: &str) -> ProviderError {
    let (kind, message) = match &error {
        Error::Api(status) => of_status(status, namespace),
        Error::Auth(_) => (
            ErrorKind::NotApplied,
            "the client of Kubernetes could not log in".into(),
        ),
        Error::BuildRequest(_) | Error::HttpError(_) | Error::TlsRequired => (
            ErrorKind::Fatal,
            "the client of Kubernetes cannot be used as it is set up".into(),
        ),
        other => of_connection(other),
    };
    let known = ProviderError::new(kind, message);
    // The client's own message repeats these.
    match error {
        Error::Api(status) => known.with_source(*status),
        other => known.with_source(other),
    }
}

/// An answer that makes no sense.
pub(crate) fn unexpected(what: &str) -> ProviderError {
    ProviderError::unknown(format!("Kubernetes gave an answer that is none: {what}"))
}

fn of_status(status: &Status, namespace: &str) -> (ErrorKind, String) {
    match status.code {
        401 => (
            ErrorKind::Fatal,
            "Kubernetes does not know the user of the client: are its token or certificate still valid?".into(),
        ),
        403 => (
            ErrorKind::Fatal,
            format!(
                "Kubernetes refuses the user of the client: grant it the verbs get, list, watch, create, patch and delete \
                 on leases of coordination.k8s.io in the namespace {namespace}"
            ),
        ),
        404 => (
            ErrorKind::Fatal,
            format!("Kubernetes has no Leases in the namespace {namespace}: make the namespace"),
        ),
        429 => (ErrorKind::NotApplied, "Kubernetes has too much to do".into()),
        400 | 405 | 406 | 413 | 415 | 422 => {
            (ErrorKind::Fatal, "Kubernetes refuses the request".into())
        }
        _ => (ErrorKind::Unknown, "Kubernetes has failed, and may have written".into()),
    }
}

fn of_connection(error: &Error) -> (ErrorKind, String) {
    let causes = || {
        std::iter::successors(Some(error as &(dyn StdError + 'static)), |&error| {
            cause(error)
        })
    };
    // TLS reports in this way that it cannot agree with the other end, or trust it.
    let is_distrust = |cause: &io::Error| cause.kind() == io::ErrorKind::InvalidData;
    if causes()
        .filter_map(|cause| cause.downcast_ref())
        .any(is_distrust)
    {
        return (
            ErrorKind::Fatal,
            "there is no TLS with Kubernetes: is its certificate signed by an authority that the client trusts, and \
             for this address?"
                .into(),
        );
    }
    if causes()
        .filter_map(|cause| cause.downcast_ref())
        .any(legacy::Error::is_connect)
    {
        return (
            ErrorKind::NotApplied,
            "there is no connection to Kubernetes".into(),
        );
    }
    (ErrorKind::Unknown, "Kubernetes gave no answer".into())
}

/// The next cause. An I/O error hides the one that it was made of.
fn cause<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a (dyn StdError + 'static)> {
    match error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref)
    {
        Some(inner) => Some(inner),
        None => error.source(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn status(code: u16) -> Status {
        Status::failure("the server's words", "").with_code(code)
    }

    fn kind(error: Error) -> ErrorKind {
        failed(error, "here").kind()
    }

    #[test]
    fn errors_of_the_server_have_a_kind_each() {
        use ErrorKind::{Fatal, NotApplied, Unknown};
        for (code, expected) in [
            (0, Unknown),
            (400, Fatal),
            (401, Fatal),
            (403, Fatal),
            (404, Fatal),
            (409, Unknown),
            (410, Unknown),
            (422, Fatal),
            (429, NotApplied),
            (500, Unknown),
            (503, Unknown),
            (504, Unknown),
        ] {
            assert_eq!(kind(Error::Api(status(code).boxed())), expected, "{code}");
        }
    }

    /// Both have the code 422.
    #[test]
    fn failed_condition_is_no_object_that_is_not_valid() {
        let answer = |details| {
            let status =
                json!({"code": 422, "reason": "Invalid", "message": "..", "details": details});
            Error::Api(serde_json::from_value(status).unwrap())
        };
        assert!(is_lost(&answer(json!({}))));
        assert!(is_lost(&answer(json!(null))));
        assert!(!is_lost(&answer(json!({"name": "x", "kind": "Lease"}))));
        let causes = json!([{"reason": "FieldValueInvalid", "message": "..", "field": "spec"}]);
        assert!(!is_lost(&answer(json!({ "causes": causes }))));
    }

    #[test]
    fn broken_connection_leaves_it_unknown_and_distrust_is_fatal() {
        let of = |kind: io::ErrorKind| {
            let inner = io::Error::new(kind, "inner");
            kind_of(io::Error::other(inner))
        };
        assert_eq!(of(io::ErrorKind::ConnectionReset), ErrorKind::Unknown);
        assert_eq!(of(io::ErrorKind::TimedOut), ErrorKind::Unknown);
        assert_eq!(of(io::ErrorKind::InvalidData), ErrorKind::Fatal);
    }

    fn kind_of(error: io::Error) -> ErrorKind {
        kind(Error::Service(error.into()))
    }
}
