//! Error texts that say what to do: the errors of building a provider, and the one place where the driver's errors
//! become the three kinds of the protocol.

#[cfg(test)]
mod tests;

use std::{error::Error as StdError, time::Duration};

use dlock_core::{ErrorKind, FencingToken, Name, ProviderError, provider::InvalidPrefix};
use mysql_async::{DriverError, Error, ServerError};

/// The codes with which a read-only server refuses a write.
const READ_ONLY: [u16; 3] = [1290, 1792, 1836];

/// A setting that no provider can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The prefix.
    #[error(transparent)]
    Prefix(#[from] InvalidPrefix),
    /// The name of a database or a table.
    #[error(
        "{name:?} cannot name a {what}: {reason}; a name is 1 to {most} bytes of letters, digits, `_` and `-`, those of a \
         table lower-case"
    )]
    Identifier {
        /// Database or table.
        what: &'static str,
        /// The name that was given.
        name: String,
        /// The flaw of the name.
        reason: &'static str,
        /// The longest name in bytes.
        most: usize,
    },
    /// The time limit of a call.
    #[error("a time limit of {timeout:?} for a call is not possible: it is 1 ms to one minute")]
    CallTimeout {
        /// The limit that was given.
        timeout: Duration,
    },
}

/// The schema could not be made or is not as it should be.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// Something is missing, or another object has its name.
    #[error(
        "the table {table} is not as dlock needs it: {}; run create_schema(), or name another table",
        .lacks.join(", ")
    )]
    Differs {
        /// The table, quoted.
        table: String,
        /// A description of the missing parts.
        lacks: Vec<String>,
    },
    /// The database gave no answer, or its user lacks a right.
    #[error(transparent)]
    Store(#[from] ProviderError),
}

/// A row that is no record. It was not written to.
pub(crate) fn bad_record(prefix: &str, name: &str, flaw: &str) -> ProviderError {
    let lock = if prefix.is_empty() {
        format!("{name:?}")
    } else {
        format!("{name:?} with the prefix {prefix:?}")
    };
    ProviderError::fatal(format!(
        "the row of lock {lock} is no record of dlock: {flaw}; \
         find out who wrote it, and delete it while the lock is free"
    ))
}

/// T2: nothing wraps.
pub(crate) fn exhausted(name: &Name) -> ProviderError {
    ProviderError::fatal(format!(
        "the next fencing token of lock {:?} would be beyond {}: \
         set the database server's clock, lower the floor, or use another name",
        name.as_str(),
        FencingToken::MAX
    ))
}

/// An answer that this release does not know.
pub(crate) fn bad_answer(what: &str) -> ProviderError {
    ProviderError::fatal(format!(
        "the database answered {what:?}, which this release does not know: \
         was the schema written by create_schema()?"
    ))
}

/// Other sessions were faster, three times.
pub(crate) fn overtaken() -> ProviderError {
    ProviderError::unknown(
        "other clients made and deleted the record again and again while it was read",
    )
}

/// The time limit of a call passed.
pub(crate) fn timed_out(sent: bool, limit: Duration) -> ProviderError {
    if sent {
        ProviderError::unknown(format!("the database did not answer within {limit:?}"))
    } else {
        ProviderError::not_applied(format!("no connection became available within {limit:?}"))
    }
}

/// There is no connection, so nothing was sent.
pub(crate) fn no_connection(error: Error) -> ProviderError {
    let (kind, message) = match &error {
        Error::Server(ServerError { code, .. }) => entry_refused(*code),
        Error::Driver(DriverError::PoolDisconnected) => (
            ErrorKind::Fatal,
            "the connections are closed: the runtime in which they were first used is gone",
        ),
        Error::Driver(DriverError::NoClientSslFlagFromServer) => (
            ErrorKind::Fatal,
            "the options ask for TLS, and the server speaks none",
        ),
        Error::Driver(
            DriverError::UnknownAuthPlugin { .. }
            | DriverError::MysqlOldPasswordDisabled
            | DriverError::CleartextPluginDisabled
            | DriverError::NoKeyFound,
        )
        | Error::Url(_) => (
            ErrorKind::Fatal,
            "these options do not lead into the database: the server asks for another way to log in, or a file that \
             they name is not what it should be",
        ),
        error if names_a_certificate(error) => (
            ErrorKind::Fatal,
            "the database and the options do not agree on TLS: a certificate is not accepted",
        ),
        _ => (
            ErrorKind::NotApplied,
            "no connection to the database could be opened",
        ),
    };
    ProviderError::new(kind, message).with_source(error)
}

