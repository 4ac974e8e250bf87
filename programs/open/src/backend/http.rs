//! `https://HOST` and `http://HOST`: locks and tasks behind a `dlock-server`.

use std::{error::Error as StdError, ffi::OsStr, fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::{ErrorKind, ProviderError};
use dlock_http::{HttpProvider, HttpTasks, Server};
use reqwest::{ClientBuilder, Identity, Url};
use tokio::time::timeout;

use super::{
    Backend,
    handshake::Handshake,
    identity::Files,
    query::{self, Query},
    tls,
    token::TOKEN,
};
use crate::{
    Encryption, Program, Queue, Store, StoreError, diagnosis::Diagnosis, encryption::is_loopback,
    text::harmless,
};

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(5);
/// How long a connection with open requests may be silent before a ping, and how long the answer may take. Over TLS all
/// requests share one connection (HTTP/2), even after some got no answer.
const SILENT: Duration = Duration::from_secs(2);
/// How long the first answer may take, with its connection.
const FIRST_ANSWER: Duration = Duration::from_secs(10);

/// A server, and one of its namespaces.
struct Place {
    url: Url,
    namespace: Option<String>,
    certificate: Option<Files>,
}

/// Reads `https://HOST` or `http://HOST`, with a path if the server is behind one.
pub(crate) fn parse(argument: &OsStr) -> Result<Box<dyn Backend>, StoreError> {
    let text = argument
        .to_str()
        .ok_or_else(|| StoreError::no_location("a URL is UTF-8, and this is not"))?;
    let (text, query) = text.split_once('?').unwrap_or((text, ""));
    let mut query = Query::parse(query, &["namespace", "sslcert", "sslkey"])?;
    let namespace = query.take("namespace")?;
    let certificate = Files::take(&mut query)?;
    // The error does not repeat the flaw: it may be a token in the wrong place.
    let unreadable = || StoreError::no_location("a server of dlock is written https://HOST");
    let url: Url = text.parse().map_err(|_| unreadable())?;
    if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return Err(StoreError::no_location(&format!(
            "a server of dlock takes its token from {TOKEN}, and no user, password or fragment in its URL"
        )));
    }
    if certificate.is_some() && url.scheme() != "https" {
        return Err(StoreError::no_location(
            "a certificate is a part of TLS: use https",
        ));
    }
    let place = Place {
        url,
        namespace,
        certificate,
    };
    let client = reqwest::Client::builder();
    place.server(client, None).map_err(|_| unreadable())?;
    Ok(Box::new(place))
}

impl Place {
    fn server(&self, client: ClientBuilder, token: Option<&str>) -> Result<Server, StoreError> {
        // The client takes the process's default.
        drop(tls::cryptography());
        let unusable = || StoreError::unusable(format!("can't use the server {self}"));
        let client = client
            .connect_timeout(CONNECT)
            .http2_keep_alive_interval(SILENT)
            .http2_keep_alive_timeout(SILENT)
            // A token is sent only to the named server.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| unusable().because(error))?;
        let mut server =
            Server::new(client, [self.url.as_str()]).map_err(|error| unusable().because(error))?;
        if let Some(namespace) = &self.namespace {
            server = server
                .namespace(namespace)
                .map_err(|error| unusable().because(error))?;
        }
        if let Some(token) = token {
            server = server
                .token(token)
                .map_err(|error| unusable().because(error))?;
        }
        Ok(server)
    }

    /// The server, with the token of the environment and the client's certificate.
    fn with_credentials(&self) -> Result<Server, StoreError> {
        let token = std::env::var(TOKEN).ok().filter(|token| !token.is_empty());
        if token.is_some() && self.url.scheme() == "http" && !self.is_loopback() {
            return Err(StoreError::unusable(format!(
                "the token would be sent to {self} without encryption"
            ))
            .advise(format!("use https, or unset {TOKEN}")));
        }
        let mut client = reqwest::Client::builder();
        if let Some(files) = &self.certificate {
            client = client.identity(identity(files)?);
        }
        self.server(client, token.as_deref())
    }

    fn is_loopback(&self) -> bool {
        is_loopback(self.url.host_str().unwrap_or_default())
    }

    fn handshake(&self) -> Option<Handshake> {
        let host = self.url.host_str()?;
        let port = self.url.port_or_known_default()?;
        let is_over_tls = self.url.scheme() == "https";
        is_over_tls.then(|| Handshake {
            hosts: vec![format!("{host}:{port}")],
            certificate: self.certificate.clone(),
        })
    }

    fn diagnosis(&self, set_up: &'static str) -> Diagnosis {
        Diagnosis {
            shown: self.to_string(),
            tables: None,
            if_silent: "is the server up, and can this machine reach it? try again later",
            is_refusal,
            probe: self.handshake().map(|handshake| Arc::new(handshake) as _),
            set_up,
        }
    }

    /// The server's first answer, or why there is none.
    async fn first<T>(
        &self,
        diagnosis: &Diagnosis,
        asked: impl Future<Output = Result<T, ProviderError>> + Send,
    ) -> Result<T, StoreError> {
        let answer = timeout(FIRST_ANSWER, asked).await;
        let answer = answer.unwrap_or_else(|_elapsed| {
            Err(ProviderError::unknown(format!(
                "no answer within {FIRST_ANSWER:?}"
            )))
        });
        match answer {
            Ok(answer) => Ok(answer),
            Err(error) => Err(diagnosis.failure("can't ask the server", error).await),
        }
    }
}

/// In the form that the HTTP client takes.
fn identity(files: &Files) -> Result<Identity, StoreError> {
    let (mut pem, key) = files.read()?;
    pem.push(b'\n');
    pem.extend(key);
    Identity::from_pem(&pem).map_err(|error| files.useless().because(error))
}

#[async_trait]
impl Backend for Place {
    async fn open(&self, program: &Program) -> Result<Store, StoreError> {
        let diagnosis = self.diagnosis(program.set_up);
        let connected = HttpProvider::connect(self.with_credentials()?);
        let provider = self.first(&diagnosis, connected).await?;
        Ok(Store {
            provider: Arc::new(provider),
            seen: None,
            encryption: self.encryption(),
            diagnosis,
        })
    }

    async fn open_queue(&self, program: &Program, _make: bool) -> Result<Queue, StoreError> {
        let diagnosis = self.diagnosis(program.set_up_queue);
        let connected = HttpTasks::connect(self.with_credentials()?);
        let tasks = self.first(&diagnosis, connected).await?;
        Ok(Queue {
            tasks: Arc::new(tasks),
            diagnosis,
        })
    }

    fn encryption(&self) -> Option<Encryption> {
        let host = self.url.host_str().unwrap_or_default();
        let over_tls = self.url.scheme() == "https";
        Some(Encryption::of_host(over_tls, host, "use https://"))
    }

    fn has_queues(&self) -> bool {
        true
    }
}

/// A server's own error comes without an error of the connection. So does the end of a wait for its answer, but after
/// that the outcome is unknown.
fn is_refusal(error: &(dyn StdError + 'static)) -> bool {
    error
        .downcast_ref::<ProviderError>()
        .is_some_and(|error| error.kind() == ErrorKind::NotApplied && error.source().is_none())
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let namespace = query::shown(&[("namespace", &self.namespace)]);
        let url = self.url.as_str().trim_end_matches('/');
        write!(f, "{}{namespace}", harmless(url))
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place({self})")
    }
}
