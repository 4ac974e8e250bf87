//! The one place that maps errors of the client and of the server to the three kinds of the protocol.

use async_nats::{
    client::{RequestError, RequestErrorKind},
    jetstream::{self, ErrorCode},
};
use dlock_core::{ErrorKind, ProviderError};

/// Why a bucket cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BucketError {
    /// The client's account has no bucket of this name.
    #[error("there is no bucket {bucket:?}: make it with set_up, or name another one")]
    Missing {
        /// The bucket.
        bucket: String,
    },
    /// No bucket can have this name.
    #[error(
        "{bucket:?} is no bucket's name: letters, digits, - and _ make one, at most 128 of them"
    )]
    Name {
        /// The name.
        bucket: String,
    },
    /// It could lose locks, or cannot keep them.
    #[error("the bucket {bucket:?} {flaw}")]
    Unfit {
        /// The bucket.
        bucket: String,
        /// Why, and what to do.
        flaw: &'static str,
    },
    /// The server gave no answer, or refuses.
    #[error(transparent)]
    Store(#[from] ProviderError),
}

impl From<BucketError> for ProviderError {
    fn from(error: BucketError) -> Self {
        match error {
            BucketError::Store(error) => error,
            other => Self::fatal(other.to_string()),
        }
    }
}

/// A request without an answer.
pub(crate) fn unanswered(error: RequestError) -> ProviderError {
    let (kind, message) = match error.kind() {
        RequestErrorKind::NoResponders => (
            ErrorKind::NotApplied,
            "no server answers for the bucket: JetStream is off, the bucket is gone, or it has no leader",
        ),
        RequestErrorKind::InvalidSubject | RequestErrorKind::MaxPayloadExceeded => (
            ErrorKind::Fatal,
            "the server takes no such request: is its max_payload below 8 KiB?",
        ),
        _ => (
            ErrorKind::Unknown,
            "NATS gave no answer: it is down, or does not let this user publish, and says so to the client's event callback only",
        ),
    };
    ProviderError::new(kind, message).with_source(error)
}

/// The server's own answer. The codes are those of `server/errors.json` of nats-server.
pub(crate) fn refused(error: jetstream::Error) -> ProviderError {
    let (kind, message) = match error.error_code() {
        ErrorCode::STREAM_NOT_FOUND => (
            ErrorKind::Fatal,
            "there is no such bucket: make it with set_up, or name another one",
        ),
        ErrorCode::JETSTREAM_NOT_ENABLED | ErrorCode::JETSTREAM_NOT_ENABLED_FOR_ACCOUNT => (
            ErrorKind::Fatal,
            "JetStream is off: enable it in the server and for the account of this user",
        ),
        ErrorCode::ACCOUNT_RESOURCES_EXCEEDED
        | ErrorCode::INSUFFICIENT_RESOURCES
        | ErrorCode::MEMORY_RESOURCES_EXCEEDED
        | ErrorCode::STORAGE_RESOURCES_EXCEEDED => (
            ErrorKind::NotApplied,
            "JetStream has no space left: raise its limits, or delete what is not needed",
        ),
        ErrorCode::CLUSTER_NOT_AVAILABLE | ErrorCode::CLUSTER_NOT_LEADER => (
            ErrorKind::NotApplied,
            "the bucket has no leader: most of its servers are down or out of reach",
        ),
        ErrorCode::STREAM_REPLICAS_NOT_SUPPORTED => (
            ErrorKind::Fatal,
            "this server is no cluster: a bucket has one replica here",
        ),
        // A full bucket has this code too, and so does a disk that failed.
        ErrorCode::STREAM_STORE_FAILED => (
            ErrorKind::Unknown,
            "the server could not store it: is the bucket or the disk full?",
        ),
        // Codes as those of HTTP.
        _ if (400..500).contains(&error.code()) => {
            (ErrorKind::Fatal, "the server refuses the request")
        }
        _ => (ErrorKind::Unknown, "the server failed"),
    };
    ProviderError::new(kind, message).with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_server_have_a_kind_each() {
        use ErrorKind::{Fatal, NotApplied, Unknown};
        for (code, err_code, expected) in [
            (404, 10059, Fatal),
            (503, 10039, Fatal),
            (503, 10076, Fatal),
            (503, 10023, NotApplied),
            (400, 10002, NotApplied),
            (503, 10008, NotApplied),
            (500, 10009, NotApplied),
            (503, 10077, Unknown),
            (500, 10074, Fatal),
            (400, 10054, Fatal),
            (500, 10051, Unknown),
        ] {
            let text = format!(r#"{{"code":{code},"err_code":{err_code},"description":"x"}}"#);
            let error: jetstream::Error = serde_json::from_str(&text).unwrap();
            assert_eq!(refused(error).kind(), expected, "{err_code}");
        }
    }

    #[test]
    fn requests_without_an_answer_have_a_kind_each() {
        for (kind, expected) in [
            (RequestErrorKind::NoResponders, ErrorKind::NotApplied),
            (RequestErrorKind::TimedOut, ErrorKind::Unknown),
            (RequestErrorKind::Other, ErrorKind::Unknown),
            (RequestErrorKind::MaxPayloadExceeded, ErrorKind::Fatal),
        ] {
            assert_eq!(unanswered(RequestError::new(kind)).kind(), expected);
        }
    }
}
