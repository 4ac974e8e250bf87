//! The way of a call to the server: over the user's connection, or over one of our own that is
//! replaced when it falls silent. `link.rs` handles scripts and time limits.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use futures_util::future::{BoxFuture, FutureExt};
use redis::{
    AsyncConnectionConfig, Client, Cmd, Pipeline, RedisError, RedisResult, Value,
    aio::{ConnectionLike, MultiplexedConnection},
};

use crate::{error, servers::Servers};

/// Any connection, without its type. Public because the builder's type contains it.
pub trait Connection: Send + Sync {
    /// Sends one command. `sent` becomes true before the first byte may have left.
    fn one<'a>(&'a self, command: &'a Cmd, sent: &'a AtomicBool) -> Answer<'a, Value>;

    /// Sends several commands in one flight; each has a separate answer.
    fn many<'a>(
        &'a self,
        commands: &'a Pipeline,
        sent: &'a AtomicBool,
    ) -> Answer<'a, Vec<RedisResult<Value>>>;
}

/// The future outcome of a call.
#[expect(unreachable_pub, reason = "the trait's")]
pub type Answer<'a, T> = BoxFuture<'a, RedisResult<T>>;

impl<C: ConnectionLike + Clone + Send + Sync> Connection for C {
    fn one<'a>(&'a self, command: &'a Cmd, sent: &'a AtomicBool) -> Answer<'a, Value> {
        query(self.clone(), command, sent).boxed()
    }

    fn many<'a>(
        &'a self,
        commands: &'a Pipeline,
        sent: &'a AtomicBool,
    ) -> Answer<'a, Vec<RedisResult<Value>>> {
        sent.store(true, Ordering::Relaxed);
        let mut connection = self.clone();
        async move { commands.query_async(&mut connection).await }.boxed()
    }
}

async fn query(
    mut connection: impl ConnectionLike,
    command: &Cmd,
    sent: &AtomicBool,
) -> RedisResult<Value> {
    sent.store(true, Ordering::Relaxed);
    command.query_async(&mut connection).await
}

/// A connection that is opened when it is needed and replaced when it is broken or silent.
///
/// Requests share it and are answered in their order. A request without an answer, while no other was answered either,
/// is the sign of a silent partition: the next request gets a new connection, because the old one may hang for as long
/// as the system repeats its packets, long after the partition has ended. The same happens after the server reported
/// that it is a replica.
pub(crate) struct OwnConnection {
    servers: Servers,
    current: Mutex<Option<Current>>,
    /// Held while connecting, so that many callers open one connection.
    connecting: tokio::sync::Mutex<()>,
}

#[derive(Clone)]
struct Current {
    connection: MultiplexedConnection,
    /// How many answers have arrived; also the connection's identity.
    answers: Arc<AtomicU64>,
}

impl OwnConnection {
    pub(crate) fn new(servers: Servers) -> Self {
        Self {
            servers,
            current: Mutex::default(),
            connecting: tokio::sync::Mutex::default(),
        }
    }

    async fn connected(&self) -> RedisResult<Current> {
        match self.current() {
            Some(current) => Ok(current),
            // Rare: in a box, so that the futures of all other calls are smaller.
            None => Box::pin(self.connect()).await,
        }
    }

    async fn connect(&self) -> RedisResult<Current> {
        let _turn = self.connecting.lock().await;
        if let Some(current) = self.current() {
            return Ok(current);
        }
        let current = Current {
            connection: open(&self.servers.client().await?).await?,
            answers: Arc::default(),
        };
        *self.slot() = Some(current.clone());
        Ok(current)
    }

    fn current(&self) -> Option<Current> {
        self.slot().clone()
    }

    fn slot(&self) -> std::sync::MutexGuard<'_, Option<Current>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection for OwnConnection {
    fn one<'a>(&'a self, command: &'a Cmd, sent: &'a AtomicBool) -> Answer<'a, Value> {
        async move {
            let current = self.connected().await?;
            let call = Call::begin(self, &current);
            let answer = query(current.connection, command, sent).await;
            call.end(&answer, answer.as_ref().err().is_some_and(is_demoted));
            answer
        }
        .boxed()
    }

    fn many<'a>(
        &'a self,
        commands: &'a Pipeline,
        sent: &'a AtomicBool,
    ) -> Answer<'a, Vec<RedisResult<Value>>> {
        async move {
            let current = self.connected().await?;
            let call = Call::begin(self, &current);
            let answers = current.connection.many(commands, sent).await;
            let demoted = answers
                .as_ref()
                .is_ok_and(|answers| errors(answers).any(is_demoted));
            call.end(&answers, demoted);
            answers
        }
        .boxed()
    }
}

/// One call on the connection; if this is dropped before its end, no answer arrived in time.
struct Call<'c> {
    own: &'c OwnConnection,
    answers: Arc<AtomicU64>,
    /// How many answers had arrived when the call began.
    before: u64,
}

impl<'c> Call<'c> {
    fn begin(own: &'c OwnConnection, current: &Current) -> Self {
        Self {
            own,
            answers: Arc::clone(&current.answers),
            before: current.answers.load(Ordering::Relaxed),
        }
    }

    fn end<T>(self, answer: &RedisResult<T>, demoted: bool) {
        if !answer.as_ref().err().is_none_or(error::is_reply) {
            self.replace();
            return;
        }
        self.answers.fetch_add(1, Ordering::Relaxed);
        if demoted {
            // The address may lead to the new primary by now.
            self.replace();
        }
    }

    /// Makes the next request open another connection.
    fn replace(&self) {
        let mut slot = self.own.slot();
        if slot
            .as_ref()
            .is_some_and(|current| Arc::ptr_eq(&current.answers, &self.answers))
        {
            *slot = None;
        }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if self.answers.load(Ordering::Relaxed) == self.before {
            self.replace();
        }
    }
}

/// A new connection. The caller limits its time.
pub(crate) async fn open(client: &Client) -> RedisResult<MultiplexedConnection> {
    let unlimited = AsyncConnectionConfig::new()
        .set_connection_timeout(None)
        .set_response_timeout(None);
    client
        .get_multiplexed_async_connection_with_config(&unlimited)
        .await
}

/// This server was a primary when we connected, or never was one.
pub(crate) fn is_demoted(error: &RedisError) -> bool {
    matches!(error::code(error), "READONLY" | "MASTERDOWN")
}

/// The errors among these answers.
pub(crate) fn errors(answers: &[RedisResult<Value>]) -> impl Iterator<Item = &RedisError> {
    answers.iter().filter_map(|answer| answer.as_ref().err())
}

impl fmt::Debug for OwnConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnConnection") // The client knows the password.
    }
}
