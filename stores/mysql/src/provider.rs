//! The provider: its clones, and the meaning of each answer of the database. The rules themselves are in `sql/`.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use dlock_core::{
    Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Discipline, Durability, Prefix, Release,
        ReleaseOutcome, Renew, RenewOutcome, Sharing, Tokens,
    },
};

use crate::{
    connections::{Caller, Connections},
    error::{self, BuildError},
    schema::Schema,
};

/// Locks in one table of a MariaDB database.
///
/// Cheap to clone; clones share the connections and one [`Client`](dlock_core::Client). The [documentation of the
/// crate](crate) says what the store guarantees, and how it can lose a lock.
///
/// # Panics
/// The methods run in the tokio runtime they are polled in, and panic outside one or in one without a time driver.
///
/// # Cancel safety
/// A future that is dropped before it has a connection has done nothing. One that is dropped later may be applied, at
/// once or when a row that other sessions keep locked becomes free, at most 2 s later unless the network delays it; its
/// connection is closed.
#[derive(Clone)]
pub struct MysqlProvider {
    pub(crate) connections: Connections,
    pub(crate) schema: Arc<Schema>,
    pub(crate) prefix: Prefix,
    pub(crate) sharing: Sharing,
}

impl MysqlProvider {
    /// The same table over the same connections with another prefix: other locks, so another
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

// Not the connections: the driver decides what they show of themselves, and they contain a password.
impl fmt::Debug for MysqlProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MysqlProvider")
            .field("table", &self.schema.table)
            .field("prefix", &self.prefix.as_str())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Provider for MysqlProvider {
    fn capabilities(&self) -> Capabilities {
        Capabilities::new("mysql", Discipline::StoreClock)
            .closing(true)
            .marks(true)
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
        let claimed = prev.as_ref().map(|version| version.uuid);
        let answer = self
            .call(Caller::Other, &self.schema.acquire, name, |call| {
                call.bytes(owner.as_bytes())
                    .optional(claimed.as_ref().map(|uuid| uuid.as_bytes().as_slice()))
                    .number(prev.map_or(0, |version| version.renewals))
                    .bytes(new.as_bytes())
                    .number(duration.as_millis())
                    .optional(data.as_deref())
                    .number(*floor)
                    .number(tokens.get())
                    .number(*marks)
            })
            .await?;
        match answer.verdict()? {
            "acquired" => {
                let last = answer.token()?;
                let minted = Tokens::new(last, *tokens).unwrap_or_else(|| last.into());
                Ok(AcquireOutcome::Acquired(minted))
            }
            "repeated" => Ok(AcquireOutcome::Acquired(answer.token()?.into())),
            "held" => Ok(AcquireOutcome::Held(answer.record()?)),
            "spent" => Ok(AcquireOutcome::Spent),
            "exhausted" => Err(error::exhausted(name)),
            other => Err(error::bad_answer(other)),
        }
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        let Renew { name, uuid, n, .. } = request;
        self.call(Caller::Holder, &self.schema.renew, name, |call| {
            call.bytes(uuid.as_bytes()).number(*n)
        })
        .await?
        .renewal(request)
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        match &request.closing {
            Some(closing) => self.close(request, closing).await,
            None => self.give_back(request).await,
        }
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        self.call(Caller::Other, &self.schema.read, name, |call| call)
            .await?
            .refusal("record")
    }

    fn sharing(&self) -> Option<&Sharing> {
        Some(&self.sharing)
    }
}
