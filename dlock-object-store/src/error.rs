//! The one place where errors of object stores become the three kinds of the protocol.
//!
//! `object_store` names what was refused for a reason of its own, and has one error for all others. What it knows of
//! them, the status and the words of the service, it tells in the text only.

use std::{error::Error as StdError, io};

use dlock_core::{ErrorKind, ProviderError};
use object_store::Error;

type Known = (ErrorKind, &'static str);

const NO_ANSWER: Known = (ErrorKind::Unknown, "the object store gave no answer");
const NO_BUCKET: Known = (
    ErrorKind::Fatal,
    "there is no such bucket: create it, or look at its name, region and endpoint",
);
const NO_CONDITIONS: Known = (
    ErrorKind::Fatal,
    "the object store has no conditional writes, or they are switched off: locks need them",
);
const NO_RIGHTS: Known = (
    ErrorKind::Fatal,
    "the object store refuses: grant the credentials reading, writing and listing of the bucket (on S3 s3:GetObject, \
     s3:PutObject, s3:ListBucket), and look at their keys and at this machine's clock",
);
const NOBODY: Known = (
    ErrorKind::Fatal,
    "the object store does not know the credentials, or they have expired",
);
const REFUSED: Known = (
    ErrorKind::Fatal,
    "the object store refuses the request: are region, endpoint and bucket right, and has it conditional writes?",
);
const TOO_BUSY: Known = (ErrorKind::NotApplied, "the object store has too much to do");

/// What is known after an error, and what to do about it.
pub(crate) fn failed(error: Error) -> ProviderError {
    let (kind, message) = match &error {
        Error::PermissionDenied { .. } => NO_RIGHTS,
        Error::Unauthenticated { .. } => NOBODY,
        Error::NotFound { .. } => NO_BUCKET,
        Error::NotImplemented { .. } | Error::NotSupported { .. } => NO_CONDITIONS,
        Error::InvalidPath { .. } | Error::UnknownConfigurationKey { .. } => (
            ErrorKind::Fatal,
            "the object store cannot be used as it is set up",
        ),
        Error::Generic { source, .. } => of_cause(&**source),
        _ => NO_ANSWER,
    };
    ProviderError::new(kind, message).with_source(error)
}

/// Whether it is the bucket that is not there, and not the object.
pub(crate) fn has_no_bucket(error: &Error) -> bool {
    // Of S3 and Google; of Azure.
    ["NoSuchBucket", "ContainerNotFound"]
        .iter()
        .any(|code| error.to_string().contains(code))
}

fn of_cause(cause: &(dyn StdError + 'static)) -> Known {
    let text = cause.to_string();
    let says = |word: &str| text.contains(word);
    let known = match status(&text) {
        Some(429) => TOO_BUSY,
        // S3; Azure.
        Some(503) if says("SlowDown") || says("ServerBusy") => TOO_BUSY,
        // Lists have no errors of their own for these.
        Some(401) => NOBODY,
        Some(403) => NO_RIGHTS,
        Some(501) => NO_CONDITIONS,
        Some(404) if says("NoSuchBucket") || says("ContainerNotFound") => NO_BUCKET,
        // It has waited for the request in vain.
        Some(400) if says("RequestTimeout") => NO_ANSWER,
        Some(408) => NO_ANSWER,
        Some(300..=499) => REFUSED,
        None if says("Received redirect") => REFUSED,
        None if has_cause(cause, io::ErrorKind::ConnectionRefused) => (
            ErrorKind::NotApplied,
            "there is no connection to the object store",
        ),
        // So TLS says that it cannot agree with the other end, or trust it.
        None if has_cause(cause, io::ErrorKind::InvalidData) => (
            ErrorKind::Fatal,
            "there is no TLS with the object store: is its certificate signed by an authority that the client trusts, and \
             for this address?",
        ),
        _ => NO_ANSWER,
    };
    // What was sent before may have been applied: only the last answer is known.
    if known.0 == ErrorKind::NotApplied && says(" retries, max_retries: ") {
        return (ErrorKind::Unknown, known.1);
    }
    known
}

/// The status of the answer that an error tells of.
fn status(text: &str) -> Option<u16> {
    let (_, after) = text.split_once("non-2xx status code: ")?;
    after.get(..3)?.parse().ok()
}

fn has_cause(error: &(dyn StdError + 'static), kind: io::ErrorKind) -> bool {
    std::iter::successors(Some(error), |&error| next(error))
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == kind)
}

/// The error inside of an error. That of an I/O error is no source of it, but its source is.
fn next<'e>(error: &'e (dyn StdError + 'static)) -> Option<&'e (dyn StdError + 'static)> {
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
    use super::*;

    fn kind(text: &str) -> ErrorKind {
        let source = text.into();
        failed(Error::Generic {
            store: "S3",
            source,
        })
        .kind()
    }

    #[test]
    fn answers_of_a_service_have_a_kind_each() {
        use ErrorKind::{Fatal, NotApplied, Unknown};
        for (status, expected) in [
            ("429 Too Many Requests: ", NotApplied),
            (
                "503 Service Unavailable: <Error><Code>SlowDown</Code>",
                NotApplied,
            ),
            (
                "503 Service Unavailable: <Error><Code>ServerBusy</Code>",
                NotApplied,
            ),
            ("503 Service Unavailable: ", Unknown),
            ("500 Internal Server Error: ", Unknown),
            ("504 Gateway Timeout: ", Unknown),
            ("408 Request Timeout: ", Unknown),
            (
                "400 Bad Request: <Error><Code>RequestTimeout</Code>",
                Unknown,
            ),
            ("400 Bad Request: <Error><Code>ExpiredToken</Code>", Fatal),
            ("404 Not Found: <Error><Code>NoSuchBucket</Code>", Fatal),
            ("403 Forbidden: ", Fatal),
            ("405 Method Not Allowed: ", Fatal),
            (
                "501 Not Implemented: <Error><Code>NotImplemented</Code>",
                Fatal,
            ),
        ] {
            let text = format!(
                "Error performing PUT http://h/b/k in 1ms - Server returned non-2xx status code: {status}"
            );
            assert_eq!(kind(&text), expected, "{status}");
        }
        assert_eq!(
            kind("Error performing PUT - Received redirect without LOCATION"),
            Fatal
        );
        assert_eq!(
            kind("Error performing PUT - HTTP error: error sending request"),
            Unknown
        );
    }

    #[test]
    fn causes_are_found_wherever_they_are_wrapped() {
        let of = |kind: io::ErrorKind| {
            let source = Box::new(io::Error::other(io::Error::other(io::Error::from(kind))));
            failed(Error::Generic {
                store: "S3",
                source,
            })
            .kind()
        };
        assert_eq!(of(io::ErrorKind::ConnectionRefused), ErrorKind::NotApplied);
        assert_eq!(of(io::ErrorKind::InvalidData), ErrorKind::Fatal);
        assert_eq!(of(io::ErrorKind::ConnectionReset), ErrorKind::Unknown);
        assert_eq!(of(io::ErrorKind::TimedOut), ErrorKind::Unknown);
    }

    #[test]
    fn what_was_repeated_is_not_denied() {
        let text = "Error performing PUT http://h/b/k in 1ms, after 2 retries, max_retries: 2, retry_timeout: 180s  - \
                    Server returned non-2xx status code: 503 Service Unavailable: <Error><Code>SlowDown</Code>";
        assert_eq!(kind(text), ErrorKind::Unknown);
    }
}
