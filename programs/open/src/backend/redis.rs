//! `redis://HOST` and, over TLS, `rediss://HOST`: one server, the primary of its replicas, or a node of a cluster.

mod sentinels;

use std::{error::Error as StdError, ffi::OsStr, fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_redis::{Channels, RedisProvider};
use redis::{
    Client, ClientTlsConfig, ConnectionAddr, ConnectionInfo, ErrorKind, IntoConnectionInfo,
    RedisError, RedisResult, TlsCertificates, cluster::ClusterClientBuilder,
    cluster_async::ClusterConnection, sentinel::SentinelClient,
};

use super::{
    Backend,
    identity::Files,
    query::{self, Query},
    tls,
    url::{UNCLEAR, bracketed, has_clear_credentials},
};
use crate::{Encryption, Program, Store, StoreError, diagnosis::Diagnosis, text::harmless};

/// How long a node of a cluster may take to let this client in, how long to answer, and how long all of that may take
/// when the store is opened.
const CONNECT: Duration = Duration::from_secs(2);
const ANSWER: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(10);

/// A server, one of its databases, and the prefix of its locks.
struct Server {
    connection: ConnectionInfo,
    certificate: Option<Files>,
    /// It is one node of a cluster, which knows the others.
    cluster: bool,
    choices: Choices,
}

/// The settings of the locks, whichever way leads to them.
struct Choices {
    prefix: Option<String>,
    allow_eviction: bool,
}

/// The way to the server.
enum Way {
    Address(Client),
    /// To all nodes, and to the one that was named.
    Cluster(ClusterConnection, Client),
    Sentinels(SentinelClient),
}

/// Reads `redis://..` or `rediss://..`, or the same with `+sentinel`.
pub(crate) fn parse(argument: &OsStr) -> Result<Box<dyn Backend>, StoreError> {
    let url = argument
        .to_str()
        .ok_or_else(|| StoreError::no_location("a URL is UTF-8, and this is not"))?;
    if !url.contains("://") {
        return Err(StoreError::no_location(
            "a server is written redis://HOST or rediss://HOST",
        ));
    }
    if !has_clear_credentials(url) {
        return Err(StoreError::no_location(UNCLEAR));
    }
    if url.contains('#') {
        return Err(StoreError::no_location(
            "nothing may follow a # in its URL; a certificate is always checked, and SSL_CERT_FILE names others to trust",
        ));
    }
    for (scheme, over_tls) in [("redis+sentinel://", false), ("rediss+sentinel://", true)] {
        if let Some(rest) = url.strip_prefix(scheme) {
            return sentinels::parse(rest, over_tls);
        }
    }
    let (url, query) = url.split_once('?').unwrap_or((url, ""));
    let mut query = Query::parse(
        query,
        &[
            "allow_eviction",
            "cluster",
            "prefix",
            "protocol",
            "sslcert",
            "sslkey",
        ],
    )?;
    let choices = Choices::take(&mut query)?;
    let cluster = query.is_true("cluster")?;
    let over_tls = url.starts_with("rediss:");
    let certificate = Files::take_over_tls(&mut query, over_tls, "rediss://")?;
    // The parameters of the driver.
    let connection = format!("{url}?{}", query.rest())
        .into_connection_info()
        // The driver names what is wrong, and repeats nothing.
        .map_err(|error| StoreError::no_location("its URL can't be read").because(error))?;
    Ok(Box::new(Server {
        connection,
        certificate,
        cluster,
        choices,
    }))
}

impl Choices {
    fn take(query: &mut Query<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            prefix: query.take("prefix")?,
            allow_eviction: query.is_true("allow_eviction")?,
        })
    }
}

impl Server {
    /// A client of this server.
    fn client(&self) -> Result<Client, StoreError> {
        let connection = self.connection.clone();
        let client = match self.certificates()? {
            None => Client::open(connection),
            Some(certificates) => Client::build_with_tls(connection, certificates),
        };
        client.map_err(|error| self.refused(error))
    }

