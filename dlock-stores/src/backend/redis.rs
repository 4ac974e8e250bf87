//! `redis://HOST` and, over TLS, `rediss://HOST`: one server, or the primary of its replicas.

mod sentinels;

use std::{error::Error as StdError, ffi::OsStr, fmt, sync::Arc};

use async_trait::async_trait;
use dlock_redis::{Channels, RedisProvider};
use redis::{
    Client, ConnectionAddr, ConnectionInfo, ErrorKind, IntoConnectionInfo, RedisError, RedisResult,
    sentinel::SentinelClient,
};

use super::{
    Backend,
    query::{self, Query},
    tls,
    url::{UNCLEAR, bracketed, has_clear_credentials},
};
use crate::{Program, Store, StoreError, diagnosis::Diagnosis, text::harmless};

/// A server, one of its databases, and what its locks are set apart by.
struct Server {
    connection: ConnectionInfo,
    choices: Choices,
}

/// What is said of the locks, whichever way leads to them.
struct Choices {
    prefix: Option<String>,
    allow_eviction: bool,
}

/// What leads to the server.
enum Way {
    Address(Client),
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
            "nothing may follow a # in its URL; a certificate is always looked at, and SSL_CERT_FILE names others to trust",
        ));
    }
    for (scheme, over_tls) in [("redis+sentinel://", false), ("rediss+sentinel://", true)] {
        if let Some(rest) = url.strip_prefix(scheme) {
            return sentinels::parse(rest, over_tls);
        }
    }
    let (url, query) = url.split_once('?').unwrap_or((url, ""));
    let mut query = Query::parse(query, &["allow_eviction", "prefix", "protocol"])?;
    let choices = Choices::take(&mut query)?;
    // The driver's.
    let connection = format!("{url}?{}", query.rest())
        .into_connection_info()
        // The driver names what is wrong, and repeats nothing.
        .map_err(|error| StoreError::no_location("its URL can't be read").because(error))?;
    Ok(Box::new(Server {
        connection,
        choices,
    }))
}

impl Choices {
    fn take(query: &mut Query<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            prefix: query.take("prefix")?,
            allow_eviction: match query.take("allow_eviction")?.as_deref() {
                None | Some("false") => false,
                Some("true") => true,
                Some(_) => return Err(StoreError::no_location("allow_eviction is true or false")),
            },
        })
    }
}

#[async_trait]
impl Backend for Server {
    async fn open(&self, program: &Program) -> Result<Store, StoreError> {
        let client = Client::open(self.connection.clone());
        open(self, client.map(Way::Address), &self.choices, program)
    }
}

/// The store that is shown like this, and where this leads. Nothing is asked yet.
fn open(
    shown: &dyn Backend,
    way: RedisResult<Way>,
    choices: &Choices,
    program: &Program,
) -> Result<Store, StoreError> {
    let unusable = || StoreError::unusable(format!("can't open the store {shown}"));
    // The driver takes the process's default.
    drop(tls::cryptography());
    let (client, sentinels, if_silent) = match way.map_err(|error| unusable().because(error))? {
        Way::Address(client) => (
            Some(client),
            None,
            "is the server up, and can this machine reach it? try again later",
        ),
        Way::Sentinels(sentinels) => (
            None,
            Some(sentinels),
            "are the Sentinels and the primary up, and can this machine reach them? try again later",
        ),
    };
    let provider = RedisProvider::builder()
        .client_opt(client)
        .sentinel_opt(sentinels)
        .prefix(choices.prefix.as_deref().unwrap_or("dlock"))
        .allow_eviction(choices.allow_eviction)
        .wakeups_opt(program.serves_many.then_some(Channels::Plain))
        .build()
        .map_err(|error| unusable().because(error))?;
    Ok(Store {
        provider: Arc::new(provider),
        seen: None,
        diagnosis: Diagnosis {
            shown: shown.to_string(),
            tables: None,
            if_silent,
            is_refusal,
            set_up: program.set_up,
        },
    })
}

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
        let shown = query::shown(&[("prefix", &self.choices.prefix)]);
        write!(f, "/{}{shown}", settings.db())
    }
}

// Not the settings: they know the password.
impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({self})")
    }
}
