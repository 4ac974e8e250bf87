//! How a script is run: within its time, by its digest, once more by its text if the server has forgotten it; many of
//! them in one flight if the connection supports that.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use dlock_core::ProviderError;
use futures_util::future::join_all;
use redis::{Cmd, ErrorKind, Pipeline, RedisError, RedisResult, ServerErrorKind, Value};
use tokio::time;

use crate::{
    connection::Connection,
    error::{self, Failure},
    scripts::{self, Lua},
    slots,
};

/// The greatest number of scripts in flight at once, so that other requests on the connection wait only a few
/// milliseconds.
pub(crate) const FLIGHT: usize = 500;

/// In a cluster, the greatest number for each shard, which amounts to about as many.
const ABREAST: usize = 2;

/// A connection and how long a call on it may take. Clones share the connection.
#[derive(Clone)]
pub(crate) struct Invoker {
    connection: Arc<dyn Connection>,
    timeout: Duration,
    /// The connection takes only one slot in a flight: it belongs to a cluster.
    by_slot: Arc<AtomicBool>,
}

/// One run of a script on one lock.
#[derive(Clone)]
pub(crate) struct Run {
    lua: &'static Lua,
    key: String,
    arguments: Vec<Vec<u8>>,
}

impl Invoker {
    pub(crate) fn new(connection: Arc<dyn Connection>, timeout: Duration) -> Self {
        Self {
            connection,
            timeout,
            by_slot: Arc::default(),
        }
    }

    /// Sends one command.
    pub(crate) async fn command(&self, command: &Cmd) -> Result<Value, Failure> {
        let sent = AtomicBool::new(false);
        within(self.timeout, &sent, self.connection.one(command, &sent)).await
    }

    /// Runs a script on one lock.
    pub(crate) async fn run<T>(
        &self,
        run: &Run,
        decode: fn(&str, Value) -> Result<T, ProviderError>,
    ) -> Result<T, ProviderError> {
        decode(run.key(), self.answer(run).await?)
    }

    /// Runs a script on many locks: as many answers, in order.
    pub(crate) async fn run_many<T>(
        &self,
        runs: &[Run],
        decode: fn(&str, Value) -> Result<T, ProviderError>,
    ) -> Vec<Result<T, ProviderError>> {
        let mut landed = Vec::with_capacity(runs.len());
        for flight in runs.chunks(FLIGHT) {
            match self.flight(flight).await {
                Some(answers) => landed.extend(answers),
                None => break,
            }
        }
        if let Some(rest) = runs.get(landed.len()..).filter(|rest| !rest.is_empty()) {
            landed.extend(self.spread(rest).await);
        }
        let decoded = runs.iter().zip(landed);
        decoded
            .map(|(run, answer)| decode(run.key(), answer?))
            .collect()
    }

    /// Runs a script on many locks of a cluster, whose connection takes them one by one and routes each to its node.
    /// Each shard has a separate lane, so that a node that hangs holds up only its own locks.
    async fn spread(&self, runs: &[Run]) -> Vec<Result<Value, ProviderError>> {
        let mut lanes: BTreeMap<u16, Vec<(usize, &Run)>> = BTreeMap::new();
        for (index, run) in runs.iter().enumerate() {
            let shard = slots::shard(run.key().as_bytes());
            lanes.entry(shard).or_default().push((index, run));
        }
        let lanes = lanes.values().map(|lane| self.follow(lane));
        let mut answers: Vec<_> = join_all(lanes).await.into_iter().flatten().collect();
        answers.sort_unstable_by_key(|(index, _)| *index);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }

