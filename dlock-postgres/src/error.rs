//! Error texts that say what to do: the errors of building a provider, and the one place where the driver's and the
//! pool's errors become the three kinds of the protocol.

use std::{error::Error as StdError, time::Duration};

use deadpool_postgres::{PoolError, tokio_postgres};
use dlock_core::{ErrorKind, FencingToken, Name, ProviderError, provider::InvalidPrefix};
use tokio_postgres::error::{DbError, Severity, SqlState};

/// The oldest version of the server that has everything the functions need, in the form of `server_version_num`.
pub(crate) const OLDEST: i32 = 120_000;
const LOCKED: &str = "another session keeps the lock's row locked in the database";

/// A setting that no provider can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The prefix.
    #[error(transparent)]
    Prefix(#[from] InvalidPrefix),
    /// The name of a schema or a table.
    #[error(
        "{name:?} cannot name a {what}: {reason}; a name is 1 to {most} bytes of letters, digits, `_` and `-`"
    )]
    Identifier {
        /// Schema or table.
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
        /// The table, quoted and with its schema.
        table: String,
        /// A description of the missing parts.
        lacks: Vec<String>,
    },
    /// The tables of a queue have the layout of another release.
    #[error(
        "the tables of the queue in the schema {schema} have layout {found}, and this release of dlock knows {known}: \
         use the release that made them, or another schema"
    )]
    Layout {
        /// The schema, quoted.
        schema: String,
        /// The layout in the database.
        found: i32,
        /// The layout that this release makes and understands.
        known: i32,
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

/// The server lacks a feature that the functions need.
pub(crate) fn too_old(version: &str) -> ProviderError {
    ProviderError::fatal(format!(
        "this server is PostgreSQL {version}, and dlock needs PostgreSQL {} or later",
        OLDEST / 10_000
    ))
}

/// Other sessions were faster, three times.
pub(crate) fn overtaken() -> ProviderError {
    ProviderError::unknown("other clients changed the record again and again while it was read")
}

/// Another session has locked the row, and a batch waits for no row.
pub(crate) fn locked() -> ProviderError {
    ProviderError::not_applied(LOCKED)
}

/// The time limit of a call passed.
pub(crate) fn timed_out(sent: bool, limit: Duration) -> ProviderError {
    if sent {
        ProviderError::unknown(format!("the database did not answer within {limit:?}"))
    } else {
        ProviderError::not_applied(format!("no connection became available within {limit:?}"))
    }
}

/// The pool gave no connection, so nothing was sent.
pub(crate) fn no_connection(error: PoolError) -> ProviderError {
    let (kind, message) = match &error {
        PoolError::Backend(error) => entry_refused(error).map_or(
            (
                ErrorKind::NotApplied,
                "no connection to the database could be opened",
            ),
            |why| (ErrorKind::Fatal, why),
        ),
        PoolError::Timeout(_) => (
            ErrorKind::NotApplied,
            "the pool gave no connection within its own time limit",
        ),
        PoolError::PostCreateHook(_) => (
            ErrorKind::NotApplied,
            "a hook of the pool refused the connection",
        ),
        PoolError::Closed => (ErrorKind::Fatal, "the pool is closed"),
        PoolError::NoRuntimeSpecified => (
            ErrorKind::Fatal,
            "the pool has time limits but no runtime: set one when building it",
        ),
    };
    let failed = ProviderError::new(kind, message);
    match error {
        // The pool's own text would add nothing to this error.
        PoolError::Backend(error) => failed.with_source(error),
        other => failed.with_source(other),
    }
}

/// No channel for wake-ups could be opened, or the open one broke. Waiters poll.
pub(crate) fn no_channel(error: tokio_postgres::Error) -> ProviderError {
    let kind = match entry_refused(&error) {
        Some(_) => ErrorKind::Fatal,
        None => ErrorKind::NotApplied,
    };
    ProviderError::new(
        kind,
        "no connection to the database that listens for wake-ups",
    )
    .with_source(error)
}

/// The reason why other settings are needed to get into the database, if they are.
fn entry_refused(error: &tokio_postgres::Error) -> Option<&'static str> {
    match error.code().map(SqlState::code) {
        Some(code) if code.starts_with("28") => {
            Some("the database refused the user or the password")
        }
        Some("3D000") => Some("the database does not exist"),
        Some("42501") => Some("the user may not connect to the database"),
        None if refused_by_tls(error) => Some(
            "the database and the connector's settings do not agree on TLS: a certificate is not accepted, or the \
             server speaks none",
        ),
        None if needs_other_settings(error) => Some(
            "these settings do not lead into the database: a password is missing, or the server asks for \
             another way to log in",
        ),
        _ => None,
    }
}

