//! Error texts that say what to do: the errors of building, and the one place where the driver's errors become the
//! three kinds of the protocol.

#[cfg(test)]
mod tests;

use std::{borrow::Cow, time::Duration};

use dlock_core::{ErrorKind, ProviderError, provider::InvalidPrefix};
use redis::{ErrorKind as Redis, RedisError};

/// A setting that no provider can have.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// There is no connection for requests.
    #[error("no way to the server: give the builder a connection, a client or Sentinels")]
    NoConnection,
    /// Connections of our own lead to one server.
    #[error("a client and Sentinels may lead to two servers: give the builder one of them")]
    TwoClients,
    /// The prefix.
    #[error(transparent)]
    Prefix(#[from] InvalidPrefix),
    /// The time limit of a call.
    #[error("a time limit of {timeout:?} for a call is not possible: it is 1 ms to 1 h")]
    CallTimeout {
        /// The limit that was given.
        timeout: Duration,
    },
    /// Acknowledgements and wake-ups need connections of their own.
    #[error(
        "waiting for replicas or for wake-ups takes connections of its own: add a client or Sentinels"
    )]
    NoClient,
    /// How long a call waits for replicas.
    #[error(
        "waiting {within:?} for replicas is not possible: it takes whole milliseconds, at least one, and less than the time limit of a call"
    )]
    AcknowledgedWithin {
        /// The time that was given.
        within: Duration,
    },
}

/// Too few replicas have confirmed a write. In the chain of sources of the [`ProviderError`] that reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reached} of the {wanted} required replicas have acknowledged it")]
#[non_exhaustive]
pub struct Unacknowledged {
    /// How many replicas have confirmed that they have it.
    pub reached: usize,
    /// How many were required.
    pub wanted: usize,
}

/// A call without an answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The driver or the server reported it; `sent`: after the request may have left.
    Redis { error: RedisError, sent: bool },
    /// No answer and no error for `limit`.
    Silent { limit: Duration, sent: bool },
}

impl Failure {
    pub(crate) fn is(&self, test: impl FnOnce(&RedisError) -> bool) -> bool {
        matches!(self, Self::Redis { error, .. } if test(error))
    }
}

/// The server itself reported the error, over a connection that works.
pub(crate) fn is_reply(error: &RedisError) -> bool {
    matches!(error.kind(), Redis::Server(_) | Redis::Extension)
}

/// Classifies a call without an answer.
pub(crate) fn provider_error(failure: Failure) -> ProviderError {
    match failure {
        Failure::Silent { limit, sent: true } => {
            ProviderError::unknown(format!("the Redis server did not answer within {limit:?}"))
        }
        Failure::Silent { limit, sent: false } => ProviderError::not_applied(format!(
            "no connection to the Redis server could be opened within {limit:?}"
        )),
        Failure::Redis { error, sent } => {
            let (kind, message) = meaning(&error, sent);
            ProviderError::new(kind, message).with_source(error)
        }
    }
}

/// Classifies this answer of the server.
pub(crate) fn refused(error: RedisError) -> ProviderError {
    provider_error(Failure::Redis { error, sent: true })
}

fn meaning(error: &RedisError, sent: bool) -> (ErrorKind, Cow<'static, str>) {
    use ErrorKind::{Fatal, NotApplied, Unknown};
    let (kind, message) = match error.kind() {
        _ if is_reply(error) && code(error) == "NOPERM" => return (Fatal, lacks_a_right(error)),
        _ if is_reply(error) => refusal(error),
        Redis::AuthenticationFailed => (
            Fatal,
            "the Redis server refuses these credentials: look at the user and the password",
        ),
        Redis::InvalidClientConfig | Redis::RESP3NotSupported | Redis::Client => (
            Fatal,
            "the Redis connection cannot be used as it was set up: look at its settings",
        ),
        Redis::MasterNameNotFoundBySentinel
        | Redis::NoValidReplicasFoundBySentinel
        | Redis::EmptySentinelList => (
            NotApplied,
            "the Sentinels know no primary of this name that is up: is the name right, or is a failover in progress?",
        ),
        // Each TLS library has its own errors; this word is common to those about certificates.
        _ if !sent && error.to_string().to_lowercase().contains("certificate") => (
            Fatal,
            "TLS does not accept the Redis server's certificate, or the server ours: look at the authority that \
             the client trusts, and at the host in the address",
        ),
        _ if error.is_connection_refusal() || !sent => {
            (NotApplied, "the Redis server cannot be reached")
        }
        _ => (Unknown, "the connection to the Redis server failed"),
    };
    (kind, message.into())
}

/// The right that the user lacks, as far as the server says: up to 7.0 it does not name a command inside a script.
fn lacks_a_right(error: &RedisError) -> Cow<'static, str> {
    let text = error.detail().unwrap_or_default();
    let command = text
        .split_once("to run the '")
        .and_then(|(_, rest)| rest.split_once('\''));
    let what = if let Some((command, _)) = command {
        format!("run {command}")
    } else if text.contains("channel") {
        "use this channel".to_owned()
    } else if text.contains("key") {
        "use this key".to_owned()
    } else {
        "run a command that is inside of a lock's script".to_owned()
    };
    format!(
        "this Redis user may not {what}; a lock takes the commands evalsha, eval, time, get and set on the keys of \
         the prefix, wait where replicas acknowledge, scan, del and cluster|slots to list and to purge, publish and \
         subscribe on its channels for wake-ups, and select for a database other than 0"
    )
    .into()
}

