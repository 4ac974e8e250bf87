//! The one place that maps errors of object stores to the three kinds of the protocol.
//!
//! `object_store` has names for some refusals, and one error for all others. Their details, the status and the code of
//! the service, are only in its text. That text also names the object, whose name is the lock's: so no word is searched
//! for in the whole text.

#[cfg(test)]
mod tests;

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
const NO_LOGIN: Known = (
    ErrorKind::Fatal,
    "the object store does not know the credentials, or they have expired",
);
const REFUSED: Known = (
    ErrorKind::Fatal,
    "the object store refuses the request: are region, endpoint and bucket right, and has it conditional writes?",
);
const TOO_BUSY: Known = (ErrorKind::NotApplied, "the object store has too much to do");

/// The kind of an error, and what to do about it.
pub(crate) fn failed(error: Error) -> ProviderError {
    let (kind, message) = match &error {
        Error::PermissionDenied { .. } => NO_RIGHTS,
        Error::Unauthenticated { .. } => NO_LOGIN,
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

/// Whether the bucket is missing, and not the object.
pub(crate) fn has_no_bucket(error: &Error) -> bool {
    Answer::of(error).is_some_and(|answer| answer.names_no_bucket())
}

fn of_cause(cause: &(dyn StdError + 'static)) -> Known {
    let known = match Answer::of(cause) {
        Some(answer) => answer.meaning(),
        None if told(cause).any(|text| text.starts_with("Received redirect")) => REFUSED,
        None if has_cause(cause, io::ErrorKind::ConnectionRefused) => (
            ErrorKind::NotApplied,
            "there is no connection to the object store",
        ),
        // TLS reports in this way that it cannot agree with the other end, or trust it.
        None if has_cause(cause, io::ErrorKind::InvalidData) => (
            ErrorKind::Fatal,
            "there is no TLS with the object store: is its certificate signed by an authority that the client trusts, and \
             for this address?",
        ),
        None => NO_ANSWER,
    };
    // An earlier request may have been applied: only the last answer is known.
    if known.0 == ErrorKind::NotApplied && was_repeated(cause) {
        return (ErrorKind::Unknown, known.1);
    }
    known
}

/// A service's answer that it did not do it.
struct Answer {
    status: u16,
    /// The service's code for its reason, if it gives one.
    code: String,
}

impl Answer {
    /// The answer that an error was made of.
    fn of(error: &(dyn StdError + 'static)) -> Option<Self> {
        told(error).find_map(|text| Self::parse(&text))
    }

    fn parse(text: &str) -> Option<Self> {
        let answer = text.strip_prefix("Server returned non-2xx status code: ")?;
        // In XML, which escapes the tags that a name may contain.
        let code = answer
            .split_once("<Code>")
            .and_then(|(_, rest)| rest.split_once("</Code>"));
        Some(Self {
            status: answer.get(..3)?.parse().ok()?,
            code: code.map_or("", |(code, _)| code).to_owned(),
        })
    }

    fn names_no_bucket(&self) -> bool {
        // Of S3 and Google; of Azure.
        self.status == 404 && matches!(&*self.code, "NoSuchBucket" | "ContainerNotFound")
    }

    fn meaning(&self) -> Known {
        match (self.status, &*self.code) {
            (429, _) => TOO_BUSY,
            // S3; Azure.
            (503, "SlowDown" | "ServerBusy") => TOO_BUSY,
            // Lists have no separate errors for these.
            (401, _) => NO_LOGIN,
            (403, _) => NO_RIGHTS,
            (501, _) => NO_CONDITIONS,
            _ if self.names_no_bucket() => NO_BUCKET,
            // The service gave up waiting for the rest of the request.
            (400, "RequestTimeout") | (408, _) => NO_ANSWER,
            (300..=499, _) => REFUSED,
            _ => NO_ANSWER,
        }
    }
}

/// Whether the client sent the request more than once. It says so before the result, after a URL without spaces.
fn was_repeated(error: &(dyn StdError + 'static)) -> bool {
    told(error).any(|text| {
        text.starts_with("Error performing ")
            && text
                .split_once(" - ")
                .is_some_and(|(request, _)| request.contains(" retries, max_retries: "))
    })
}

/// The text of an error, of its cause, and so on.
fn told(error: &(dyn StdError + 'static)) -> impl Iterator<Item = String> {
    causes(error).map(ToString::to_string)
}

fn has_cause(error: &(dyn StdError + 'static), kind: io::ErrorKind) -> bool {
    causes(error)
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == kind)
}

/// The error, its cause, and so on.
fn causes<'e>(
    error: &'e (dyn StdError + 'static),
) -> impl Iterator<Item = &'e (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&error| next(error))
}

/// The error inside of an error. The one in an I/O error is not its source, but that one's source is.
fn next<'e>(error: &'e (dyn StdError + 'static)) -> Option<&'e (dyn StdError + 'static)> {
    match error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref)
    {
        Some(inner) => Some(inner),
        None => error.source(),
    }
}
