//! `etcd://HOST` and, over TLS, `etcds://HOST`: the members of an etcd, one or several.

use std::{error::Error as StdError, ffi::OsStr, fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use etcd_client::{Client, ConnectOptions, Error, Identity, TlsOptions};
use tonic::{Code, Status};

use super::{
    Backend,
    handshake::Handshake,
    identity::Files,
    query::{self, Query, decoded},
    state, tls,
    url::{MEMBERS, UNCLEAR, bracketed, has_clear_credentials, members},
};
use crate::{
    Encryption, ObservationFolder, Program, Store, StoreError,
    diagnosis::{Diagnosis, Probe},
    text::harmless,
};

/// The port on which etcd listens for clients.
const PORT: u16 = 2379;

/// How long a connection with a call may be silent before a ping, and how long the answer may take before the
/// connection counts as broken. etcd hangs up on clients that ping more often than every five seconds, or without a
/// call.
const ALIVE: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(2));

/// How long connecting may take, logging in included.
const PATIENCE: Duration = Duration::from_secs(10);

const IF_SILENT: &str =
    "are most of its members up, and can this machine reach them? try again later";

/// The members of an etcd, and the prefix of its locks.
struct Members {
    over_tls: bool,
    /// `HOST:PORT`.
    hosts: Vec<String>,
    user: Option<(String, String)>,
    certificate: Option<Files>,
    prefix: Option<String>,
}

/// Reads `etcd://..` or `etcds://..`.
pub(crate) fn parse(argument: &OsStr) -> Result<Box<dyn Backend>, StoreError> {
    let wrong = StoreError::no_location;
    let url = argument
        .to_str()
        .ok_or_else(|| wrong("a URL is UTF-8, and this is not"))?;
    let Some((scheme, rest)) = url.split_once("://") else {
        return Err(wrong("an etcd is written etcd://HOST or etcds://HOST"));
    };
    if !has_clear_credentials(url) {
        return Err(wrong(UNCLEAR));
    }
    if rest.contains('#') {
        return Err(wrong("nothing may follow a # in its URL"));
    }
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let mut query = Query::parse(query, &["prefix", "sslcert", "sslkey"])?;
    let (user, hosts) = match rest.split_once('@') {
        None => (None, rest),
        Some((user, hosts)) => {
            let (user, password) = user
                .split_once(':')
                .ok_or_else(|| wrong("a user has a password: USER:PASSWORD@HOST"))?;
            (Some((decoded(user)?, decoded(password)?)), hosts)
        }
    };
    let hosts = hosts.strip_suffix('/').unwrap_or(hosts);
    let hosts = members(hosts, PORT).ok_or_else(|| wrong(MEMBERS))?;
    let hosts = hosts.into_iter();
    let over_tls = scheme == "etcds";
    let certificate = Files::take_over_tls(&mut query, over_tls, "etcds://")?;
    Ok(Box::new(Members {
        over_tls,
        certificate,
        hosts: hosts
            .map(|(host, port)| format!("{}:{port}", bracketed(&host)))
            .collect(),
        user,
        prefix: query.take("prefix")?,
    }))
}

impl Members {
    fn unusable(&self) -> StoreError {
        StoreError::unusable(format!("can't open the store {self}"))
    }

    fn handshake(&self) -> Handshake {
        Handshake {
            hosts: self.hosts.clone(),
            certificate: self.certificate.clone(),
        }
    }