/// The server closed the connection that listened.
pub(crate) fn channel_closed() -> ProviderError {
    ProviderError::not_applied("the database closed the connection that listened for wake-ups")
}

/// The session does not listen, although it was set up to.
pub(crate) fn deaf() -> ProviderError {
    ProviderError::not_applied(
        "the session that should listen for wake-ups does not: listen() needs a way to the database \
         that leads through no pooler",
    )
}

/// The connection that listened has fallen silent.
pub(crate) fn silent(limit: Duration) -> ProviderError {
    ProviderError::not_applied(format!(
        "the connection that listened for wake-ups did not answer within {limit:?}"
    ))
}

/// More hints arrived than were picked up.
pub(crate) fn too_many_hints() -> ProviderError {
    ProviderError::not_applied("wake-ups came faster than they were picked up")
}

/// Whether the server could not accept a release's hint: then it has undone the statement.
pub(crate) fn of_the_hint(error: &ProviderError) -> bool {
    code(error).is_some_and(|code| {
        *code == SqlState::PROGRAM_LIMIT_EXCEEDED || *code == SqlState::OUT_OF_MEMORY
    })
}

/// Whether the driver could not do what the server required of it before letting it in. It has no code for that, only
/// these words; `tests/postgres/refusals.rs` notices when they change.
fn needs_other_settings(error: &tokio_postgres::Error) -> bool {
    matches!(
        error.to_string().as_str(),
        "invalid configuration" | "authentication error"
    )
}

/// Whether another attempt would fail in the same way. Each TLS library has its own errors; those about certificates
/// have this word in common.
fn refused_by_tls(error: &tokio_postgres::Error) -> bool {
    error.source().is_some_and(|cause| {
        let words = cause.to_string().to_lowercase();
        words.contains("certificate") || words == "server does not support tls"
    })
}

/// A statement that was sent, or may have been, has no result.
pub(crate) fn no_result(error: tokio_postgres::Error) -> ProviderError {
    let (kind, message) = match error.as_db_error() {
        Some(db) if fatal_severity(db) => (
            ErrorKind::Unknown,
            "the database ended the connection before it answered",
        ),
        Some(db) => refused(db.code()),
        None => (
            ErrorKind::Unknown,
            "the connection to the database broke before it answered",
        ),
    };
    ProviderError::new(kind, message).with_source(error)
}

