//! The calls that stores received: counted by the servers that can, and otherwise in each process.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
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

use crate::{
    clock::Moment,
    systems::{Entry, Kind, Places, Store, postgres_pool},
};

/// Requests of this process to the stores that do not count: SQLite, and the one compatible with
/// DynamoDB.
static REQUESTS: AtomicU64 = AtomicU64::new(0);

pub(crate) fn count() {
    REQUESTS.fetch_add(1, Ordering::Relaxed);
}

/// The number of these requests so far.
pub(crate) fn requests() -> u64 {
    REQUESTS.load(Ordering::Relaxed)
}

/// Counts the requests to the DynamoDB-compatible store.
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

/// Counts the calls of a provider, and reports when each call that granted or renewed a lease was sent.
pub(crate) struct Counted {
    provider: Arc<dyn Provider>,
    applied: fn(Moment),
}

impl Counted {
    pub(crate) fn new(provider: impl Provider) -> Self {
        Self::reporting(Arc::new(provider), |_| ())
    }

    pub(crate) fn reporting(provider: Arc<dyn Provider>, applied: fn(Moment)) -> Self {
        Self { provider, applied }
    }
}

#[async_trait]
impl Provider for Counted {
    fn capabilities(&self) -> Capabilities {
        self.provider.capabilities()
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        count();
        let sent = Moment::now();
        let answer = self.provider.acquire(request).await;
        if matches!(answer, Ok(AcquireOutcome::Acquired(_))) {
            (self.applied)(sent);
        }
        answer
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        count();
        let sent = Moment::now();
        let answer = self.provider.renew(request).await;
        if matches!(answer, Ok(RenewOutcome::Renewed { .. })) {
            (self.applied)(sent);
        }
        answer
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        count();
        self.provider.release(request).await
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        count();
        self.provider.read(name).await
    }

    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        count();
        let sent = Moment::now();
        let answers = self.provider.renew_many(requests).await;
        for answer in &answers {
            if matches!(answer, Ok(RenewOutcome::Renewed { .. })) {
                (self.applied)(sent);
            }
        }
        answers
    }

    async fn watch(&self) -> Result<Option<Wakeups>, ProviderError> {
        self.provider.watch().await
    }

    // Not the coordinator of the provider inside: its clones would meet a client that is not counted.
    fn sharing(&self) -> Option<&Sharing> {
        None
    }
}

/// The calls that a server has received so far, from any client; `None` where only the clients count.
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
            // Our scripts call SET, and we never send it; for all other systems it is the other way round.
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
            Store::SQLite | Store::DynamoDb => {}
        }
        Ok(server)
    }

    /// Commands that clients sent, without those that scripts call.
    async fn commands(&mut self) -> Result<Option<u64>> {
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
            // Excludes this statement itself.
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

/// Runs something in this process, and counts the calls that its store received in that time.
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
