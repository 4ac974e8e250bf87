//! The provider: settings, clones, and which script answers which request. The rules themselves
//! are in `lua/`.

use std::{fmt, ops::RangeInclusive, slice, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::{
    Acquire, AcquireOutcome, Admin, Ask, AskOutcome, Capabilities, Discipline, Durability,
    FencingToken, List, Name, Page, Provider, ProviderError, Record, Release, ReleaseOutcome,
    Renew, RenewOutcome, Revoke, RevokeOutcome, Sharing, Version,
};
use redis::{Client, aio::ConnectionLike};
use typed_builder::TypedBuilder;
use uuid::Uuid;

use crate::{
    admin,
    connection::{Connection, OwnConnection},
    error::{self, BuildError},
    key::Prefix,
    link::{Link, Run},
    replicas::Replicas,
    reply,
    scripts::{ACQUIRE, ASK, READ, RELEASE, RENEW, REVOKE},
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
    link: Link,
    replicas: Option<Arc<Replicas>>,
    prefix: Prefix,
    allow_eviction: bool,
    sharing: Sharing,
}

/// What a provider is built from.
#[derive(TypedBuilder)]
#[builder(
    builder_type(vis = "pub", name = RedisProviderBuilder, doc = "Builds a [`RedisProvider`]; made by [`RedisProvider::builder`]."),
    build_method(into = Result<RedisProvider, BuildError>, doc = "Checks the settings. Nothing is sent to the server yet.\n\n# Errors\n[`BuildError`] says which setting is not possible, and what is.")
)]
pub(crate) struct Settings {
    #[builder(default, setter(
        transform = |connection: impl ConnectionLike + Clone + Send + Sync + 'static| Some(Arc::new(connection) as Arc<dyn Connection>),
        doc = "A connection of the application: a `MultiplexedConnection`, a `ConnectionManager`, a `ClusterConnection`, or anything else that can be cloned. It is shared, never closed, and reconnects as it was made to: a bare `MultiplexedConnection` never does, and a `ConnectionManager` does not notice a silent partition before the system does, unless its client sets a TCP user timeout. A cluster is reached this way."
    ))]
    connection: Option<Arc<dyn Connection>>,
    #[builder(
        default,
        setter(
            strip_option,
            doc = "Opens connections of the provider's own. Without [`connection`](Self::connection) all requests share one, opened at the first call and replaced as soon as it breaks or falls silent. One server, not a cluster."
        )
    )]
    client: Option<Client>,
    #[builder(default = "dlock".into(), setter(
        into,
        doc = "Separates the locks of one application from those of others, and from other keys: a lock is the key `prefix:{name}`. `dlock` by default; with the name at most 1024 bytes."
    ))]
    prefix: String,
    #[builder(default = Duration::from_secs(2), setter(
        doc = "How long one call may take, connecting included; 2 s by default, 1 ms to 1 h. The frontend allows a sixth of a lease anyway; this bounds what is called without it. A connection with a time limit of its own (500 ms is the driver's default) may give up earlier."
    ))]
    call_timeout: Duration,
    #[builder(
        default,
        setter(
            doc = "Uses a server although its `maxmemory-policy` lets it drop records, held ones too, when its memory is full. `false` by default: such a server is refused when a record is to be created, as far as its user may read the policy."
        )
    )]
    allow_eviction: bool,
    #[builder(
        default,
        setter(
            doc = "A grant or a renewal counts only when so many replicas have acknowledged it, so that a failover is less likely to lose it; 0 by default. Needs a [`client`](Self::client), and one server. Less likely, not impossible: a failover may choose a replica that was not among them."
        )
    )]
    acknowledged_by: usize,
    #[builder(default = Duration::from_millis(100), setter(
        doc = "How long a grant or a renewal waits for the replicas of [`acknowledged_by`](Self::acknowledged_by); 100 ms by default. With too few, the call ends as unknown, its source an [`Unacknowledged`](crate::Unacknowledged) that says how many there were; it is repeated as every such call."
    ))]
    acknowledged_within: Duration,
}

impl RedisProvider {
    /// Settings first, then `build()`.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use dlock_redis::RedisProvider;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let provider = RedisProvider::builder()
    ///     .client(redis::Client::open("redis://127.0.0.1/")?)
    ///     .prefix("billing")
    ///     .call_timeout(Duration::from_secs(1))
    ///     .build()?;
    /// # Ok(()) }
    /// ```
    pub fn builder() -> RedisProviderBuilder {
        Settings::builder()
    }

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

    /// One run of a script on this lock.
    fn on<const N: usize>(
        &self,
        name: &Name,
        arguments: [Vec<u8>; N],
    ) -> Result<Run, ProviderError> {
        Ok(Run::new(self.prefix.key(name)?, arguments.into()))
    }

    fn renewal(&self, request: &Renew) -> Result<Run, ProviderError> {
        if request.n > FencingToken::MAX.get() {
            return Err(ProviderError::fatal(
                "a renewal's number ends below 2^53: begin a new term",
            ));
        }
        self.on(&request.name, [uuid(request.uuid), number(request.n)])
    }
}

