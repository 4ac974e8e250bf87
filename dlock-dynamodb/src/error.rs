//! Error texts that say what to do: settings, tables, and the one place where the SDK's errors become the three kinds
//! of the protocol.

#[cfg(test)]
mod tests;

use std::{error::Error as StdError, io, time::Duration};

use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_dynamodb::{
    config::http::HttpResponse,
    error::{ProvideErrorMetadata, SdkError},
};
use dlock_core::{ErrorKind, ProviderError, provider::InvalidPrefix};

/// A setting that no provider can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The table.
    #[error("a provider needs the name of its table")]
    Table,
    /// The prefix.
    #[error(transparent)]
    Prefix(#[from] InvalidPrefix),
    /// An attribute's name.
    #[error("{attribute:?} cannot be the name of an attribute: {reason}")]
    Attribute {
        /// The name that was given.
        attribute: String,
        /// The flaw of the name.
        reason: &'static str,
    },
    /// A time limit.
    #[error(
        "an attempt limit of {attempt:?} within {call:?} is not possible: 1 ms to 60 s, and the attempt's not above the whole call's"
    )]
    Limits {
        /// For one attempt.
        attempt: Duration,
        /// For all attempts of a call.
        call: Duration,
    },
}

/// The reason why a table cannot keep locks.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// This account and region have no table of this name.
    #[error("the table {table:?} does not exist: create it with create_table, or name another one")]
    Missing {
        /// The table.
        table: String,
    },
    /// Its key attributes differ from the provider's.
    #[error(
        "the table {table:?} has the key {found}, and this provider is set to {expected}: set the provider to the table's key, or name another table"
    )]
    Key {
        /// The table.
        table: String,
        /// The provider's setting.
        expected: String,
        /// The table's key.
        found: String,
    },
    /// It is being created, deleted, archived or blocked.
    #[error("the table {table:?} is not usable, its status is {status}: try again later")]
    NotActive {
        /// The table.
        table: String,
        /// The status from DynamoDB.
        status: String,
    },
    /// Released records are to be deleted, but the table does not delete by this attribute.
    #[error(
        "the table {table:?} does not delete items by {attribute:?}: enable that as its time to live, or do not ask for expire_released"
    )]
    TimeToLive {
        /// The table.
        table: String,
        /// The attribute.
        attribute: String,
    },
    /// No answer.
    #[error(transparent)]
    Store(#[from] ProviderError),
}

/// Classifies the failure of a request to this table.
pub(crate) fn provider_error<E>(table: &str, error: SdkError<E, HttpResponse>) -> ProviderError
where
    E: ProvideErrorMetadata + StdError + Send + Sync + 'static,
{
    let (kind, message) = match &error {
        SdkError::ConstructionFailure(_) => (
            ErrorKind::Fatal,
            "the request to DynamoDB could not be made: configure the client's region and credentials"
                .into(),
        ),
        SdkError::DispatchFailure(_) => match find::<CredentialsError>(&error) {
            Some(
                CredentialsError::CredentialsNotLoaded(_)
                | CredentialsError::InvalidConfiguration(_),
            ) => (
                ErrorKind::Fatal,
                "there are no credentials for DynamoDB: configure them for the client".into(),
            ),
            Some(_) => (
                ErrorKind::NotApplied,
                "the credentials for DynamoDB could not be fetched".into(),
            ),
            // Nothing was sent. Each TLS library has its own errors; this word is common to those about certificates.
            None if causes(&error).any(|cause| cause.to_string().to_lowercase().contains("certificate")) => (
                ErrorKind::Fatal,
                "TLS does not accept the certificate of DynamoDB's endpoint, or the endpoint the client's: look at \
                 the authorities that the client trusts, and at the endpoint's host"
                    .into(),
            ),
            None if refused(&error) => {
                (ErrorKind::NotApplied, "DynamoDB could not be reached".into())
            }
            None => (
                ErrorKind::Unknown,
                "the connection to DynamoDB failed".into(),
            ),
        },
        SdkError::ServiceError(refusal) if refusal.raw().status().is_client_error() => {
            meaning(error.code().unwrap_or(""), table)
        }
        // This includes a successful answer that cannot be read: the SDK calls it an error of the service.
        SdkError::ServiceError(_) => (
            ErrorKind::Unknown,
            "DynamoDB failed while it had the request, or gave an answer that makes no sense".into(),
        ),
        // The request was sent, and the answer did not arrive, or not all of it.
        _ => (
            ErrorKind::Unknown,
            "DynamoDB did not answer completely in time".into(),
        ),
    };
    ProviderError::new(kind, message).with_source(error)
}

/// Classifies a refusal by DynamoDB. A request with a code that is not listed was refused for certain; the cause may or
/// may not go away.
fn meaning(code: &str, table: &str) -> (ErrorKind, String) {
    match code {
        "ResourceNotFoundException" => (
            ErrorKind::Fatal,
            format!(
                "the table {table:?} does not exist in this account and region, or is not active yet: \
                 create it with create_table"
            ),
        ),
        "AccessDeniedException" | "AccessDenied" | "NotAuthorized" | "OptInRequired" => (
            ErrorKind::Fatal,
            format!(
                "no permission to use the table {table:?}: allow dynamodb:UpdateItem and dynamodb:GetItem on it"
            ),
        ),
        "UnrecognizedClientException"
        | "InvalidClientTokenId"
        | "InvalidSignatureException"
        | "SignatureDoesNotMatch"
        | "IncompleteSignatureException"
        | "IncompleteSignature"
        | "MissingAuthenticationTokenException"
        | "MissingAuthenticationToken" => (
            ErrorKind::Fatal,
            "DynamoDB refused the credentials: configure valid ones for this region".into(),
        ),
        "ValidationException" | "SerializationException" => (
            ErrorKind::Fatal,
            format!(
                "DynamoDB refused the request as invalid: check the key of the table {table:?} with verify_table"
            ),
        ),
        "ItemCollectionSizeLimitExceededException" => (
            ErrorKind::Fatal,
            format!(
                "the partition of the locks in the table {table:?} is full: purge it, or use another prefix"
            ),
        ),
        "ThrottlingException"
        | "Throttling"
        | "ProvisionedThroughputExceededException"
        | "RequestLimitExceeded"
        | "LimitExceededException" => (
            ErrorKind::NotApplied,
            format!(
                "DynamoDB throttled the request: the table {table:?} or the account is at its limit"
            ),
        ),
        "TransactionConflictException" | "ReplicatedWriteConflictException" => (
            ErrorKind::NotApplied,
            "another write of the same record was in progress".into(),
        ),
        "" => (ErrorKind::NotApplied, "DynamoDB refused the request".into()),
        // Such as expired credentials, which the log of a loss has to name.
        code => (
            ErrorKind::NotApplied,
            format!("DynamoDB refused the request: {code}"),
        ),
    }
}

/// The connection was refused, so nothing was sent. Every HTTP client that the user may bring keeps the system's error.
fn refused(error: &(dyn StdError + 'static)) -> bool {
    find::<io::Error>(error).is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

/// The first cause of this type.
fn find<'a, T: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a T> {
    causes(error).find_map(|error| error.downcast_ref::<T>())
}

/// The error and its causes.
fn causes<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

/// An item that is no record. It stays as it is, because what it protects is unknown.
pub(crate) fn bad_item(table: &str, key: &str, flaw: &str) -> ProviderError {
    ProviderError::fatal(format!(
        "the item {key:?} of the table {table:?} is not the record of a lock: {flaw}; \
         when the lock is free, delete the item, or use another prefix"
    ))
}
