//! Who asks, and whether they may. A handler learns its namespace only from here, so none can forget to ask.

use std::{fmt, marker::PhantomData, sync::Arc};

use axum::{
    extract::{FromRequestParts, RawPathParams, Request, State},
    http::{HeaderMap, HeaderValue, Uri, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use dlock_http::Code;

use crate::{Right, Service, names::Namespace, problem::Refusal, rights::Holder};

/// The names that the client's certificate was checked to have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Peer {
    /// Subject alternative names.
    pub names: Vec<String>,
}

impl Peer {
    /// Somebody with these names.
    #[must_use]
    pub const fn new(names: Vec<String>) -> Self {
        Self { names }
    }
}

/// What one has to have a right to.
pub(crate) trait Need: Send + 'static {
    /// One of these is enough.
    const RIGHTS: &'static [Right];
    /// Whether these requests have a rate limit: not those that keep or end what a client has.
    const PACED: bool = true;
}

macro_rules! needs {
    ($($(#[$doc:meta])* $name:ident: $($right:ident),+; $paced:literal)+) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) enum $name {}

        impl Need for $name {
            const RIGHTS: &'static [Right] = &[$(Right::$right),+];
            const PACED: bool = $paced;
        }
    )+};
}

needs! {
    /// Lists.
    ToRead: Read; true
    /// One lease, or hints of them.
    ToLook: Read, Hold; true
    /// A lease.
    ToHold: Hold; true
    /// Keeping a lease, and giving it back.
    ToKeep: Hold; false
    /// What takes something away from others.
    ToAdmin: Admin; true
    /// The server's metrics.
    ToMeasure: Metrics; true
    /// New tasks.
    ToEnqueue: Enqueue; true
    /// Claims, and looks at them.
    ToClaim: Work; true
    /// Keeping a claim, and ending it.
    ToWork: Work; false
    /// Hints of tasks.
    ToHear: Read, Work; true
}

/// Somebody who may do this in this namespace.
pub(crate) struct Allowed<N> {
    pub(crate) namespace: Namespace,
    need: PhantomData<N>,
}

/// Somebody who may do this in the namespace `default`, by the [interface of the sample](crate::api).
pub(crate) struct InApi<N> {
    pub(crate) namespace: Namespace,
    need: PhantomData<N>,
}

/// Somebody who may do this in all namespaces.
pub(crate) struct AllowedEverywhere<N>(PhantomData<N>);

/// Who sent a request. `Anybody`: the server has no rights, so everybody has all.
#[derive(Clone, Debug)]
enum Sender {
    Anybody,
    Unknown,
    Known(Arc<Holder>),
}

/// Before everything else: whether the request is meant for this server, and who has sent it.
pub(crate) async fn check(
    State(service): State<Service>,
    mut request: Request,
    next: Next,
) -> Response {
    let host = host(request.headers(), request.uri());
    let hosts = &service.0.limits.hosts;
    // A page of somebody's browser whose name was made to lead here (DNS rebinding) still says that name.
    if !hosts.is_empty() && !hosts.iter().any(|known| host.as_ref() == Some(known)) {
        return Refusal::from(Code::Misdirected).into_response();
    }
    if !request.method().is_safe() && is_cross_site(request.headers(), host.as_deref()) {
        return Refusal::new(Code::Forbidden, "a page of another site cannot do this")
            .into_response();
    }
    let sender = sender(&service, &request);
    request.extensions_mut().insert(sender);
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    response
}

/// The host that the client means, without its port.
fn host(headers: &HeaderMap, uri: &Uri) -> Option<String> {
    let authority = uri.authority().map(ToString::to_string).or_else(|| {
        let host = headers.get(header::HOST)?.to_str().ok()?;
        Some(host.to_owned())
    })?;
    let (host, port) = authority.rsplit_once(':').unwrap_or((&authority, ""));
    let has_port = port.bytes().all(|letter| letter.is_ascii_digit());
    let host = if has_port { host } else { &authority };
    Some(host.to_ascii_lowercase())
}

/// Whether a browser sends this for a page that is not of this server.
fn is_cross_site(headers: &HeaderMap, host: Option<&str>) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(site) = text("sec-fetch-site") {
        return !matches!(site, "same-origin" | "none");
    }
    let Some(origin) = headers.get(header::ORIGIN) else {
        return false;
    };
    let origin = origin.to_str().ok().and_then(|origin| origin.parse().ok());
    origin.is_none_or(|origin: Uri| self::host(&HeaderMap::new(), &origin).as_deref() != host)
}