    /// Connections to all nodes of its cluster.
    async fn nodes(&self) -> Result<ClusterConnection, StoreError> {
        let mut builder = ClusterClientBuilder::new([self.connection.clone()])
            .connection_timeout(CONNECT)
            .response_timeout(ANSWER);
        if let Some(certificates) = self.certificates()? {
            builder = builder.certs(certificates);
        }
        let client = builder.build().map_err(|error| self.refused(error))?;
        let connecting = tokio::time::timeout(PATIENCE, client.get_async_connection());
        match connecting.await {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(error)) if tls::advice(&error).is_some() => Err(self.refused(error)),
            Ok(Err(error)) => Err(self.silent().because(error)),
            Err(elapsed) => Err(self.silent().because(elapsed)),
        }
    }

    fn certificates(&self) -> Result<Option<TlsCertificates>, StoreError> {
        let read = |files: &Files| {
            let (client_cert, client_key) = files.read()?;
            let client_tls = Some(ClientTlsConfig {
                client_cert,
                client_key,
            });
            Ok(TlsCertificates {
                client_tls,
                root_cert: None,
            })
        };
        self.certificate.as_ref().map(read).transpose()
    }

    fn refused(&self, error: RedisError) -> StoreError {
        let unusable = StoreError::unusable(format!("can't open the store {self}"));
        match tls::advice(&error) {
            Some(advice) => unusable.because(error).advise(advice),
            None => unusable.because(error),
        }
    }

    fn silent(&self) -> StoreError {
        StoreError::unreachable(format!("the cluster of the store {self} does not answer"))
            .advise(IF_SILENT)
    }
}

#[async_trait]
impl Backend for Server {
    async fn open(&self, program: &Program) -> Result<Store, StoreError> {
        // The driver takes the process's default.
        drop(tls::cryptography());
        let client = self.client()?;
        let way = if self.cluster {
            Way::Cluster(self.nodes().await?, client)
        } else {
            Way::Address(client)
        };
        open(self, Ok(way), &self.choices, program)
    }

    fn encryption(&self) -> Option<Encryption> {
        match self.connection.addr() {
            ConnectionAddr::Tcp(host, _) => Some(Encryption::of_host(false, host, OVER_TLS)),
            ConnectionAddr::TcpTls { host, .. } => Some(Encryption::of_host(true, host, OVER_TLS)),
            _ => None,
        }
    }
}

/// The store that is shown like this, and that this way leads to. Sends nothing yet.
fn open(
    shown: &dyn Backend,
    way: RedisResult<Way>,
    choices: &Choices,
    program: &Program,
) -> Result<Store, StoreError> {
    let unusable = || StoreError::unusable(format!("can't open the store {shown}"));
    // The driver takes the process's default.
    drop(tls::cryptography());
    let builder = RedisProvider::builder()
        .prefix(choices.prefix.as_deref().unwrap_or("dlock"))
        .allow_eviction(choices.allow_eviction)
        .wakeups(Channels::Plain);
    let (built, if_silent) = match way.map_err(|error| unusable().because(error))? {
        Way::Address(client) => (builder.client(client).build(), IF_SILENT),
        Way::Cluster(nodes, client) => {
            let builder = builder.connection(nodes);
            // The client is there to listen.
            (builder.client(client).build(), IF_SILENT)
        }
        Way::Sentinels(sentinels) => (
            builder.sentinel(sentinels).build(),
            "are the Sentinels and the primary up, and can this machine reach them? try again later",
        ),
    };
    let provider = built.map_err(|error| unusable().because(error))?;
    Ok(Store {
        provider: Arc::new(provider),
        seen: None,
        encryption: shown.encryption(),
        diagnosis: Diagnosis {
            shown: shown.to_string(),
            tables: None,
            if_silent,
            is_refusal,
            probe: None,
            set_up: program.set_up,
        },
    })
}

const IF_SILENT: &str = "is the server up, and can this machine reach it? try again later";

/// For servers that are not of this machine.
const OVER_TLS: &str = "use rediss://";

fn is_refusal(error: &(dyn StdError + 'static)) -> bool {
    error.downcast_ref::<RedisError>().is_some_and(|error| {
        matches!(
            error.kind(),
            ErrorKind::Server(_) | ErrorKind::Extension | ErrorKind::MasterNameNotFoundBySentinel
        )
    })
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings = self.connection.redis_settings();
        let user = settings
            .username()
            .map_or_else(String::new, |user| format!("{}@", harmless(user)));
        match self.connection.addr() {
            ConnectionAddr::Tcp(host, port) => {
                write!(f, "redis://{user}{}:{port}", bracketed(host))?;
            }
            ConnectionAddr::TcpTls { host, port, .. } => {
                write!(f, "rediss://{user}{}:{port}", bracketed(host))?;
            }
            // No URL of ours leads to another one.
            _ => f.write_str("redis:")?,
        }
        let cluster = self.cluster.then(|| "true".to_owned());
        let shown = query::shown(&[("cluster", &cluster), ("prefix", &self.choices.prefix)]);
        write!(f, "/{}{shown}", settings.db())
    }
}

// Not the settings: they know the password.
impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({self})")
    }
}