    /// Some locks of one shard, a few at a time. After one that got no answer the others are not sent: a long lane
    /// would take many times the limit of a call.
    async fn follow<'r>(
        &self,
        lane: &'r [(usize, &'r Run)],
    ) -> Vec<(usize, Result<Value, ProviderError>)> {
        let mut answers = Vec::with_capacity(lane.len());
        let mut silent = false;
        for some in lane.chunks(ABREAST) {
            if silent {
                let unsent = || ProviderError::not_applied("others of this batch got no answer");
                answers.extend(some.iter().map(|(index, _)| (*index, Err(unsent()))));
                continue;
            }
            let mut asked = Vec::with_capacity(some.len());
            for (index, run) in some {
                asked.push(async { (*index, self.answer(run).await) });
            }
            let answered = join_all(asked).await;
            silent = answered.iter().any(|(_, answer)| {
                matches!(answer, Err(error) if error.kind() == dlock_core::ErrorKind::Unknown)
            });
            answers.extend(answered);
        }
        answers
    }

    async fn answer(&self, run: &Run) -> Result<Value, ProviderError> {
        match self.command(&run.by_digest()).await {
            // Rare: in a box, so that the futures of all other calls are smaller.
            Err(failure) if failure.is(scripts::is_unknown) => {
                Box::pin(async { self.command(&run.by_text()).await }).await
            }
            answer => answer,
        }
        .map_err(error::provider_error)
    }

    /// Runs a script on many locks in one flight; `None` if this connection does not support that.
    async fn flight(&self, runs: &[Run]) -> Option<Vec<Result<Value, ProviderError>>> {
        if runs.len() < 2 || self.by_slot.load(Ordering::Relaxed) {
            return None;
        }
        let mut answers = match self.fly(runs.iter()).await {
            Err(failure) if failure.is(is_cross_slot) => {
                // The connection reported this before anything was sent.
                self.by_slot.store(true, Ordering::Relaxed);
                return None;
            }
            Err(failure) => {
                let error = error::provider_error(failure);
                return Some(runs.iter().map(|_| Err(error.clone())).collect());
            }
            Ok(answers) => answers.into_iter(),
        };
        let (mut landed, mut forgotten) = (Vec::with_capacity(runs.len()), Vec::new());
        for (index, run) in runs.iter().enumerate() {
            landed.push(match answers.next() {
                Some(Err(error)) if scripts::is_unknown(&error) => {
                    forgotten.push((index, run));
                    Err(error::refused(error))
                }
                Some(answer) => answer.map_err(error::refused),
                None => Err(error::nonsense("fewer answers than questions")),
            });
        }
        // The first one carries the text, so that the others can be sent in one flight again.
        if let Some(((first, run), others)) = forgotten.split_first() {
            landed[*first] = self.answer(run).await;
            let again = self.fly(others.iter().map(|(_, run)| *run)).await;
            for ((index, _), answer) in others.iter().zip(again.into_iter().flatten()) {
                landed[*index] = answer.map_err(error::refused);
            }
        }
        Some(landed)
    }

    async fn fly(
        &self,
        runs: impl Iterator<Item = &Run>,
    ) -> Result<Vec<RedisResult<Value>>, Failure> {
        let mut commands = Pipeline::new();
        for run in runs {
            commands.add_command(run.by_digest());
        }
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        commands.ignore_errors();
        let sent = AtomicBool::new(false);
        within(self.timeout, &sent, self.connection.many(&commands, &sent)).await
    }
}

impl Run {
    pub(crate) const fn new(lua: &'static Lua, key: String, arguments: Vec<Vec<u8>>) -> Self {
        Self {
            lua,
            key,
            arguments,
        }
    }

    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    pub(crate) fn by_digest(&self) -> Cmd {
        self.lua.by_digest(&[&self.key], &self.arguments)
    }

    pub(crate) fn by_text(&self) -> Cmd {
        self.lua.by_text(&[&self.key], &self.arguments)
    }
}

/// Waits for a call, at most `limit`; `sent` then says whether it may have reached the server.
pub(crate) async fn within<T>(
    limit: Duration,
    sent: &AtomicBool,
    call: impl Future<Output = RedisResult<T>>,
) -> Result<T, Failure> {
    let answer = time::timeout(limit, call).await;
    let sent = sent.load(Ordering::Relaxed);
    match answer {
        Ok(answer) => answer.map_err(|error| Failure::Redis { error, sent }),
        Err(_) => Err(Failure::Silent { limit, sent }),
    }
}

fn is_cross_slot(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::CrossSlot)
}
