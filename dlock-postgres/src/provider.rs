//! The provider: clones, and what each answer of the database means. The rules
//! themselves are in `sql/`.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use deadpool_postgres::tokio_postgres::types::Type;
use dlock_core::{
    Acquire, AcquireOutcome, Capabilities, Closing, Discipline, Durability, Name, Prefix, Provider,
    ProviderError, Record, Release, ReleaseOutcome, Renew, RenewOutcome, Sharing, Wakeups,
};

use crate::{
    answers::Answer,
    batch::{self, Table},
    connections::{Caller, Connections, Parameters, bigint},
    error::{self, BuildError},
    record,
    schema::{Schema, Statements},
    wakeups::Hints,
    wakeups::{self, Connect},
};

/// Locks in one table of a PostgreSQL database.
///
/// Cheap to clone; clones share the pool and one [`Client`](dlock_core::Client). What the store
/// guarantees, and how it can lose a lock, is said in the [documentation of the crate](crate).
///
/// # Panics
/// The methods run in the tokio runtime they are polled in, and panic outside one or in one without
/// a time driver.
///
/// # Cancel safety
/// A future that is dropped before it has a connection has done nothing. One that is dropped later
/// may be applied, at once or when a row that others keep locked becomes free, at most 2 s later
/// unless the network holds it back; its connection is closed.
#[derive(Clone)]
pub struct PostgresProvider {
    pub(crate) connections: Connections,
    pub(crate) schema: Arc<Schema>,
    pub(crate) statements: Arc<Statements>,
    pub(crate) prefix: Prefix,
    pub(crate) hints: Arc<Hints>,
    /// How to open the channel for wake-ups, if there is to be one.
    pub(crate) listen: Option<Connect>,
    /// Whether releases are hinted.
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

    /// Releases, and says so to those who listen if there is a hint.
    async fn release_with(
        &self,
        Release { name, uuid, .. }: &Release,
        hint: Option<String>,
    ) -> Result<ReleaseOutcome, ProviderError> {
        let answer = self
            .call(
                Caller::Holder,
                &self.statements.release,
                name,
                &[
                    (&self.prefix.as_str(), Type::TEXT),
                    (&name.as_str(), Type::TEXT),
                    (uuid, Type::UUID),
                    (&hint, Type::TEXT),
                ],
            )
            .await?;
        match answer.verdict()? {
            "released" => Ok(ReleaseOutcome::Released),
            "not held" => Ok(ReleaseOutcome::NotHeld(Some(answer.record()?))),
            "absent" => Ok(ReleaseOutcome::NotHeld(None)),
            other => Err(error::bad_answer(other)),
        }
    }

    /// Ends a term and leaves the name closed (B4). Nobody is told: nothing is free.
    async fn close(
        &self,
        Release { name, uuid, .. }: &Release,
        closing: &Closing,
    ) -> Result<ReleaseOutcome, ProviderError> {
        let lasts = i64::try_from(closing.lasts().as_millis()).unwrap_or(i64::MAX);
        let answer = self
            .call(
                Caller::Holder,
                &self.statements.close,
                name,
                &[
                    (&self.prefix.as_str(), Type::TEXT),
                    (&name.as_str(), Type::TEXT),
                    (uuid, Type::UUID),
                    (&closing.uuid(), Type::UUID),
                    (&lasts, Type::INT8),
                ],
            )
            .await?;
        match answer.verdict()? {
            "closed" => Ok(ReleaseOutcome::Released),
            "not held" => Ok(ReleaseOutcome::NotHeld(Some(answer.record()?))),
            "absent" => Ok(ReleaseOutcome::NotHeld(None)),
            "unfit" => Err(error::unfit(name)),
            other => Err(error::bad_answer(other)),
        }
    }

    /// Calls one of the functions for one lock.
    pub(crate) async fn call<'a>(
        &'a self,
        caller: Caller,
        function: &str,
        name: &'a Name,
        parameters: &Parameters<'_>,
    ) -> Result<Answer<'a>, ProviderError> {
        self.prefix.check(name)?;
        let row = self
            .connections
            .query_one(caller, function, parameters)
            .await?;
        Answer::new(row, &self.prefix, name)
    }
}

// Not the pool: what it shows of itself is the driver's choice, and it knows a password.
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
            ..
        } = request;
        let answer = self
            .call(
                Caller::Other,
                &self.statements.acquire,
                name,
                &[
                    (&self.prefix.as_str(), Type::TEXT),
                    (&name.as_str(), Type::TEXT),
                    (owner, Type::TEXT),
                    (&prev.map(|version| version.uuid), Type::UUID),
                    (&prev.map(|version| bigint(version.renewals)), Type::INT8),
                    (new, Type::UUID),
                    (
                        &i64::try_from(duration.as_millis()).unwrap_or(i64::MAX),
                        Type::INT8,
                    ),
                    (data, Type::BYTEA),
                    (&bigint(*floor), Type::INT8),
                ],
            )
            .await?;
        match answer.verdict()? {
            "acquired" => Ok(AcquireOutcome::Acquired(answer.token()?)),
            "held" => Ok(AcquireOutcome::Held(answer.record()?)),
            "spent" => Ok(AcquireOutcome::Spent),
            "exhausted" => Err(error::exhausted(name)),
            "unfit" => Err(error::unfit(name)),
            other => Err(error::bad_answer(other)),
        }
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        let Renew { name, uuid, n, .. } = request;
        let answer = self
            .call(
                Caller::Holder,
                &self.statements.renew,
                name,
                &[
                    (&self.prefix.as_str(), Type::TEXT),
                    (&name.as_str(), Type::TEXT),
                    (uuid, Type::UUID),
                    (&bigint(*n), Type::INT8),
                ],
            )
            .await?;
        answer.renewal()
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        if let Some(closing) = &request.closing {
            return self.close(request, closing).await;
        }
        let hint = self.notify.then(|| self.hints.about(&request.name));
        match self.release_with(request, hint).await {
            // The server's queue of notifications is full. The release matters more than the hint.
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
            .map(record::read)
            .transpose()
            .map_err(|flaw| error::bad_record(self.prefix.as_str(), name.as_str(), &flaw))
    }

    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        let table = Table {
            connections: &self.connections,
            statements: &self.statements,
            prefix: &self.prefix,
        };
        batch::renew_many(self, table, requests).await
    }

    async fn watch(&self) -> Result<Option<Wakeups>, ProviderError> {
        let Some(connect) = &self.listen else {
            return Ok(None);
        };
        let hints = Arc::clone(&self.hints);
        wakeups::open(connect, hints, self.connections.limit())
            .await
            .map(Some)
    }

    fn sharing(&self) -> Option<&Sharing> {
        Some(&self.sharing)
    }
}
