//! The provider: clones, and which script answers which request. The rules themselves
//! are in `lua/`.

use std::{fmt, slice, sync::Arc};

use async_trait::async_trait;
use dlock_core::{
    Acquire, AcquireOutcome, Admin, Ask, AskOutcome, Capabilities, Closing, Discipline, Durability,
    List, Name, Page, Provider, ProviderError, Record, Release, ReleaseOutcome, Renew,
    RenewOutcome, Revoke, RevokeOutcome, Sharing, Wakeups,
};

use crate::{
    admin, answers,
    error::{self, BuildError},
    key::Prefix,
    link::{Link, Run},
    replicas::Replicas,
    requests,
    scripts::{ACQUIRE, ASK, CLOSE, READ, RELEASE, RENEW, REVOKE},
    slots,
    wakeups::Hearing,
};

/// Locks in Redis or Valkey: one server, a primary with replicas, or a cluster.
///
/// Cheap to clone; clones use one connection and one [`Client`](dlock_core::Client). What Redis
/// guarantees, and how it can lose a lock, is said in the [documentation of the crate](crate).
///
/// # Panics
/// The methods of [`Provider`] and [`Admin`] take their time limits from tokio, and panic outside a
/// runtime with its time driver.
///
/// # Cancel safety
/// What was sent before a future was dropped runs on the server; repeating it is harmless. A
/// connection of our own that has answered nothing since is closed, and the next call opens a new
/// one; a connection of the user's is left alone.
#[derive(Clone)]
pub struct RedisProvider {
    pub(crate) link: Link,
    /// Requests may go to the nodes of a cluster.
    pub(crate) spread: bool,
    pub(crate) replicas: Option<Arc<Replicas>>,
    /// Wake-ups, where they are configured.
    pub(crate) hearing: Option<Arc<Hearing>>,
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
            sharing: Sharing::default(),
            ..self.clone()
        })
    }
}

impl RedisProvider {
    /// A closing that a failover undoes lets somebody in too early: replicas have it like a grant.
    async fn close(
        &self,
        request: &Release,
        closing: &Closing,
    ) -> Result<ReleaseOutcome, ProviderError> {
        let run = requests::close(&self.prefix, request, closing)?;
        let Some(replicas) = &self.replicas else {
            return self.link.run(&CLOSE, &run, answers::release).await;
        };
        let closed = |outcome: &ReleaseOutcome| *outcome == ReleaseOutcome::Released;
        let runs = slice::from_ref(&run);
        replicas
            .run(&replicas.renewals, &CLOSE, runs, answers::release, closed)
            .await
            .pop()
            .unwrap_or_else(|| Err(error::nonsense("nothing")))
    }
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
            .watch(self.hearing.is_some())
            .batch(true)
            .durability(Durability::Volatile)
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        let run = requests::acquire(&self.prefix, request, self.allow_eviction)?;
        let Some(replicas) = &self.replicas else {
            return self.link.run(&ACQUIRE, &run, answers::acquire).await;
        };
        let granted = |outcome: &AcquireOutcome| matches!(outcome, AcquireOutcome::Acquired(_));
        let runs = slice::from_ref(&run);
        replicas
            .run(
                &replicas.acquires,
                &ACQUIRE,
                runs,
                answers::acquire,
                granted,
            )
            .await
            .pop()
            .unwrap_or_else(|| Err(error::nonsense("nothing")))
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        self.renew_many(slice::from_ref(request))
            .await
            .pop()
            .unwrap_or_else(|| Err(error::nonsense("nothing")))
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        if let Some(closing) = &request.closing {
            return self.close(request, closing).await;
        }
        let channels = self.hearing.as_ref().map(|hearing| hearing.channels);
        let run = requests::release(&self.prefix, request, channels)?;
        self.link.run(&RELEASE, &run, answers::release).await
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        let run = requests::read(&self.prefix, name)?;
        self.link.run(&READ, &run, answers::read).await
    }

    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        let checked: Vec<Result<Run, ProviderError>> = requests
            .iter()
            .map(|request| requests::renew(&self.prefix, request))
            .collect();
        let runs: Vec<Run> = checked.iter().flatten().cloned().collect();
        let answers = match &self.replicas {
            None => self.link.run_many(&RENEW, &runs, answers::renew).await,
            Some(replicas) => {
                let renewed =
                    |outcome: &RenewOutcome| matches!(outcome, RenewOutcome::Renewed { .. });
                replicas
                    .run(&replicas.renewals, &RENEW, &runs, answers::renew, renewed)
                    .await
            }
        };
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

    /// Over a connection of the user's, which may be a cluster's: one of 16 ranges of slots. What a
    /// connection of our own leads to is one server.
    fn shard(&self, name: &Name) -> u64 {
        match self.prefix.key(name) {
            Ok(key) if self.spread => slots::part(key.as_bytes()),
            _ => 0,
        }
    }

    async fn watch(&self) -> Result<Option<Wakeups>, ProviderError> {
        match &self.hearing {
            Some(hearing) => hearing.begin(&self.link, &self.prefix).await.map(Some),
            None => Ok(None),
        }
    }

    fn sharing(&self) -> Option<&Sharing> {
        Some(&self.sharing)
    }
}

#[async_trait]
impl Admin for RedisProvider {
    /// Walks over **all keys** of every node to find the names, then reads the page's records: for
    /// people, not for loops. A record that comes or goes meanwhile may or may not be there.
    async fn list(&self, request: &List) -> Result<Page, ProviderError> {
        admin::list(&self.link, &self.prefix, request).await
    }

    async fn revoke(&self, request: &Revoke) -> Result<RevokeOutcome, ProviderError> {
        let run = requests::revoke(&self.prefix, request)?;
        self.link.run(&REVOKE, &run, answers::revoke).await
    }

    async fn ask(&self, request: &Ask) -> Result<AskOutcome, ProviderError> {
        let run = requests::ask(&self.prefix, request)?;
        self.link.run(&ASK, &run, answers::ask).await
    }

    /// Walks over **all keys** of every node. Redis deletes old records by itself; this is for
    /// those that lost their end (`PERSIST`, a restored dump).
    async fn purge(&self, limit: usize) -> Result<u64, ProviderError> {
        admin::purge(&self.link, &self.prefix, limit).await
    }
}
