//! What the stores were asked: counted by the servers that can, and otherwise in each process.

use std::{
    future::Future,
    sync::atomic::{AtomicU64, Ordering},
};

use anyhow::Result;
use async_trait::async_trait;
use aws_sdk_dynamodb::{
    config::interceptors::BeforeTransmitInterceptorContextRef,
    config::{ConfigBag, Intercept, RuntimeComponents},
    error::BoxError,
};
use dlock_core::{
    Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Release, ReleaseOutcome, Renew, RenewOutcome,
        Sharing, Wakeups,
    },
};

use crate::systems::{Entry, Kind, Places, Store, postgres_pool};

/// Requests that this process made to stores that do not count: SQLite, and the one compatible with
/// DynamoDB.
static REQUESTS: AtomicU64 = AtomicU64::new(0);

pub(crate) fn count() {
    REQUESTS.fetch_add(1, Ordering::Relaxed);
}

/// What this process has asked of them so far.
pub(crate) fn requests() -> u64 {
    REQUESTS.load(Ordering::Relaxed)
}

/// Counts what goes out to the DynamoDB-compatible store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meter;

impl Intercept for Meter {
    fn name(&self) -> &'static str {
        "Meter"
    }

    fn read_before_transmit(
        &self,
        _: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        count();
        Ok(())
    }
}

/// Counts the calls of a provider.
pub(crate) struct Counted<P>(pub(crate) P);

#[async_trait]
impl<P: Provider> Provider for Counted<P> {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        count();
        self.0.acquire(request).await
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        count();
        self.0.renew(request).await
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        count();
        self.0.release(request).await
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        count();
        self.0.read(name).await
    }

    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        count();
        self.0.renew_many(requests).await
    }

    async fn watch(&self) -> Result<Option<Wakeups>, ProviderError> {
        self.0.watch().await
    }

    // None of the provider inside: its clones would meet a client that is not counted.
    fn sharing(&self) -> Option<&Sharing> {
        None
    }
}

/// What a server has been asked so far, by whomever; `None` where only the askers count.
pub(crate) struct Server {
    redis: Option<redis::aio::MultiplexedConnection>,
    /// The commands that the clients of this system send to Redis.
    commands: &'static [&'static str],
    postgres: Option<deadpool_postgres::Object>,
}

impl Server {
    pub(crate) async fn of(entry: &Entry, places: &Places) -> Result<Self> {
        let mut server = Self {
            redis: None,
            // Our scripts call SET, and we never send it; with all others it is the other way round.
            commands: match entry.kind {
                Kind::Ours => &["evalsha", "eval", "fcall"],
                _ => &["evalsha", "eval", "fcall", "set"],
            },
            postgres: None,
        };
        match entry.store {
            Store::Redis => {
                let port = places.redis.unwrap_or_default();
                let client = redis::Client::open(("127.0.0.1", port))?;
                server.redis = Some(client.get_multiplexed_async_connection().await?);
            }
            Store::Postgres => server.postgres = Some(postgres_pool(places)?.get().await?),
            Store::SQLite | Store::DynamoDb | Store::Etcd => {}
        }
        Ok(server)
    }

    /// Commands that clients sent. Those that scripts call are not among them.
    pub(crate) async fn commands(&mut self) -> Result<Option<u64>> {
        if let Some(redis) = &mut self.redis {
            let info: String = redis::cmd("INFO")
                .arg("commandstats")
                .query_async(redis)
                .await?;
            let calls = |command: &str| -> u64 {
                let line = format!("cmdstat_{command}:calls=");
                info.lines()
                    .find_map(|text| text.strip_prefix(&line)?.split(',').next()?.parse().ok())
                    .unwrap_or_default()
            };
            return Ok(Some(self.commands.iter().copied().map(calls).sum()));
        }
        if let Some(postgres) = &self.postgres {
            // But for this statement itself.
            let row = postgres.query_one(
                "SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements \
                 WHERE query NOT LIKE '%pg_stat_statements%'",
                &[],
            );
            let calls: i64 = row.await?.get(0);
            return Ok(Some(calls.unsigned_abs()));
        }
        Ok(None)
    }
}

/// Runs something in this process, and tells what its store was asked meanwhile.
pub(crate) async fn counted<T>(
    server: &mut Server,
    work: impl Future<Output = Result<T>>,
) -> Result<(T, u64)> {
    let before = (server.commands().await?, requests());
    let answer = work.await?;
    let after = (server.commands().await?, requests());
    let asked = match (before, after) {
        ((Some(before), _), (Some(after), _)) => after - before,
        ((_, before), (_, after)) => after - before,
    };
    Ok((answer, asked))
}
