//! `redis+sentinel://HOST,HOST,HOST/SERVICE` and, over TLS, `rediss+sentinel://..`: the primary that Sentinels know.

use std::fmt;

use async_trait::async_trait;
use redis::{
    ConnectionAddr, TlsMode,
    sentinel::{SentinelClient, SentinelClientBuilder, SentinelServerType},
};

use super::{Choices, Way, open};
use crate::{
    Encryption, Program, Store, StoreError,
    backend::{
        Backend,
        query::{self, Query, decoded},
        url::{MEMBERS, bracketed, members},
    },
    text::harmless,
};

/// The port on which a Sentinel listens.
const PORT: u16 = 26379;

/// The Sentinels, their name for the servers, and one of the servers' databases.
struct Sentinels {
    over_tls: bool,
    hosts: Vec<(String, u16)>,
    service: String,
    database: i64,
    /// For the servers.
    login: Login,
    /// For the Sentinels.
    sentinels: Login,
    choices: Choices,
}

/// A user and a password.
#[derive(Default)]
struct Login {
    user: Option<String>,
    password: Option<String>,
}

/// Reads what follows `redis+sentinel://` or, `over_tls`, `rediss+sentinel://`.
pub(super) fn parse(rest: &str, over_tls: bool) -> Result<Box<dyn Backend>, StoreError> {
    let wrong = StoreError::no_location;
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let known = [
        "allow_eviction",
        "prefix",
        "sentinel_password",
        "sentinel_user",
    ];
    let mut query = Query::parse(query, &known)?;
    let (login, rest) = rest.split_once('@').unwrap_or(("", rest));
    let (hosts, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (service, database) = path.split_once('/').unwrap_or((path, "0"));
    if service.is_empty() {
        return Err(wrong(
            "Sentinels are written redis+sentinel://HOST,HOST,HOST/SERVICE, with the name that they give to the servers",
        ));
    }
    Ok(Box::new(Sentinels {
        over_tls,
        hosts: members(hosts, PORT).ok_or_else(|| wrong(MEMBERS))?,
        service: decoded(service)?,
        database: database
            .parse()
            .map_err(|_| wrong("a database is a number"))?,
        login: Login::parse(login)?,
        sentinels: Login {
            user: query.take("sentinel_user")?,
            password: query.take("sentinel_password")?,
        },
        choices: Choices::take(&mut query)?,
    }))
}

impl Login {
    /// Reads `USER:PASSWORD`, of which either may be missing.
    fn parse(text: &str) -> Result<Self, StoreError> {
        let (user, password) = text.split_once(':').unwrap_or((text, ""));
        let given = |text: &str| Some(text).filter(|text| !text.is_empty()).map(decoded);
        Ok(Self {
            user: given(user).transpose()?,
            password: given(password).transpose()?,
        })
    }
}

impl Sentinels {
    fn client(&self) -> redis::RedisResult<SentinelClient> {
        let Self {
            over_tls,
            hosts,
            service,
            database,
            login,
            sentinels,
            choices: _,
        } = self;
        let addresses = hosts.iter().cloned().map(|(host, port)| {
            if *over_tls {
                ConnectionAddr::TcpTls {
                    host,
                    port,
                    insecure: false,
                    tls_params: None,
                }
            } else {
                ConnectionAddr::Tcp(host, port)
            }
        });
        let mut client =
            SentinelClientBuilder::new(addresses, service, SentinelServerType::Master)?
                .set_client_to_redis_db(*database);
        if *over_tls {
            client = client.set_client_to_redis_tls_mode(TlsMode::Secure);
        }
        if let Some(user) = &login.user {
            client = client.set_client_to_redis_username(user);
        }
        if let Some(password) = &login.password {
            client = client.set_client_to_redis_password(password);
        }
        if let Some(user) = &sentinels.user {
            client = client.set_client_to_sentinel_username(user);
        }
        if let Some(password) = &sentinels.password {
            client = client.set_client_to_sentinel_password(password);
        }
        client.build()
    }
}

#[async_trait]
impl Backend for Sentinels {
    async fn open(&self, program: &Program) -> Result<Store, StoreError> {
        open(
            self,
            self.client().map(Way::Sentinels),
            &self.choices,
            program,
        )
    }

    /// The Sentinels say where the servers are, also those of this machine.
    fn encryption(&self) -> Option<Encryption> {
        Some(if self.over_tls {
            Encryption::Checked
        } else {
            Encryption::None("use rediss+sentinel://")
        })
    }
}

impl fmt::Display for Sentinels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.over_tls {
            "rediss+sentinel://"
        } else {
            "redis+sentinel://"
        })?;
        if let Some(user) = &self.login.user {
            write!(f, "{}@", harmless(user))?;
        }
        let hosts = self.hosts.iter();
        let hosts: Vec<String> = hosts
            .map(|(host, port)| format!("{}:{port}", bracketed(host)))
            .collect();
        let shown = query::shown(&[("prefix", &self.choices.prefix)]);
        let (hosts, service) = (hosts.join(","), harmless(&self.service));
        write!(f, "{hosts}/{service}/{}{shown}", self.database)
    }
}

// Without the passwords.
impl fmt::Debug for Sentinels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sentinels({self})")
    }
}
