//! The addresses of the servers, and one request to one of them.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use dlock_core::ProviderError;
use reqwest::{
    Client, Method, RequestBuilder, Response, StatusCode, Url,
    header::{AUTHORIZATION, HeaderValue},
};
use serde::{Serialize, de::DeserializeOwned};

use super::answer::{Said, read};
use crate::is_namespace;

/// Servers before one store, and the identity of the client. Cheap to clone.
#[derive(Clone)]
pub struct Server {
    client: Client,
    /// At least one; each ends with a slash.
    addresses: Arc<[Url]>,
    /// The address in use. Clones move on together.
    current: Arc<AtomicUsize>,
    namespace: Arc<str>,
    authorization: Option<HeaderValue>,
}

/// Text that cannot be the address of a server, a namespace or a token. The error never repeats it: a token may have
/// been put in the wrong place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidServer {
    /// An address is not valid.
    #[error(
        "not the address of a server: https://HOST or http://HOST, without user, query and fragment"
    )]
    Address,
    /// There is no address.
    #[error("no server was named")]
    None,
    /// A namespace is not valid.
    #[error("not a namespace: 1 to 63 of a-z, 0-9 and -")]
    Namespace,
    /// A token is not valid.
    #[error("not a token: visible ASCII characters")]
    Token,
}

impl Server {
    /// Servers before one store: the first is used until it is gone, then the next. The namespace is `default`, and
    /// there is no token.
    ///
    /// The client brings the connections and TLS. It should have a `connect_timeout` of a second or two if there are
    /// several servers, since one that is gone may not even refuse. Over TLS all requests to a server share a
    /// connection (HTTP/2), which outlives requests without an answer: without `http2_keep_alive_interval` and
    /// `http2_keep_alive_timeout`, 2 s each, for example, a connection that dies silently is kept for half a minute,
    /// and for ever behind a proxy that still accepts requests. The client sends such a ping only after it has received
    /// nothing for the interval, so a stream of hints that never pauses for that long hides a connection that loses
    /// only requests.
    ///
    /// # Errors
    /// [`InvalidServer`] if an address is not valid, or none is given.
    pub fn new<'address>(
        client: Client,
        addresses: impl IntoIterator<Item = &'address str>,
    ) -> Result<Self, InvalidServer> {
        let addresses: Arc<[Url]> = addresses
            .into_iter()
            .map(address)
            .collect::<Result<_, _>>()?;
        if addresses.is_empty() {
            return Err(InvalidServer::None);
        }
        Ok(Self {
            client,
            addresses,
            current: Arc::default(),
            namespace: "default".into(),
            authorization: None,
        })
    }

    /// Sets the namespace.
    ///
    /// # Errors
    /// [`InvalidServer::Namespace`] unless it is 1 to 63 of `a-z`, `0-9` and `-`.
    pub fn namespace(self, namespace: &str) -> Result<Self, InvalidServer> {
        if !is_namespace(namespace) {
            return Err(InvalidServer::Namespace);
        }
        Ok(Self {
            namespace: namespace.into(),
            ..self
        })
    }

    /// Sets the token that the servers know. It is sent with every request: use `https`.
    ///
    /// # Errors
    /// [`InvalidServer::Token`] if a header cannot carry it.
    pub fn token(self, token: &str) -> Result<Self, InvalidServer> {
        let visible = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
        let mut value = HeaderValue::try_from(format!("Bearer {token}"))
            .ok()
            .filter(|_| visible)
            .ok_or(InvalidServer::Token)?;
        value.set_sensitive(true);
        Ok(Self {
            authorization: Some(value),
            ..self
        })
    }

    /// A path in the namespace.
    pub(crate) fn path(&self, rest: &str) -> String {
        format!("v1/{}/{rest}", self.namespace)
    }

    /// Sends a `POST`, and reads the answer.
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &(impl Serialize + Sync),
    ) -> Result<Said<T>, ProviderError> {
        let response = self.send(Method::POST, path, |request| request.json(body));
        read(response.await?).await
    }

    /// Sends a `PUT`, and reads the answer.
    pub(crate) async fn put<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &(impl Serialize + Sync),
    ) -> Result<Said<T>, ProviderError> {
        let response = self.send(Method::PUT, path, |request| request.json(body));
        read(response.await?).await
    }

    /// Sends a `GET`, and reads the answer.
    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &(impl Serialize + Sync),
    ) -> Result<Said<T>, ProviderError> {
        let response = self.send(Method::GET, path, |request| request.query(query));
        read(response.await?).await
    }

    /// Sends one request to the current server. If that cannot be reached or is about to stop, sends it to the others,
    /// each once: nothing was done by then. After a server that gives no answer, or whose answer is not waited for, the
    /// next request goes to the next one.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        fill: impl Fn(RequestBuilder) -> RequestBuilder + Send + Sync,
    ) -> Result<Response, ProviderError> {
        let mut refused = None;
        for _ in 0..self.addresses.len() {
            let turn = Turn::new(self);
            let url = turn.address().join(path).map_err(|error| {
                ProviderError::fatal("a request has no address").with_source(error)
            })?;
            let mut request = fill(self.client.request(method.clone(), url));
            if let Some(authorization) = &self.authorization {
                request = request.header(AUTHORIZATION, authorization.clone());
            }
            match request.send().await {
                Ok(response) if response.status() == StatusCode::SERVICE_UNAVAILABLE => {
                    // The next one may have room. If this is the last one, `read` reports its answer.
                    refused = Some(Ok(response));
                }
                Ok(response) => {
                    turn.keep();
                    return Ok(response);
                }
                // No byte of the request has left.
                Err(error) if error.is_connect() => {
                    let error = error.without_url();
                    refused = Some(Err(ProviderError::not_applied(
                        "the server cannot be reached",
                    )
                    .with_source(error)));
                }
                Err(error) if error.is_builder() => {
                    let error = error.without_url();
                    return Err(
                        ProviderError::fatal("the request cannot be sent").with_source(error)
                    );
                }
                Err(error) => {
                    let error = error.without_url();
                    return Err(
                        ProviderError::unknown("the server gave no answer").with_source(error)
                    );
                }
            }
        }
        // There is an address, so there was an attempt.
        refused.unwrap_or_else(|| Err(ProviderError::fatal("no server was named")))
    }
}