impl From<Settings> for Result<RedisProvider, BuildError> {
    fn from(settings: Settings) -> Self {
        const LONGEST: Duration = Duration::from_secs(60 * 60);
        let Settings {
            connection,
            client,
            prefix,
            call_timeout: timeout,
            allow_eviction,
            acknowledged_by,
            acknowledged_within: within,
        } = settings;
        if timeout < Duration::from_millis(1) || timeout > LONGEST {
            return Err(BuildError::CallTimeout { timeout });
        }
        let prefix = Prefix::new(&prefix)?;
        let replicas = match (acknowledged_by, &client) {
            (0, _) => None,
            (_, None) => return Err(BuildError::NoClient),
            (_, Some(_))
                if within.subsec_nanos() % 1_000_000 != 0
                    || within.is_zero()
                    || within >= timeout =>
            {
                return Err(BuildError::AcknowledgedWithin { within });
            }
            (wanted, Some(client)) => {
                Some(Arc::new(Replicas::new(client, wanted, within, timeout)))
            }
        };
        let connection = match (connection, client) {
            (Some(connection), _) => connection,
            (None, Some(client)) => Arc::new(OwnConnection::new(client)),
            (None, None) => return Err(BuildError::NoConnection),
        };
        Ok(RedisProvider {
            link: Link::new(connection, timeout),
            replicas,
            prefix,
            allow_eviction,
            sharing: Sharing::default(),
        })
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
            .batch(true)
            .durability(Durability::Volatile)
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        check(request)?;
        let prev = request.prev;
        let mut arguments = vec![
            uuid(request.new),
            prev.map_or_else(Vec::new, |prev| uuid(prev.uuid)),
            prev.map_or_else(Vec::new, |prev| number(prev.renewals)),
            request.owner.clone().into_bytes(),
            number(millis(request.duration)),
            number(request.floor),
            number(u64::from(!self.allow_eviction)),
        ];
        arguments.extend(request.data.clone());
        let run = Run::new(self.prefix.key(&request.name)?, arguments);
        let Some(replicas) = &self.replicas else {
            return self.link.run(&ACQUIRE, &run, reply::acquire).await;
        };
        let granted = |outcome: &AcquireOutcome| matches!(outcome, AcquireOutcome::Acquired(_));
        let runs = slice::from_ref(&run);
        replicas
            .run(&replicas.acquires, &ACQUIRE, runs, reply::acquire, granted)
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
        let run = self.on(&request.name, [uuid(request.uuid)])?;
        self.link.run(&RELEASE, &run, reply::release).await
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        let run = self.on(name, [])?;
        self.link.run(&READ, &run, reply::read).await
    }

    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        let checked: Vec<Result<Run, ProviderError>> = requests
            .iter()
            .map(|request| self.renewal(request))
            .collect();
        let runs: Vec<Run> = checked.iter().flatten().cloned().collect();
        let answers = match &self.replicas {
            None => self.link.run_many(&RENEW, &runs, reply::renew).await,
            Some(replicas) => {
                let renewed =
                    |outcome: &RenewOutcome| matches!(outcome, RenewOutcome::Renewed { .. });
                replicas
                    .run(&replicas.renewals, &RENEW, &runs, reply::renew, renewed)
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
        let Version {
            uuid: held,
            renewals,
        } = request.version;
        let run = self.on(
            &request.name,
            [uuid(held), number(renewals), uuid(request.new)],
        )?;
        self.link.run(&REVOKE, &run, reply::revoke).await
    }

    async fn ask(&self, request: &Ask) -> Result<AskOutcome, ProviderError> {
        let run = self.on(&request.name, [uuid(request.uuid)])?;
        self.link.run(&ASK, &run, reply::ask).await
    }

    /// Walks over **all keys** of every node. Redis deletes old records by itself; this is for
    /// those that lost their end (`PERSIST`, a restored dump).
    async fn purge(&self, limit: usize) -> Result<u64, ProviderError> {
        admin::purge(&self.link, &self.prefix, limit).await
    }
}

/// What a record could not keep as it was meant.
fn check(request: &Acquire) -> Result<(), ProviderError> {
    /// The shortest lease and the longest, in milliseconds.
    const DURATIONS: RangeInclusive<u64> = 100..=86_400_000;
    /// The longest label of an owner, in bytes.
    const MAX_OWNER: usize = 1024;
    let Acquire {
        owner,
        duration,
        data,
        floor,
        ..
    } = request;
    let whole = Duration::from_millis(millis(*duration)) == *duration;
    let trouble = if !whole || !DURATIONS.contains(&millis(*duration)) {
        format!(
            "a lease of {duration:?} is not possible: it takes whole milliseconds, 100 ms to 24 h"
        )
    } else if owner.len() > MAX_OWNER {
        format!(
            "an owner label of {} bytes is not possible: at most {MAX_OWNER}",
            owner.len()
        )
    } else if data
        .as_ref()
        .is_some_and(|data| data.len() > Record::MAX_DATA)
    {
        format!(
            "more data than fits beside a lock: at most {} bytes",
            Record::MAX_DATA
        )
    } else if *floor > FencingToken::MAX.get() {
        // T2
        format!(
            "no fencing token is as high as {floor}: they end at {}",
            FencingToken::MAX
        )
    } else {
        return Ok(());
    };
    Err(ProviderError::fatal(trouble))
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

fn number(number: u64) -> Vec<u8> {
    number.to_string().into_bytes()
}

/// Hyphenated and in lower case, as the scripts compare it.
fn uuid(uuid: Uuid) -> Vec<u8> {
    uuid.to_string().into_bytes()
}
