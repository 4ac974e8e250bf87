//! The one place that maps the client's errors to the three kinds of the protocol.

use std::{error::Error as StdError, io};

use dlock_core::{ErrorKind, ProviderError};
use etcd_client::Error;
use tonic::{Code, Status};

/// The kind of an error of the client, and what to do about it.
pub(crate) fn failed(error: Error) -> ProviderError {
    let (kind, message) = match &error {
        unsent if was_not_sent(unsent) => NO_CONNECTION,
        Error::GRpcStatus(status) => of_status(status),
        Error::TransportError(transport) if was_refused(transport) => NO_CONNECTION,
        Error::IoError(io) if was_refused(io) => NO_CONNECTION,
        Error::InvalidArgs(_) | Error::InvalidUri(_) | Error::InvalidMetadataValue(_) => (
            ErrorKind::Fatal,
            "the client of etcd cannot be used as it is set up",
        ),
        _ => NO_ANSWER,
    };
    let known = ProviderError::new(kind, message);
    // The client's error hides the causes of these.
    match error {
        Error::GRpcStatus(status) => known.with_source(status),
        Error::TransportError(transport) => known.with_source(transport),
        Error::IoError(io) => known.with_source(io),
        other => known.with_source(other),
    }
}

/// Whether the server wants another authentication token than the client's, and did nothing.
pub(crate) fn wants_login(error: &Error) -> bool {
    match error {
        Error::GRpcStatus(status) => {
            status.code() == Code::Unauthenticated || is_of_older_users(status)
        }
        _ => false,
    }
}

/// A call that was refused for its token, with the kind of error that ended the login.
pub(crate) fn not_logged_in(refusal: Error, login: ErrorKind) -> ProviderError {
    match login {
        ErrorKind::Fatal => ProviderError::fatal(
            "etcd wants the client to log in again, and refuses its user or password",
        )
        .with_source(refusal),
        _ => ProviderError::not_applied(
            "etcd wants the client to log in again, and did not answer that",
        )
        .with_source(refusal),
    }
}

/// A JSON web token is bound to the state of users and roles for which it was made.
fn is_of_older_users(status: &Status) -> bool {
    status.message().contains("revision of auth store is old")
}

/// An answer that makes no sense.
pub(crate) fn unexpected(what: &str) -> ProviderError {
    ProviderError::unknown(format!("etcd gave an answer that is none: {what}"))
}

type Known = (ErrorKind, &'static str);

const NO_CONNECTION: Known = (ErrorKind::NotApplied, "there is no connection to etcd");
const NO_ANSWER: Known = (ErrorKind::Unknown, "etcd gave no answer");

/// etcd distinguishes most errors of one code by their texts only (`api/v3rpc/rpctypes/error.go`).
fn of_status(status: &Status) -> Known {
    let says = |text: &str| status.message().contains(text);
    match status.code() {
        Code::Unauthenticated => (
            ErrorKind::Fatal,
            "etcd does not know the user of the client: connect with one",
        ),
        Code::PermissionDenied => (
            ErrorKind::Fatal,
            "etcd refuses the user of the client: grant it reading and writing of the keys with the prefix",
        ),
        Code::InvalidArgument if is_of_older_users(status) => (
            ErrorKind::NotApplied,
            "etcd's users or roles changed again and again while the client logged in",
        ),
        Code::InvalidArgument | Code::Unimplemented => (
            ErrorKind::Fatal,
            "etcd refuses the request: a server with authentication wants a user, and one before version 3.3 is too old",
        ),
        Code::ResourceExhausted if says("database space exceeded") => (
            ErrorKind::NotApplied,
            "etcd has no space left: compact and defragment it, and disarm the alarm",
        ),
        Code::ResourceExhausted if says("too many requests") => {
            (ErrorKind::NotApplied, "etcd has too much to do")
        }
        // A request that was in flight to a leader that is gone gets another text.
        Code::Unavailable if says("etcdserver: no leader") => (
            ErrorKind::NotApplied,
            "etcd has no leader: most of its members are down or out of reach",
        ),
        Code::Unavailable if was_refused(status) => NO_CONNECTION,
        // TLS reports in this way that it cannot agree with the other end, or trust it.
        Code::Unavailable if has_cause(status, io::ErrorKind::InvalidData) => (
            ErrorKind::Fatal,
            "there is no TLS with etcd: is its certificate signed by an authority that the client trusts, and for this address?",
        ),
        _ => NO_ANSWER,
    }
}

/// Whether nothing was sent because the connection ended first: on HTTP/2, hyper reports a request as canceled only
/// while it still has it (`client/dispatch.rs`, `client/conn/http2.rs`).
pub(crate) fn was_not_sent(error: &Error) -> bool {
    let Error::GRpcStatus(status) = error else {
        return false;
    };
    causes(status)
        .filter_map(|cause| cause.downcast_ref::<hyper::Error>())
        .any(hyper::Error::is_canceled)
}

/// Whether nothing was sent because no server listens there.
fn was_refused(error: &(dyn StdError + 'static)) -> bool {
    has_cause(error, io::ErrorKind::ConnectionRefused)
}

fn has_cause(error: &(dyn StdError + 'static), kind: io::ErrorKind) -> bool {
    causes(error)
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == kind)
}

/// The error, its source, and so on.
fn causes<'e>(
    error: &'e (dyn StdError + 'static),
) -> impl Iterator<Item = &'e (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(code: Code, text: &str) -> ErrorKind {
        failed(Error::GRpcStatus(Status::new(code, text))).kind()
    }

    #[test]
    fn errors_of_the_server_have_a_kind_each() {
        use ErrorKind::{Fatal, NotApplied, Unknown};
        for (code, text, expected) in [
            (
                Code::Unauthenticated,
                "etcdserver: invalid auth token",
                Fatal,
            ),
            (
                Code::PermissionDenied,
                "etcdserver: permission denied",
                Fatal,
            ),
            (
                Code::InvalidArgument,
                "etcdserver: user name is empty",
                Fatal,
            ),
            (
                Code::InvalidArgument,
                "etcdserver: revision of auth store is old",
                NotApplied,
            ),
            (
                Code::ResourceExhausted,
                "etcdserver: mvcc: database space exceeded",
                NotApplied,
            ),
            (
                Code::ResourceExhausted,
                "etcdserver: too many requests",
                NotApplied,
            ),
            (Code::ResourceExhausted, "message too large", Unknown),
            (Code::Unavailable, "etcdserver: no leader", NotApplied),
            (Code::Unavailable, "etcdserver: leader changed", Unknown),
            (Code::Unavailable, "etcdserver: request timed out", Unknown),
            (
                Code::Unavailable,
                "etcdserver: request timed out, possibly due to previous leader failure",
                Unknown,
            ),
            (Code::Unavailable, "etcdserver: server stopped", Unknown),
            (Code::Cancelled, "Timeout expired", Unknown),
            (Code::DeadlineExceeded, "context deadline exceeded", Unknown),
            (Code::Internal, "stream broke", Unknown),
        ] {
            assert_eq!(kind(code, text), expected, "{code:?} {text:?}");
        }
    }

    #[test]
    fn refused_connection_has_sent_nothing() {
        let of = |kind: io::ErrorKind| failed(Error::IoError(io::Error::from(kind))).kind();
        assert_eq!(of(io::ErrorKind::ConnectionRefused), ErrorKind::NotApplied);
        assert_eq!(of(io::ErrorKind::ConnectionReset), ErrorKind::Unknown);
        assert_eq!(of(io::ErrorKind::TimedOut), ErrorKind::Unknown);
    }
}
