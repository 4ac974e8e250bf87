//! The provider: its clones, and the script for each request. The rules themselves are in `lua/`.

use std::{fmt, slice, sync::Arc};

use async_trait::async_trait;
use dlock_core::{
    Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Closing, Discipline, Durability, Release,
        ReleaseOutcome, Renew, RenewOutcome, Sharing, Wakeups,
    },
};
use redis::Value;
use tokio::time::Instant;

use crate::{
    error::{self, BuildError},
    invoke::{Invoker, Run},
    key::Prefix,
    replicas::Replicas,
    requests::{self, answers},
    slots,
    wakeups::{Hearing, waited::Waited},
};

/// Locks in Redis or Valkey: one server, a primary with replicas, or a cluster.
///
/// Cheap to clone; clones use one connection and one [`Client`](dlock_core::Client). The [documentation of the
/// crate](crate) says what Redis guarantees, and how it can lose a lock.
///
/// # Panics
/// The methods of [`Provider`] and [`Admin`](dlock_core::provider::Admin) take their time limits from tokio, and panic
/// outside a runtime with its time driver.
///
/// # Cancel safety
/// A request that was sent before its future was dropped still runs on the server; repeating it is harmless. A
/// connection of our own that has answered nothing since is closed, and the next call opens a new one; a connection of
/// the user's is left alone.
#[derive(Clone)]
pub struct RedisProvider {
    pub(crate) link: Invoker,
    /// Requests may go to the nodes of a cluster.
    pub(crate) spread: bool,
    pub(crate) replicas: Option<Arc<Replicas>>,
    /// Wake-ups, if they are configured.
    pub(crate) hearing: Option<Arc<Hearing>>,
    pub(crate) waited: Arc<Waited>,
    pub(crate) prefix: Prefix,
    pub(crate) allow_eviction: bool,
    pub(crate) sharing: Sharing,
}

impl RedisProvider {
    /// The same server over the same connections with another prefix: other locks, so another
    /// [`Client`](dlock_core::Client).
    ///
    /// # Errors
    /// [`BuildError::Prefix`] if the text cannot be one.
    pub fn with_prefix(&self, prefix: &str) -> Result<Self, BuildError> {
        Ok(Self {
            prefix: Prefix::new(prefix)?,
            waited: Arc::default(),
            sharing: Sharing::default(),
            ..self.clone()
        })
    }

    /// A caller that was shown this record of a holder may wait for the hint that its mark promises (N3).
    fn waits(&self, name: &Name, record: &Record, asked: Instant) {
        if record.wanted != 0 {
            self.waited.refused(name, record, asked);
        }
    }

    /// With 0 tokens it takes nothing, and only marks.
    fn acquisition(&self, request: &Acquire, tokens: u8, marks: u32) -> Result<Run, ProviderError> {
        requests::acquire(&self.prefix, request, tokens, marks, self.allow_eviction)
    }

    /// A grant is valid only once replicas have it. No mark waits for them (N1), as it would over the connections that
    /// do.
    async fn acquire_acknowledged(
        &self,
        replicas: &Replicas,
        request: &Acquire,
    ) -> Result<AcquireOutcome, ProviderError> {
        let run = self.acquisition(request, request.tokens.get(), 0)?;
        let granted = |outcome: &AcquireOutcome| matches!(outcome, AcquireOutcome::Acquired(_));
        let (by, decode) = (replicas.acquires(), answers::acquire);
        let outcome = only(replicas.run(by, &[run], decode, granted).await)?;
        match outcome {
            AcquireOutcome::Held(record) if request.marks != 0 && record.wanted == 0 => {
                let mark = self.acquisition(request, 0, request.marks)?;
                match self.link.run(&mark, decode).await {
                    Ok(AcquireOutcome::Held(marked)) => Ok(AcquireOutcome::Held(marked)),
                    // There is no mark, or the term has ended meanwhile: the waiter polls.
                    _ => Ok(AcquireOutcome::Held(record)),
                }
            }
            outcome => Ok(outcome),
        }
    }