/// The server refused the statement, and continues to run. Then nothing of it was applied, whatever the code; the codes
/// decide whether a retry can help.
fn refused(code: &SqlState) -> (ErrorKind, &'static str) {
    let code = code.code();
    match code {
        // Function, table, schema, column, type.
        "42883" | "42P01" | "3F000" | "42703" | "42804" | "42P13" => (
            ErrorKind::Fatal,
            "dlock's table or functions are missing in this database, or those of another release: \
             run create_schema()",
        ),
        "42501" => (
            ErrorKind::Fatal,
            "the database's user lacks a right: to use locks it needs USAGE on dlock's schema, EXECUTE on its \
             functions and SELECT, INSERT and UPDATE on its table, to purge DELETE on it; to use a queue USAGE on the \
             schema and the sequence and SELECT, INSERT, UPDATE and DELETE on the queue's tables; to make either CREATE \
             on the database or the schema",
        ),
        // Untranslatable character, character not in repertoire.
        "22P05" | "22021" => (
            ErrorKind::Fatal,
            "this database's encoding lacks a character of the request, for example of a name, a label or a \
             payload: use others, or a database whose encoding is UTF8",
        ),
        "55P03" => (ErrorKind::NotApplied, LOCKED),
        "25006" => (
            ErrorKind::NotApplied,
            "the database is read-only: a standby, or set so",
        ),
        "57014" => (
            ErrorKind::NotApplied,
            "the statement was cancelled in the database",
        ),
        _ => match code.get(..2) {
            Some("40") => (
                ErrorKind::NotApplied,
                "the database rolled the statement back because of another one",
            ),
            Some("53") => (ErrorKind::NotApplied, "the database is short of resources"),
            // A pooler between us and the server may have lost the server's answer.
            Some("08") => (
                ErrorKind::Unknown,
                "the connection to the database broke before it answered",
            ),
            Some("58" | "XX" | "57") => (
                ErrorKind::Unknown,
                "the database failed while it ran the statement",
            ),
            _ => (ErrorKind::Fatal, "the database refused the statement"),
        },
    }
}

/// Whether a statement's error leaves its connection usable: the server answered, and continues to run.
pub(crate) fn leaves_usable(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|db| !fatal_severity(db))
}

/// Whether the session is on a server that accepts no writes.
pub(crate) fn is_read_only(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&SqlState::READ_ONLY_SQL_TRANSACTION)
}

/// Whether an earlier error in its transaction was the reason.
pub(crate) fn of_an_undone_transaction(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&SqlState::IN_FAILED_SQL_TRANSACTION)
}

/// Whether a prepared statement could not even begin: the session has forgotten it, has another of its name, or its
/// result has changed with the table. Then nothing was applied.
pub(crate) fn of_the_preparation(error: &tokio_postgres::Error) -> bool {
    leaves_usable(error)
        && error
            .code()
            .is_some_and(|code| matches!(code.code(), "26000" | "42P05" | "0A000"))
}

/// Whether the session has lost the statements that were prepared in it, or has those of other clients.
pub(crate) fn of_the_session(error: &tokio_postgres::Error) -> bool {
    let code = error.code().map(SqlState::code);
    matches!(code, Some("26000" | "42P05"))
}

/// Whether the table, the functions or their schema do not exist.
pub(crate) fn of_missing(error: &ProviderError) -> bool {
    code(error).is_some_and(|code| matches!(code.code(), "42883" | "42P01" | "3F000"))
}

/// Whether a batch may have failed because of one of its rows: a conflict, a row that another session keeps locked, a
/// value the database cannot hold. In that case the others should be sent separately.
pub(crate) fn of_one_row(error: &ProviderError) -> bool {
    code(error)
        .and_then(|code| code.code().get(..2))
        .is_some_and(|class| matches!(class, "22" | "23" | "40" | "55"))
}

/// Whether the database's encoding lacks a character of the request.
#[cfg(feature = "tasks")]
pub(crate) fn of_the_encoding(error: &ProviderError) -> bool {
    code(error).is_some_and(|code| matches!(code.code(), "22P05" | "22021"))
}

/// Whether the transaction was rolled back because of concurrent transactions, so that the same request may succeed
/// now.
#[cfg(feature = "tasks")]
pub(crate) fn is_conflict(error: &ProviderError) -> bool {
    const CONFLICTS: [SqlState; 2] = [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
    ];
    code(error).is_some_and(|code| CONFLICTS.contains(code))
}

/// The code with which the server, which continues to run, refused a statement.
fn code(error: &ProviderError) -> Option<&SqlState> {
    error
        .source()
        .and_then(|source| source.downcast_ref::<tokio_postgres::Error>())
        .filter(|error| leaves_usable(error))
        .and_then(tokio_postgres::Error::code)
}

fn fatal_severity(db: &DbError) -> bool {
    matches!(
        db.parsed_severity(),
        Some(Severity::Fatal | Severity::Panic) | None
    )
}

const _: () = assert!(Name::MAX_BYTES == 1024, "the messages above name the limit");
