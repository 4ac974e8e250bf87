//! `redis://HOST` and, over TLS, `rediss://HOST`: one server, or the primary of its replicas.

use std::{error::Error as StdError, ffi::OsStr, fmt, sync::Arc};

use async_trait::async_trait;
use dlock_redis::{Channels, RedisProvider};
use redis::{Client, ConnectionAddr, ConnectionInfo, ErrorKind, IntoConnectionInfo, RedisError};

use super::{
    Backend,
    query::{self, Query},
    tls,
    url::{UNCLEAR, has_clear_credentials},
};
use crate::{Program, Store, StoreError, diagnosis::Diagnosis, text::harmless};

/// A server, one of its databases, and what its locks are set apart by.
struct Server {
    connection: ConnectionInfo,
    prefix: Option<String>,
    allow_eviction: bool,
}

/// Reads `redis://..` or `rediss://..`.
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
    let (url, query) = url.split_once('?').unwrap_or((url, ""));
    let mut query = Query::parse(query, &["allow_eviction", "prefix", "protocol"])?;
    let prefix = query.take("prefix")?;
    let allow_eviction = match query.take("allow_eviction")?.as_deref() {
        None | Some("false") => false,
        Some("true") => true,
        Some(_) => return Err(StoreError::no_location("allow_eviction is true or false")),
    };
    // The driver's.
    let connection = format!("{url}?{}", query.rest())
        .into_connection_info()
        // The driver names what is wrong, and repeats nothing.
        .map_err(|error| StoreError::no_location("its URL can't be read").because(error))?;
    Ok(Box::new(Server {
        connection,
        prefix,
        allow_eviction,
    }))
}

#[async_trait]
impl Backend for Server {
    async fn open(&self, program: &Program) -> Result<Store, StoreError> {
        let unusable = || StoreError::unusable(format!("can't open the store {self}"));
        // The driver takes the process's default.
        drop(tls::cryptography());
        let client =
            Client::open(self.connection.clone()).map_err(|error| unusable().because(error))?;
        let builder = RedisProvider::builder()
            .client(client)
            .prefix(self.prefix.as_deref().unwrap_or("dlock"))
            .allow_eviction(self.allow_eviction);
        let built = if program.serves_many {
            builder.wakeups(Channels::Plain).build()
        } else {
            builder.build()
        };
        let provider = built.map_err(|error| unusable().because(error))?;
        Ok(Store {
            provider: Arc::new(provider),
            seen: None,
            diagnosis: Diagnosis {
                shown: self.to_string(),
                tables: None,
                if_silent: "is the server up, and can this machine reach it? try again later",
                is_refusal,
                set_up: program.set_up,
            },
        })
    }
}

fn is_refusal(error: &(dyn StdError + 'static)) -> bool {
    error
        .downcast_ref::<RedisError>()
        .is_some_and(|error| matches!(error.kind(), ErrorKind::Server(_) | ErrorKind::Extension))
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
        let shown = query::shown(&[("prefix", &self.prefix)]);
        write!(f, "/{}{shown}", settings.db())
    }
}

// Not the settings: they know the password.
impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({self})")
    }
}

fn bracketed(host: &str) -> String {
    if host.contains(':') {
        format!("[{}]", harmless(host))
    } else {
        harmless(host)
    }
}