    async fn connect(&self) -> Result<Client, StoreError> {
        // The driver takes the process's default.
        drop(tls::cryptography());
        let (interval, timeout) = ALIVE;
        let mut options = ConnectOptions::new()
            .with_connect_timeout(PATIENCE)
            .with_keep_alive(interval, timeout)
            .with_keep_alive_while_idle(false);
        if self.over_tls {
            let mut tls = TlsOptions::new().with_native_roots();
            if let Some(files) = &self.certificate {
                let (certificate, key) = files.read()?;
                tls = tls.identity(Identity::from_pem(certificate, key));
            }
            options = options.with_tls(tls);
        }
        if let Some((user, password)) = &self.user {
            options = options.with_user(user, password);
        }
        let scheme = if self.over_tls { "https" } else { "http" };
        let hosts = self.hosts.iter();
        let hosts: Vec<String> = hosts.map(|host| format!("{scheme}://{host}")).collect();
        // With a user this requests a token from the server.
        match tokio::time::timeout(PATIENCE, Client::connect(hosts, Some(options))).await {
            Ok(Ok(client)) => Ok(client),
            Ok(Err(error)) => Err(self.refused(error).await),
            Err(_) => Err(StoreError::unreachable(format!(
                "the store {self} did not let this client in within {PATIENCE:?}"
            ))),
        }
    }

    /// Why there is no client.
    async fn refused(&self, error: Error) -> StoreError {
        let is_silent = match &error {
            Error::GRpcStatus(status) => status.code() == Code::Unavailable,
            Error::TransportError(_) => true,
            _ => false,
        };
        if !is_silent {
            return self.unusable().because(error);
        }
        let refusal = match self.over_tls {
            true => self.handshake().refusal().await,
            false => None,
        };
        match refusal {
            Some((refusal, advice)) => self.unusable().because(refusal).advise(advice),
            None => StoreError::unreachable(format!("the store {self} does not answer"))
                .because(error)
                .advise(IF_SILENT),
        }
    }
}

#[async_trait]
impl Backend for Members {
    async fn open(&self, program: &Program) -> Result<Store, StoreError> {
        let client = self.connect().await?;
        let prefix = self.prefix.as_deref().unwrap_or("dlock");
        let provider =
            dlock_etcd::provider(client, prefix).map_err(|error| self.unusable().because(error))?;
        let seen = state::directory()
            .map(|folder| ObservationFolder::new(folder.join("seen"), self.to_string()));
        Ok(Store {
            provider: Arc::new(provider),
            seen,
            encryption: self.encryption(),
            diagnosis: Diagnosis {
                shown: self.to_string(),
                tables: None,
                if_silent: IF_SILENT,
                is_refusal,
                probe: self.over_tls.then(|| Arc::new(self.handshake()) as _),
                set_up: program.set_up,
            },
        })
    }

    fn encryption(&self) -> Option<Encryption> {
        let hosts = self.hosts.iter().map(|host| {
            let name = host
                .rsplit_once(':')
                .map_or(host.as_str(), |(name, _)| name);
            Encryption::of_host(self.over_tls, name, "use etcds://")
        });
        // The member with the least protection.
        hosts.max_by_key(|encryption| matches!(encryption, Encryption::None(_)))
    }
}

/// The server's own errors have no cause here.
fn is_refusal(error: &(dyn StdError + 'static)) -> bool {
    error
        .downcast_ref::<Status>()
        .is_some_and(|status| status.source().is_none())
}

impl fmt::Display for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            over_tls,
            hosts,
            user,
            certificate: _,
            prefix,
        } = self;
        f.write_str(if *over_tls { "etcds://" } else { "etcd://" })?;
        if let Some((user, _)) = user {
            write!(f, "{}@", harmless(user))?;
        }
        f.write_str(&hosts.join(","))?;
        f.write_str(&query::shown(&[("prefix", prefix)]))
    }
}

// Without the password.
impl fmt::Debug for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Members({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::PROGRAM;

    /// With a user the server is called at opening, and otherwise at the first call.
    #[tokio::test]
    async fn members_that_are_down_may_come_back_before_the_login() {
        let etcd = parse("etcd://user:password@127.0.0.1:1".as_ref()).unwrap();
        let refused = etcd.open(&PROGRAM).await.unwrap_err();
        assert!(
            refused.is_temporary() && refused.advice() == Some(IF_SILENT),
            "{refused:?}"
        );
    }
}