/// Classifies the server's own error. `Unknown` for a code that is not listed: a proxy may have made it after
/// forwarding the request.
fn refusal(error: &RedisError) -> (ErrorKind, &'static str) {
    use ErrorKind::{Fatal, NotApplied, Unknown};
    match code(error) {
        "READONLY" => (
            NotApplied,
            "this Redis server is a replica and refuses writes: the address must lead to the primary",
        ),
        "MASTERDOWN" => (
            NotApplied,
            "this Redis server is a replica without its primary: the address must lead to the primary",
        ),
        "LOADING" => (
            NotApplied,
            "the Redis server has just started and is still loading its data",
        ),
        "OOM" => (
            NotApplied,
            "the Redis server is out of memory: raise maxmemory, or make room",
        ),
        "BUSY" => (
            NotApplied,
            "the Redis server runs a script that does not end, and refuses everything else: SCRIPT KILL ends one that has written nothing",
        ),
        "CLUSTERDOWN" | "TRYAGAIN" => {
            (NotApplied, "the Redis cluster does not serve this lock now")
        }
        "MOVED" | "ASK" => (
            NotApplied,
            "this lock is on another node of the Redis cluster: use a cluster connection",
        ),
        "MISCONF" => (
            NotApplied,
            "the Redis server cannot save its data and refuses writes: look at its disk",
        ),
        "NOREPLICAS" => (
            NotApplied,
            "the Redis server refuses writes because it has too few replicas",
        ),
        "NOSCRIPT" => (
            NotApplied,
            "the Redis server forgot our script again and again",
        ),
        "MAXCLIENTS" => (
            NotApplied,
            "the Redis server has no room for another connection",
        ),
        "KILLED" => (NotApplied, "the lock's script was killed before it wrote"),
        "NOAUTH" | "WRONGPASS" => (
            Fatal,
            "the Redis server refuses these credentials: look at the user and the password",
        ),
        "SHARDLESS" => (
            Fatal,
            "this Redis server has no sharded channels, which take Redis 7 or later, or Valkey: use plain ones",
        ),
        "WRONGTYPE" => (
            Fatal,
            "the lock's Redis key holds something of another program: use another prefix or name",
        ),
        "NODB" => (
            Fatal,
            "the Redis server has no database of this number: choose one that is lower",
        ),
        "UNKNOWN" => (
            Fatal,
            "the Redis server does not know a command that a lock takes: it was renamed or disabled there, or it is no Redis 6 or later, nor Valkey",
        ),
        "ERR" => (
            Fatal,
            "the Redis server does not understand a lock's script: it takes Redis 6 or later, or Valkey, without a proxy that keeps scripts out",
        ),
        _ => (Unknown, "the Redis server answered with an error"),
    }
}

/// The code of a server's error. Older servers, and some paths of new ones, wrap it in a plain
/// `ERR` with a text.
pub(crate) fn code(error: &RedisError) -> &str {
    /// Codes that a command inside a script may meet.
    const INSIDE: [&str; 7] = [
        "WRONGTYPE",
        "READONLY",
        "OOM",
        "MISCONF",
        "NOREPLICAS",
        "NOPERM",
        "MASTERDOWN",
    ];
    let code = error.code().unwrap_or_default();
    let text = error.detail().unwrap_or_default();
    if code != "ERR" {
        code
    } else if let Some(command) = text.strip_prefix("unknown command ") {
        // Before all others: the text repeats the command, which contains the name of a lock.
        match command.get(1..) {
            Some(quoted) if quoted.starts_with("SSUBSCRIBE") => "SHARDLESS",
            _ => "UNKNOWN",
        }
    } else if text.contains("max number of clients") {
        "MAXCLIENTS"
    } else if text.contains("Script killed by user") {
        "KILLED"
    } else if text.contains("unauthenticated") {
        "NOAUTH" // The refusal of a long request without a password; the connection ends then.
    } else if text.contains("ACL failure in script")
        || text.contains("The user executing the script can't")
    {
        "NOPERM" // From Redis 7.2 on, and before.
    } else if text.contains("DB index is out of range") {
        "NODB"
    } else if text.contains("no permissions to run") {
        "NOPERM" // For a command that the driver sends before ours.
    } else {
        let words = |inside: &&str| text.split([' ', ':', '-']).any(|word| word == *inside);
        INSIDE.into_iter().find(words).unwrap_or(code)
    }
}

/// A text that this release cannot have written. It stays as it is, because what it protected is unknown.
pub(crate) fn spoilt(key: &str, flaw: &str) -> ProviderError {
    ProviderError::fatal(format!(
        "the Redis key {key:?} is no lock's record: {flaw}; use another prefix or name, or delete the key when the lock is free"
    ))
}

/// An answer that our scripts do not give.
pub(crate) fn nonsense(what: &str) -> ProviderError {
    ProviderError::fatal(format!(
        "the server answered a lock's script with {what}: is it Redis, and nothing in between that changes answers?"
    ))
}

/// The server lacks a feature that the release script needs.
pub(crate) fn too_old(version: &str) -> ProviderError {
    ProviderError::fatal(format!(
        "this server is Redis {version}: a lock takes Redis 6 or later, or Valkey"
    ))
}

/// The server drops records when its memory is full.
pub(crate) fn evicting(policy: &str) -> ProviderError {
    ProviderError::fatal(format!(
        "this Redis server may drop locks that are held when its memory is full (maxmemory-policy {policy}): set noeviction there, or take the risk with the setting allow_eviction"
    ))
}

/// The record was written, but too few replicas know of it.
pub(crate) fn unacknowledged(reached: usize, wanted: usize) -> ProviderError {
    ProviderError::unknown("too few Redis replicas have acknowledged the write")
        .with_source(Unacknowledged { reached, wanted })
}
