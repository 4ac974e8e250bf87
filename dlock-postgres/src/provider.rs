//! The provider: its clones, and the meaning of each answer of the database. The rules themselves are in `sql/`.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use deadpool_postgres::tokio_postgres::types::Type;
use dlock_core::{
    Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Discipline, Durability, Prefix, Release,
        ReleaseOutcome, Renew, RenewOutcome, Sharing, Tokens, Wakeup, Wakeups,
    },
};

use crate::{
    connections::{Caller, Connections, bigint, millis},
    error::{self, BuildError},
    record,
    schema::{Schema, Statements},
    wakeups::{self, Connect, Hints, Listen},
};

/// How long the channel for wake-ups may be silent before the session is queried whether it still listens.
const ASK_EVERY: Duration = Duration::from_secs(5);

/// Locks in one table of a PostgreSQL database.
///
/// Cheap to clone; clones share the pool and one [`Client`](dlock_core::Client). The [documentation of the
/// crate](crate) says what the store guarantees, and how it can lose a lock.
///
/// # Panics
/// The methods run in the tokio runtime they are polled in, and panic outside one or in one without
/// a time driver.
///
/// # Cancel safety
/// A future that is dropped before it has a connection has done nothing. One that is dropped later may be applied, at
/// once or when a row that other sessions keep locked becomes free, at most 2 s later unless the network delays it; its
/// connection is closed.
#[derive(Clone)]
pub struct PostgresProvider {
    pub(crate) connections: Connections,
    pub(crate) schema: Arc<Schema>,
    pub(crate) statements: Arc<Statements>,
    pub(crate) prefix: Prefix,
    pub(crate) hints: Arc<Hints>,
    /// How to open the channel for wake-ups, if there is to be one.
    pub(crate) listen: Option<Connect>,
    /// Whether releases of marked terms are hinted (N3).
    pub(crate) notify: bool,
    pub(crate) sharing: Sharing,
}

impl PostgresProvider {
    /// The same table over the same pool with another prefix: other locks, so another
    /// [`Client`](dlock_core::Client).
    ///
    /// # Errors
    /// [`BuildError::Prefix`] if the text cannot be one.
    pub fn with_prefix(&self, prefix: &str) -> Result<Self, BuildError> {
        let prefix = Prefix::new(prefix)?;
        Ok(Self {
            hints: Arc::new(Hints::new(&self.schema, &prefix)),
            prefix,
            sharing: Sharing::default(),
            ..self.clone()
        })
    }
}

// Not the pool: the driver decides what it shows of itself, and it contains a password.
impl fmt::Debug for PostgresProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresProvider")
            .field("table", &self.schema.table())
            .field("prefix", &self.prefix.as_str())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Provider for PostgresProvider {
    fn capabilities(&self) -> Capabilities {
        Capabilities::new("postgres", Discipline::StoreClock)
            .closing(true)
            .batch(true)
            .marks(true)
            .watch(self.listen.is_some())
            .durability(Durability::Durable)
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        let Acquire {
            name,
            owner,
            prev,
            new,
            duration,
            data,
            floor,
            tokens,
            marks,
            ..
        } = request;
        request.check()?;
        let answer = self
            .call(
                Caller::Other,
                &self.statements.acquire,
                name,
                &[
                    (owner, Type::TEXT),
                    (&prev.map(|version| version.uuid), Type::UUID),
                    (&prev.map(|version| bigint(version.renewals)), Type::INT8),
                    (new, Type::UUID),
                    (&millis(*duration), Type::INT8),
                    (data, Type::BYTEA),
                    (&bigint(*floor), Type::INT8),
                    (&i64::from(tokens.get()), Type::INT8),
                    (&i64::from(*marks), Type::INT8),
                ],
            )
            .await?;
        match answer.verdict()? {
            "acquired" => {
                let last = answer.token()?;
                let minted = Tokens::new(last, *tokens).unwrap_or_else(|| last.into());
                Ok(AcquireOutcome::Acquired(minted))
            }
            "repeated" => Ok(AcquireOutcome::Acquired(answer.token()?.into())),
            "held" => answer.record().map(AcquireOutcome::Held),
            "spent" => Ok(AcquireOutcome::Spent),
            "exhausted" => Err(error::exhausted(name)),
            other => Err(error::bad_answer(other)),
        }
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        let Renew { name, uuid, n, .. } = request;
        self.call(
            Caller::Holder,
            &self.statements.renew,
            name,
            &[(uuid, Type::UUID), (&bigint(*n), Type::INT8)],
        )
        .await?
        .renewal(request)
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        if let Some(closing) = &request.closing {
            return self.close(request, closing).await;
        }
        let hint = self.notify.then(|| self.hints.about(&request.name));
        match self.release_with(request, hint).await {
            // The server's queue of notifications is full, or its table of locks. The release matters more than the
            // hint.
            Err(error) if self.notify && error::of_the_hint(&error) => {
                self.release_with(request, None).await
            }
            outcome => outcome,
        }
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        self.prefix.check(name)?;
        let rows = self
            .connections
            .query(
                Caller::Other,
                &self.statements.read,
                &[
                    (&self.prefix.as_str(), Type::TEXT),
                    (&name.as_str(), Type::TEXT),
                ],
            )
            .await?;
        rows.first()
            .map(record::of_lock)
            .transpose()
            .map_err(|flaw| error::bad_record(self.prefix.as_str(), name.as_str(), &flaw))
    }

    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        self.renew_all(requests).await
    }

    async fn watch(&self) -> Result<Option<Wakeups>, ProviderError> {
        let Some(connect) = &self.listen else {
            return Ok(None);
        };
        let hints = Arc::clone(&self.hints);
        // Locks of other prefixes are not ours.
        let read = move |text: &str| hints.name(text).map(Wakeup::Name);
        let listen = Listen {
            channel: self.hints.channel(),
            read: Box::new(read),
            limit: self.connections.limit(),
            ask_every: ASK_EVERY,
        };
        wakeups::open(connect, listen).await.map(Some)
    }

    fn sharing(&self) -> Option<&Sharing> {
        Some(&self.sharing)
    }
}
