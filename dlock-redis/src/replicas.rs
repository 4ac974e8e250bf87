//! Writes that count only once replicas have them. `WAIT` holds up everything on its connection and
//! covers only the writes of that connection, so script and `WAIT` are sent together, over a
//! connection that no other request uses meanwhile.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use dlock_core::ProviderError;
use redis::{Cmd, Pipeline, RedisResult, Value, aio::MultiplexedConnection};
use tokio::sync::Semaphore;

use crate::{
    connection::{self, errors},
    error,
    invoke::{self, Run},
    scripts,
    servers::Servers,
};

/// The greatest number of connections for acquires, and also for renewals: a crowd of contenders
/// cannot keep a holder waiting.
const CONNECTIONS: usize = 8;

/// How many replicas must have a write, and the connections that wait for them.
pub(crate) struct Replicas {
    wanted: usize,
    within: Duration,
    timeout: Duration,
    acquires: Connections,
    renewals: Connections,
}

/// Connections that serve one request at a time.
pub(crate) struct Connections {
    servers: Servers,
    idle: Mutex<Vec<MultiplexedConnection>>,
    permits: Semaphore,
}

impl Replicas {
    pub(crate) fn new(
        servers: &Servers,
        wanted: usize,
        within: Duration,
        timeout: Duration,
    ) -> Self {
        Self {
            wanted,
            within,
            timeout,
            acquires: Connections::new(servers.clone()),
            renewals: Connections::new(servers.clone()),
        }
    }

    /// The connections of contenders.
    pub(crate) const fn acquires(&self) -> &Connections {
        &self.acquires
    }

    /// The connections of holders.
    pub(crate) const fn renewals(&self) -> &Connections {
        &self.renewals
    }

    /// Runs a script on each of these locks: as many answers, in order. One that `counts` is an
    /// error, `Unknown`, unless enough replicas have it: it may be repeated.
    pub(crate) async fn run<T>(
        &self,
        connections: &Connections,
        runs: &[Run],
        decode: fn(&str, Value) -> Result<T, ProviderError>,
        counts: fn(&T) -> bool,
    ) -> Vec<Result<T, ProviderError>> {
        let mut answers = Vec::with_capacity(runs.len());
        for runs in runs.chunks(invoke::FLIGHT) {
            match self.flight(connections, runs).await {
                Err(error) => answers.extend(runs.iter().map(|_| Err(error.clone()))),
                Ok((flight, waited)) => {
                    answers.extend(runs.iter().zip(flight).map(|(run, answer)| {
                        let outcome = decode(run.key(), answer.map_err(error::refused)?)?;
                        if counts(&outcome) {
                            let reached = waited.clone().map_err(error::refused)?;
                            if reached < self.wanted {
                                return Err(error::unacknowledged(reached, self.wanted));
                            }
                        }
                        Ok(outcome)
                    }));
                }
            }
        }
        answers
    }

    /// The answers of one flight, and how many replicas had everything up to then.
    async fn flight(
        &self,
        connections: &Connections,
        runs: &[Run],
    ) -> Result<(Vec<RedisResult<Value>>, RedisResult<usize>), ProviderError> {
        let sent = AtomicBool::new(false);
        let call = async {
            let _permit = connections.permits.acquire().await;
            // Unless it is given back, the connection is closed, even if this is dropped: answers may still be on their
            // way.
            let mut connection = connections.take().await?;
            sent.store(true, Ordering::Relaxed);
            let by_digest = runs.iter().map(Run::by_digest);
            let mut answers = self.fly(&mut connection, by_digest).await?;
            if errors(&answers).any(scripts::is_unknown) {
                // All of it again: every request may be repeated (A2, R2), and `WAIT` must come
                // last. The first one carries the text.
                let texts = runs.iter().enumerate().map(|(index, run)| match index {
                    0 => run.by_text(),
                    _ => run.by_digest(),
                });
                answers = self.fly(&mut connection, texts).await?;
            }
            connections.give_back(connection);
            Ok(answers)
        };
        let mut answers = invoke::within(self.timeout, &sent, call)
            .await
            .map_err(|failure| {
                // The others may be as old as this one.
                connections.idle().clear();
                error::provider_error(failure)
            })?;
        let waited = match answers.pop() {
            Some(Ok(Value::Int(reached))) if answers.len() == runs.len() => {
                let (reached, wanted) = (usize::try_from(reached).unwrap_or(0), self.wanted);
                tracing::debug!(backend = "redis", reached, wanted, "replicas acknowledged");
                Ok(reached)
            }
            Some(Err(error)) => Err(error),
            _ => return Err(error::nonsense("no number of replicas")),
        };
        if errors(&answers).any(connection::is_demoted) {
            connections.idle().clear();
        }
        Ok((answers, waited))
    }

    async fn fly(
        &self,
        connection: &mut MultiplexedConnection,
        commands: impl Iterator<Item = Cmd>,
    ) -> RedisResult<Vec<RedisResult<Value>>> {
        let mut flight = Pipeline::new();
        for command in commands {
            flight.add_command(command);
        }
        // Whole milliseconds, at least one: 0 would wait for ever.
        let limit = u64::try_from(self.within.as_millis()).unwrap_or(u64::MAX);
        flight.cmd("WAIT").arg(self.wanted).arg(limit);
        flight.ignore_errors().query_async(connection).await
    }
}

impl Connections {
    fn new(servers: Servers) -> Self {
        Self {
            servers,
            idle: Mutex::default(),
            permits: Semaphore::new(CONNECTIONS),
        }
    }

    async fn take(&self) -> RedisResult<MultiplexedConnection> {
        let idle = self.idle().pop();
        match idle {
            Some(connection) => Ok(connection),
            None => connection::open(&self.servers.client().await?).await,
        }
    }

    fn give_back(&self, connection: MultiplexedConnection) {
        self.idle().push(connection);
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<MultiplexedConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
