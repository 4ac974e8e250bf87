//! The settings of a provider.

use std::{sync::Arc, time::Duration};

use dlock_core::provider::Sharing;
use redis::{Client, aio::ConnectionLike, sentinel::SentinelClient};
use typed_builder::TypedBuilder;

use crate::{
    connection::{Connection, OwnConnection},
    error::BuildError,
    invoke::Invoker,
    key::Prefix,
    provider::RedisProvider,
    replicas::Replicas,
    servers::Servers,
    wakeups::{Channels, Hearing},
};

/// See [`RedisProvider::builder`].
#[derive(TypedBuilder)]
#[builder(
    builder_type(vis = "pub", name = RedisProviderBuilder, doc = "Builds a [`RedisProvider`]; made by [`RedisProvider::builder`]."),
    build_method(into = Result<RedisProvider, BuildError>, doc = "Checks the settings. Nothing is sent to the server yet.\n\n# Errors\n[`BuildError`] says which setting is not possible, and what is.")
)]
pub(crate) struct Settings {
    /// A connection of the application: a `MultiplexedConnection`, a `ConnectionManager`, a `ClusterConnection`, or
    /// anything else that can be cloned. It is shared, never closed, and reconnects in its own way: a bare
    /// `MultiplexedConnection` never does, and a `ConnectionManager` does not notice a silent partition before the
    /// system does, unless its client sets a TCP user timeout. Use this for a cluster.
    #[builder(default, setter(
        transform = |connection: impl ConnectionLike + Clone + Send + Sync + 'static| Some(Arc::new(connection) as Arc<dyn Connection>)))]
    connection: Option<Arc<dyn Connection>>,
    /// Opens the provider's own connections. Without [`connection`](Self::connection) all requests share one, opened at
    /// the first call and replaced as soon as it breaks or falls silent. One server, not a cluster.
    #[builder(default, setter(strip_option(fallback_suffix = "_opt")))]
    client: Option<Client>,
    /// Opens the provider's own connections to the primary that these Sentinels know; the Sentinels are queried each
    /// time. Replaces a [`client`](Self::client). After a failover the next call goes to the new primary. The
    /// `SentinelClient` must be for servers of the type `Master`.
    #[builder(default, setter(strip_option(fallback_suffix = "_opt")))]
    sentinel: Option<SentinelClient>,
    /// Separates the locks of one application from those of others, and from other keys: a lock is the key
    /// `prefix:{name}`. `dlock` by default; prefix and name together have at most 1024 bytes.
    #[builder(default = "dlock".into(), setter(into))]
    prefix: String,
    /// How long one call may take, connecting included; 2 s by default, 1 ms to 1 h. The frontend allows a sixth of a
    /// lease anyway; this limit also bounds calls that bypass the frontend. A connection with its own time limit (500
    /// ms is the driver's default) may give up earlier.
    #[builder(default = Duration::from_secs(2))]
    call_timeout: Duration,
    /// Uses a server although its `maxmemory-policy` lets it drop records, even held ones, when its memory is full.
    /// `false` by default: such a server is refused when a record is to be created, if its user may read the policy.
    #[builder(default)]
    allow_eviction: bool,
    /// A grant or a renewal counts only when that many replicas have acknowledged it, so that a failover is less likely
    /// to lose it; 0 by default. Needs a [`client`](Self::client), and one server. Less likely, not impossible: a
    /// failover may choose a replica that was not among them.
    #[builder(default)]
    acknowledged_by: usize,
    /// How long a grant or a renewal waits for the replicas of [`acknowledged_by`](Self::acknowledged_by); 100 ms by
    /// default; a sixth of the lease bounds it anyway. With too few, the call ends as unknown, its source an
    /// [`Unacknowledged`](crate::Unacknowledged) with the number of replicas that acknowledged; like every such call,
    /// it is repeated.
    #[builder(default = Duration::from_millis(100))]
    acknowledged_within: Duration,
    /// Announces releases that are waited for on these channels, and listens to them, so that waiters elsewhere try
    /// again at once and need not poll as often. Off by default. Needs a [`client`](Self::client), for separate
    /// connections: one to its server, or one to each primary of a cluster, with the client's credentials; requests
    /// never use them. *Every* process that uses the prefix must have the same setting: a process without it wakes no
    /// waiter, and polls. A hint that is lost costs one poll.
    #[builder(default, setter(strip_option(fallback_suffix = "_opt")))]
    wakeups: Option<Channels>,
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
}

impl From<Settings> for Result<RedisProvider, BuildError> {
    fn from(settings: Settings) -> Self {
        const LONGEST: Duration = Duration::from_secs(60 * 60);
        let Settings {
            connection,
            client,
            sentinel,
            prefix,
            call_timeout: timeout,
            allow_eviction,
            acknowledged_by,
            acknowledged_within: within,
            wakeups,
        } = settings;
        if timeout < Duration::from_millis(1) || timeout > LONGEST {
            return Err(BuildError::CallTimeout { timeout });
        }
        let prefix = Prefix::new(&prefix)?;
        let servers = match (client, sentinel) {
            (Some(_), Some(_)) => return Err(BuildError::TwoClients),
            (Some(client), None) => Some(Servers::Fixed(Box::new(client))),
            (None, Some(sentinels)) => Some(Servers::followed(sentinels)),
            (None, None) => None,
        };
        let replicas = match (acknowledged_by, &servers) {
            (0, _) => None,
            (_, None) => return Err(BuildError::NoClient),
            (_, Some(_))
                if within.subsec_nanos() % 1_000_000 != 0
                    || within.is_zero()
                    || within >= timeout =>
            {
                return Err(BuildError::AcknowledgedWithin { within });
            }
            (wanted, Some(servers)) => {
                Some(Arc::new(Replicas::new(servers, wanted, within, timeout)))
            }
        };
        let hearing = match (wakeups, &servers) {
            (None, _) => None,
            (Some(_), None) => return Err(BuildError::NoClient),
            (Some(channels), Some(servers)) => Some(Arc::new(Hearing {
                servers: servers.clone(),
                channels,
                timeout,
            })),
        };
        // Waiting for replicas takes connections of our own.
        let spread = connection.is_some() && replicas.is_none();
        let connection = match (connection, servers) {
            (Some(connection), _) => connection,
            (None, Some(servers)) => Arc::new(OwnConnection::new(servers)),
            (None, None) => return Err(BuildError::NoConnection),
        };
        Ok(RedisProvider {
            link: Invoker::new(connection, timeout),
            spread,
            replicas,
            hearing,
            waited: Arc::default(),
            prefix,
            allow_eviction,
            sharing: Sharing::default(),
        })
    }
}