/// One attempt at the current server. Unless it is kept, the next attempt goes to the next server.
struct Turn<'server> {
    server: &'server Server,
    index: usize,
    keep: bool,
}

impl<'server> Turn<'server> {
    fn new(server: &'server Server) -> Self {
        Self {
            server,
            index: server.current.load(Ordering::Relaxed),
            keep: false,
        }
    }

    fn address(&self) -> &'server Url {
        let addresses = &self.server.addresses;
        &addresses[self.index % addresses.len()]
    }

    fn keep(mut self) {
        self.keep = true;
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if !self.keep {
            let next = self.index.wrapping_add(1);
            // Of all attempts that found the server gone, only one moves on.
            let _already_moved = self.server.current.compare_exchange(
                self.index,
                next,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
        }
    }
}

fn address(text: &str) -> Result<Url, InvalidServer> {
    let mut url: Url = text.parse().map_err(|_| InvalidServer::Address)?;
    let clean = url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() || !clean {
        return Err(InvalidServer::Address);
    }
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    Ok(url)
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let addresses: Vec<_> = self.addresses.iter().map(Url::as_str).collect();
        f.debug_struct("Server")
            .field("addresses", &addresses)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_has_no_secret() {
        for bad in [
            "",
            "locks",
            "ftp://h",
            "https://u@h",
            "https://u:p@h",
            "https://h?x",
            "https://h#x",
            "unix:/x",
        ] {
            assert_eq!(address(bad).unwrap_err(), InvalidServer::Address, "{bad}");
        }
        let under = address("https://h/locks").unwrap();
        assert_eq!(under.join("v1/a").unwrap().as_str(), "https://h/locks/v1/a");
    }

    #[test]
    fn token_is_shown_nowhere() {
        // Another crate of this build may have chosen rustls without a provider of cryptography for the client.
        rustls::crypto::ring::default_provider()
            .install_default()
            .ok();
        let server = Server::new(Client::new(), ["http://h"]).unwrap();
        let server = server.token("secret").unwrap();
        assert!(!format!("{server:?}").contains("secret"));
        for bad in ["", "a b", "a\n", "ä"] {
            assert_eq!(server.clone().token(bad).unwrap_err(), InvalidServer::Token);
        }
    }
}