/// The server's codes for refusing a client entry.
fn entry_refused(code: u16) -> (ErrorKind, &'static str) {
    match code {
        // Access denied, to a database, without a password, by a plugin; host not allowed; TLS required; a password
        // that has to be changed; accounts that are locked.
        1044 | 1045 | 1698 | 1130 | 3159 | 1820 | 1862 | 3118 | 4151 => (
            ErrorKind::Fatal,
            "the database refused the user, the password or the host",
        ),
        1049 => (ErrorKind::Fatal, "the database does not exist"),
        _ => (
            ErrorKind::NotApplied,
            "the server let no further connection in",
        ),
    }
}

/// Each TLS library has its own errors; those about certificates have this word in common.
fn names_a_certificate(error: &Error) -> bool {
    let mut cause = Some(error as &dyn StdError);
    while let Some(error) = cause {
        if error.to_string().to_lowercase().contains("certificate") {
            return true;
        }
        cause = error.source();
    }
    false
}

/// A statement that was sent, or may have been, has no result.
pub(crate) fn no_result(error: Error) -> ProviderError {
    let (kind, message) = match &error {
        Error::Server(ServerError { code, .. }) => refused(*code),
        _ => (
            ErrorKind::Unknown,
            "the connection to the database broke before it answered",
        ),
    };
    ProviderError::new(kind, message).with_source(error)
}

/// Whether the server takes no writes.
pub(crate) fn is_read_only(error: &Error) -> bool {
    matches!(error, Error::Server(ServerError { code, .. }) if READ_ONLY.contains(code))
}

/// The server refused the statement. The procedures undo what they began; an error that could interrupt one after its
/// commit leaves the outcome unknown.
fn refused(code: u16) -> (ErrorKind, &'static str) {
    match code {
        // Procedure, table, column; number of arguments; no database chosen, or none of this name.
        1305 | 1146 | 1054 | 1318 | 1046 | 1049 => (
            ErrorKind::Fatal,
            "dlock's table or procedures are missing in this database, or those of another release: run \
             create_schema() in the database that the options name",
        ),
        // Database, user, table, column, special right, procedure.
        1044 | 1045 | 1142 | 1143 | 1227 | 1370 => (
            ErrorKind::Fatal,
            "the database's user lacks a right: to use the locks it needs EXECUTE on dlock's procedures and SELECT, \
             INSERT and UPDATE on its table, to purge DELETE on it, to make them CREATE and CREATE ROUTINE on the database",
        ),
        1665 => (
            ErrorKind::Fatal,
            "the server writes statements to its log (binlog_format = STATEMENT), with which it takes no write of this \
             kind: set binlog_format to MIXED or ROW",
        ),
        1205 => (
            ErrorKind::NotApplied,
            "another session keeps the lock's row locked in the database",
        ),
        1213 | 1020 => (
            ErrorKind::NotApplied,
            "the database rolled the statement back because of another one",
        ),
        code if READ_ONLY.contains(&code) => (
            ErrorKind::NotApplied,
            "the server is read-only: a replica, or set so",
        ),
        1047 => (
            ErrorKind::NotApplied,
            "the server takes no statements now: its cluster has no majority",
        ),
        // Disk, memory, a full table.
        1021 | 1037 | 1041 | 1114 => (ErrorKind::NotApplied, "the server is short of resources"),
        // A commit that failed; a statement or a session that was ended, by its limit or by another session; the server
        // ends; its storage failed.
        1180 | 1317 | 1969 | 3024 | 1927 | 1053 | 1030 | 1026 => (
            ErrorKind::Unknown,
            "the server ended the statement, or failed while it ran it",
        ),
        _ => (ErrorKind::Fatal, "the database refused the statement"),
    }
}

const _: () = assert!(
    Name::MAX_BYTES == 1024,
    "the table's columns have this limit"
);
