//! The layers that a pair of acquire and release goes through, each as a lock of its own: calls of the driver that ask
//! for nothing, the raw calls, those of a provider, and the frontend. What a layer costs is what a pair takes on it more
//! than on the one below.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::{Context, Result, bail};
use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use dlock_core::{
    Name, Provider,
    provider::{Acquire, AcquireOutcome, Release, ReleaseOutcome},
};
use rusqlite::Connection;
use tokio::task::spawn_blocking;
use uuid::Uuid;

use super::{
    Held, LEASE, Lock, Places, Store, System, dynamodb,
    ours::{self, Waiting},
    postgres,
};

/// What a pair is made of, from below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    /// Two calls of the driver that ask for nothing.
    EmptyCalls,
    /// The raw calls, in sessions whose commits wait for no disk where the store leaves the choice.
    Raw,
    /// The raw calls where a grant waits for the disk, as all layers above do: a provider of ours says so itself, whatever
    /// the session's setting.
    Flushed,
    /// Two calls of a provider that only polls.
    Provider,
    /// The same where a release calls those who wait.
    Calling,
    /// `DLock::acquire` and `Lease::release`.
    Frontend,
}

impl Layer {
    /// Those of a store.
    pub(crate) const fn of(store: Store) -> &'static [Self] {
        use Layer::{Calling, EmptyCalls, Flushed, Frontend, Provider, Raw};
        match store {
            Store::Postgres => &[EmptyCalls, Raw, Flushed, Provider, Calling, Frontend],
            Store::Redis => &[EmptyCalls, Raw, Provider, Calling, Frontend],
            Store::SQLite | Store::DynamoDb => &[EmptyCalls, Raw, Provider, Frontend],
            Store::Etcd => &[],
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::EmptyCalls => "empty calls",
            Self::Raw => "raw calls",
            Self::Flushed => "raw calls, flushed",
            Self::Provider => "provider",
            Self::Calling => "provider that calls",
            Self::Frontend => "frontend",
        }
    }

    /// Connects it, on the runtime that this is called on.
    pub(crate) async fn open(self, store: Store, places: &Places) -> Result<Arc<dyn System>> {
        let places = Places {
            careless: self == Self::Raw,
            ..places.clone()
        };
        match self {
            Self::EmptyCalls => empty_calls(store, &places).await,
            Self::Raw | Self::Flushed => store.raw().context("no raw calls")?.open(&places).await,
            Self::Provider => provider(store, places, Waiting::Polled).await,
            Self::Calling => provider(store, places, Waiting::Called).await,
            Self::Frontend => ours::open(store, places, Waiting::Called).await,
        }
    }
}

async fn empty_calls(store: Store, places: &Places) -> Result<Arc<dyn System>> {
    Ok(Arc::new(match store {
        Store::Redis => Driver::Redis(super::redis::connect(places).await?),
        Store::Postgres => Driver::Postgres(postgres::pool_at(places)?),
        Store::SQLite => {
            let folder: &Path = places.sqlite.as_deref().context("there is no SQLite")?;
            let connection = Connection::open(folder.join("empty.db"))?;
            Driver::Sqlite(Arc::new(Mutex::new(connection)))
        }
        Store::DynamoDb => Driver::DynamoDb(dynamodb::client_at(places)?),
        Store::Etcd => bail!("nothing of ours keeps locks in {store}"),
    }))
}

#[derive(Clone)]
enum Driver {
    Redis(redis::aio::MultiplexedConnection),
    Postgres(deadpool_postgres::Pool),
    Sqlite(Arc<Mutex<Connection>>),
    DynamoDb(aws_sdk_dynamodb::Client),
}

impl Driver {
    async fn call(&self) -> Result<()> {
        match self {
            Self::Redis(connection) => {
                let mut connection = connection.clone();
                let _pong: String = redis::cmd("PING").query_async(&mut connection).await?;
            }
            Self::Postgres(pool) => {
                let client = pool.get().await?;
                let nothing = client.prepare_cached("SELECT 1").await?;
                client.query_one(&nothing, &[]).await?;
            }
            Self::Sqlite(connection) => {
                let connection = Arc::clone(connection);
                let call = spawn_blocking(move || {
                    let connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
                    let mut nothing = connection.prepare_cached("SELECT 1")?;
                    nothing.query_row([], |row| row.get::<_, i64>(0))
                });
                call.await??;
            }
            Self::DynamoDb(client) => {
                let absent = AttributeValue::S("absent".to_owned());
                let get = client.get_item().table_name(dynamodb::RAW_TABLE);
                get.key("name", absent).send().await?;
            }
        }
        Ok(())
    }
}

impl System for Driver {
    fn lock(&self, _name: &str) -> Result<Box<dyn Lock>> {
        Ok(Box::new(self.clone()))
    }
}

#[async_trait]
impl Lock for Driver {
    async fn acquire(&self) -> Result<Box<dyn Held>> {
        self.call().await?;
        Ok(Box::new(self.clone()))
    }
}

#[async_trait]
impl Held for Driver {
    async fn release(self: Box<Self>) -> Result<()> {
        self.call().await
    }
}

/// A provider of ours without the frontend.
async fn provider(store: Store, places: Places, waiting: Waiting) -> Result<Arc<dyn System>> {
    // Opening a file blocks.
    let provider = spawn_blocking(move || ours::provider(store, &places, waiting)).await??;
    Ok(Arc::new(Bare(provider)))
}

struct Bare(Arc<dyn Provider>);

struct BareLock(Arc<dyn Provider>, Name);

struct BareHeld(Arc<dyn Provider>, Release);

impl System for Bare {
    fn lock(&self, name: &str) -> Result<Box<dyn Lock>> {
        Ok(Box::new(BareLock(Arc::clone(&self.0), Name::new(name)?)))
    }
}

#[async_trait]
impl Lock for BareLock {
    async fn acquire(&self) -> Result<Box<dyn Held>> {
        let Self(provider, name) = self;
        let request = Acquire::new(name.clone(), Uuid::new_v4(), LEASE).owner("bench");
        match provider.acquire(&request).await? {
            AcquireOutcome::Acquired(tokens) => {
                let release = Release::new(name.clone(), request.new, Some(tokens.first()));
                Ok(Box::new(BareHeld(Arc::clone(provider), release)))
            }
            other => bail!("{name} was not granted: {other:?}"),
        }
    }
}

#[async_trait]
impl Held for BareHeld {
    async fn release(self: Box<Self>) -> Result<()> {
        match self.0.release(&self.1).await? {
            ReleaseOutcome::Released => Ok(()),
            other => bail!("the term ended as {other:?}"),
        }
    }
}