    /// If a failover undid a closing, a client would get in too early: replicas acknowledge it like a grant.
    async fn close(
        &self,
        request: &Release,
        closing: &Closing,
    ) -> Result<ReleaseOutcome, ProviderError> {
        let run = requests::close(&self.prefix, request, closing)?;
        only(
            self.hold(&[run], answers::release, ReleaseOutcome::is_released)
                .await,
        )
    }

    /// Runs a script on each of these locks for their holders. An outcome for which `counts` is true is valid only once
    /// replicas have it, if acknowledgements are required.
    async fn hold<T>(
        &self,
        runs: &[Run],
        decode: fn(&str, Value) -> Result<T, ProviderError>,
        counts: fn(&T) -> bool,
    ) -> Vec<Result<T, ProviderError>> {
        match &self.replicas {
            None => self.link.run_many(runs, decode).await,
            Some(replicas) => {
                replicas
                    .run(replicas.renewals(), runs, decode, counts)
                    .await
            }
        }
    }
}

/// The answer to a request that was sent alone.
fn only<T>(mut answers: Vec<Result<T, ProviderError>>) -> Result<T, ProviderError> {
    answers
        .pop()
        .unwrap_or_else(|| Err(error::nonsense("nothing")))
}

impl fmt::Debug for RedisProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisProvider")
            .field("prefix", &self.prefix.as_str())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Provider for RedisProvider {
    fn capabilities(&self) -> Capabilities {
        Capabilities::new("redis", Discipline::StoreClock)
            .closing(true)
            .marks(true)
            .watch(self.hearing.is_some())
            .batch(true)
            .durability(Durability::Volatile)
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        let asked = Instant::now();
        let outcome = match &self.replicas {
            None => {
                let run = self.acquisition(request, request.tokens.get(), request.marks)?;
                self.link.run(&run, answers::acquire).await
            }
            Some(replicas) => Box::pin(self.acquire_acknowledged(replicas, request)).await,
        }?;
        if let AcquireOutcome::Held(record) = &outcome {
            self.waits(&request.name, record, asked);
        }
        Ok(outcome)
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        only(self.renew_many(slice::from_ref(request)).await)
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        if let Some(closing) = &request.closing {
            return Box::pin(self.close(request, closing)).await;
        }
        let channels = self.hearing.as_ref().map(|hearing| hearing.channels);
        let run = requests::release(&self.prefix, request, channels)?;
        self.link.run(&run, answers::release).await
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        let run = requests::read(&self.prefix, name)?;
        let asked = Instant::now();
        let record = self.link.run(&run, answers::read).await?;
        if let Some(record) = record.as_ref().filter(|record| !record.released) {
            self.waits(name, record, asked);
        }
        Ok(record)
    }

    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        let checked: Vec<Result<Run, ProviderError>> = requests
            .iter()
            .map(|request| requests::renew(&self.prefix, request))
            .collect();
        let runs: Vec<Run> = checked.iter().flatten().cloned().collect();
        let renewed = |outcome: &RenewOutcome| matches!(outcome, RenewOutcome::Renewed { .. });
        let answers = self.hold(&runs, answers::renew, renewed).await;
        let mut answers = answers.into_iter();
        let mut answer = || {
            answers
                .next()
                .unwrap_or_else(|| Err(error::nonsense("nothing")))
        };
        checked
            .into_iter()
            .map(|run| run.and_then(|_| answer()))
            .collect()
    }

    /// For a connection of the user's, which may be a cluster's: one of 16 ranges of slots. A connection of our own
    /// leads to one server.
    fn shard(&self, name: &Name) -> u64 {
        match self.prefix.key(name) {
            Ok(key) if self.spread => slots::part(key.as_bytes()),
            _ => 0,
        }
    }

    async fn watch(&self) -> Result<Option<Wakeups>, ProviderError> {
        match &self.hearing {
            Some(hearing) => {
                let begun = hearing.begin(&self.link, &self.prefix, &self.waited);
                begun.await.map(Some)
            }
            None => Ok(None),
        }
    }

    fn sharing(&self) -> Option<&Sharing> {
        Some(&self.sharing)
    }
}