fn sender(service: &Service, request: &Request) -> Sender {
    let rights = service.rights();
    let Some(rights) = rights else {
        return Sender::Anybody;
    };
    let known = match bearer(request.headers()) {
        Some(token) => rights.of_token(token),
        None => request
            .extensions()
            .get::<Peer>()
            .and_then(|Peer { names }| rights.of_certificate(names)),
    };
    known.map_or(Sender::Unknown, |holder| Sender::Known(Arc::clone(holder)))
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| token.trim_matches(' '))
}

/// Whether the sender may do this here, or everywhere if no namespace is given.
fn admit<N: Need>(
    parts: &Parts,
    service: &Service,
    namespace: Option<&Namespace>,
) -> Result<(), Refusal> {
    let holder = match parts.extensions.get::<Sender>() {
        Some(Sender::Anybody) => return Ok(()),
        Some(Sender::Known(holder)) => holder,
        Some(Sender::Unknown) | None => {
            return Err(Refusal::new(
                Code::Unauthenticated,
                "send a token that this server knows: Authorization: Bearer TOKEN",
            ));
        }
    };
    if !holder.may(N::RIGHTS, namespace) {
        tracing::info!(who = ?holder.name, ?namespace, rights = ?N::RIGHTS, "refused: no such right");
        return Err(Code::Forbidden.into());
    }
    match service.0.limits.rate {
        Some(rate) if N::PACED && !holder.within(rate) => Err(Refusal::new(
            Code::TooMany,
            format!("at most {rate} requests in a second"),
        )),
        _ => Ok(()),
    }
}

impl<N: Need> FromRequestParts<Service> for Allowed<N> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, service: &Service) -> Result<Self, Refusal> {
        let parameters = RawPathParams::from_request_parts(parts, service).await;
        let parameters = parameters.map_err(|_| Refusal::from(Code::BadRequest))?;
        let named = parameters.iter().find(|(name, _)| *name == "namespace");
        let Some(namespace) = named.and_then(|(_, text)| Namespace::new(text)) else {
            return Err(Refusal::new(
                Code::BadRequest,
                "a namespace has 1 to 63 of a-z, 0-9 and -",
            ));
        };
        admit::<N>(parts, service, Some(&namespace))?;
        Ok(Self {
            namespace,
            need: PhantomData,
        })
    }
}

impl<N: Need> FromRequestParts<Service> for InApi<N> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, service: &Service) -> Result<Self, Refusal> {
        if service.0.api.get().is_none() {
            let detail = "this server does not serve /api: it is started with --api for that";
            return Err(Refusal::new(Code::NotFound, detail));
        }
        let namespace = Namespace::default();
        admit::<N>(parts, service, Some(&namespace))?;
        Ok(Self {
            namespace,
            need: PhantomData,
        })
    }
}

impl<N: Need> FromRequestParts<Service> for AllowedEverywhere<N> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, service: &Service) -> Result<Self, Refusal> {
        admit::<N>(parts, service, None)?;
        Ok(Self(PhantomData))
    }
}

impl<N> fmt::Debug for Allowed<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Allowed").field(&self.namespace).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
        pairs.collect()
    }

    #[test]
    fn host_is_told_without_its_port() {
        let of = |name: &'static str| host(&headers(&[("host", name)]), &Uri::from_static("/"));
        assert_eq!(of("Example.com:80").as_deref(), Some("example.com"));
        assert_eq!(of("example.com").as_deref(), Some("example.com"));
        assert_eq!(of("[::1]:7420").as_deref(), Some("[::1]"));
        assert_eq!(of("[::1]").as_deref(), Some("[::1]"));
        let absolute = Uri::from_static("http://a.example:1/x");
        assert_eq!(
            host(&HeaderMap::new(), &absolute).as_deref(),
            Some("a.example")
        );
    }

    #[test]
    fn only_pages_of_this_server_and_programs_are_of_this_site() {
        for (foreign, pairs) in [
            (false, &[][..]),
            (false, &[("sec-fetch-site", "same-origin")]),
            (false, &[("sec-fetch-site", "none")]),
            (true, &[("sec-fetch-site", "cross-site")]),
            (true, &[("sec-fetch-site", "same-site")]),
            (false, &[("origin", "http://a.example:7420")]),
            (true, &[("origin", "http://b.example")]),
            (true, &[("origin", "null")]),
        ] {
            assert_eq!(
                is_cross_site(&headers(pairs), Some("a.example")),
                foreign,
                "{pairs:?}"
            );
        }
    }
}
