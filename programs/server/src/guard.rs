//! The sender of a request, and whether it may do this. A handler gets its namespace and its access to the store only
//! from here, so none can forget this check, nor which calls matter most.

use std::{fmt, marker::PhantomData};

use axum::{
    body::{Body, HttpBody as _},
    extract::{FromRequestParts, RawPathParams, Request, State},
    http::{HeaderValue, StatusCode, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use dlock_http::Code;
use tokio_util::sync::CancellationToken;

use crate::{
    Right, Service,
    asking::Asking,
    audit::{Audit, address},
    listen::Connection,
    memory::{Counted, OfRequest, SMALL},
    names::Namespace,
    origin::{Origin, host, is_cross_site, is_link, is_same_origin},
    problem::Refusal,
    service::Access,
    share::{Client, Kind},
    store_calls::Class,
};

/// The right that a request needs.
pub(crate) trait Need: Send + 'static {
    /// One of these is enough.
    const RIGHTS: &'static [Right];
    /// The class of these requests' calls: those that keep or end what a client has come before all others, and have no
    /// rate limit.
    const CLASS: Class;
}

macro_rules! needs {
    ($($(#[$doc:meta])* $name:ident: $($right:ident),+; $class:ident)+) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) enum $name {}

        impl Need for $name {
            const RIGHTS: &'static [Right] = &[$(Right::$right),+];
            const CLASS: Class = Class::$class;
        }
    )+};
}

needs! {
    /// Lists.
    ToRead: Read; List
    /// One lease, or hints about leases.
    ToLook: Read, Hold; List
    /// A lease.
    ToHold: Hold; Acquire
    /// Keeping a lease, and giving it back.
    ToKeep: Hold; Hold
    /// Taking something away from other clients.
    ToAdmin: Admin; Acquire
    /// The server's metrics.
    ToMeasure: Metrics; List
    /// New tasks.
    ToEnqueue: Enqueue; Enqueue
    /// Claims, and looks at them.
    ToClaim: Work; Claim
    /// Keeping a claim, and ending it.
    ToWork: Work; Hold
    /// Hints about tasks.
    ToHear: Read, Work; List
}

/// A sender that may do this in this namespace.
pub(crate) struct Allowed<N> {
    pub(crate) service: Asking,
    pub(crate) namespace: Namespace,
    /// Cancelled when the sender has to be identified again, and when the server stops.
    pub(crate) ended: CancellationToken,
    need: PhantomData<N>,
}

/// A sender that may do this in the namespace `default`, through the [interface of the sample](crate::api).
pub(crate) struct InApi<N> {
    pub(crate) service: Asking,
    pub(crate) namespace: Namespace,
    need: PhantomData<N>,
}

/// A sender that may do this in all namespaces.
pub(crate) struct AllowedEverywhere<N> {
    pub(crate) service: Asking,
    need: PhantomData<N>,
}

/// Before everything else: whether the request is meant for this server, and who sent it.
pub(crate) async fn check(
    State(service): State<Service>,
    mut request: Request,
    next: Next,
) -> Response {
    if request
        .headers()
        .get_all(header::HOST)
        .iter()
        .nth(1)
        .is_some()
    {
        return Refusal::new(Code::BadRequest, "a request names one host").into_response();
    }
    let host = host(request.headers(), request.uri());
    let hosts = &service.0.limits.hosts;
    // A page in a user's browser whose name was made to resolve to this server (DNS rebinding) still sends that name.
    if !hosts.is_empty() && !hosts.iter().any(|known| host.as_ref() == Some(known)) {
        return Refusal::from(Code::Misdirected).into_response();
    }
    // It can read nothing of the answer, but a stream that it opens takes a place and reads the store.
    let is_link = is_link(request.method(), request.headers());
    if !is_link && is_cross_site(request.headers(), request.uri()) {
        return Refusal::new(Code::Forbidden, "a page of another site cannot do this")
            .into_response();
    }
    let audit = Audit::of(&mut request);
    let from = address(request.extensions());
    let access = service.access();
    let sender = Origin::of(access.rights.as_deref(), &request);
    if matches!(sender, Origin::LoggedIn(_))
        && !request.method().is_safe()
        && !is_same_origin(request.headers(), request.uri())
    {
        return Refusal::new(Code::Forbidden, "only the page of this server can do this")
            .into_response();
    }
    if !matches!(sender, Origin::Unknown)
        && let Some(connection) = request.extensions().get::<Connection>()
    {
        connection.recognise();
    }
    request.extensions_mut().insert(sender.clone());
    let client = sender.client(&access, service.0.limits.share);
    request.extensions_mut().insert(access);
    let kept = OfRequest::default();
    request.extensions_mut().insert(kept.clone());
    let mut response = next.run(request).await;
    if kept.is_admitted() {
        response = counted(response, &service, client.as_ref());
    }
    drop(kept);
    if response.status() == StatusCode::UNAUTHORIZED && service.is_logged(false) {
        tracing::warn!(
            ?from,
            "refused: no token, and no certificate, that this server knows"
        );
    }
    audit.log(&sender, from, response.status());
    let headers = response.headers_mut();
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    response
}

/// An answer that occupies its bytes of the server's memory until it is sent. A stream occupies none.
fn counted(response: Response, service: &Service, client: Option<&Client>) -> Response {
    let size = response.body().size_hint().exact().unwrap_or_default();
    match usize::try_from(size) {
        Ok(bytes) if bytes > SMALL => {
            let taken = service.0.memory.add(bytes);
            let part = client.map(|client| client.add(Kind::Memory, bytes));
            response.map(|body| Body::new(Counted::new(body, (taken, part))))
        }
        _ => response,
    }
}

/// Whether the sender may do this here, or everywhere if no namespace is given.
fn admit<N: Need>(
    parts: &mut Parts,
    service: &Service,
    namespace: Option<&Namespace>,
) -> Result<Asking, Refusal> {
    let sender = parts.extensions.get::<Origin>().cloned();
    let sender = sender.unwrap_or(Origin::Unknown);
    let holder = match &sender {
        Origin::Anybody => None,
        Origin::Known(holder) | Origin::LoggedIn(holder) => Some(holder),
        Origin::Unknown => {
            return Err(Refusal::new(
                Code::Unauthenticated,
                "send a token that this server knows: Authorization: Bearer TOKEN",
            ));
        }
    };
    if N::RIGHTS.contains(&Right::Admin) {
        Audit::begin(parts);
    }
    let access = parts.extensions.get::<Access>();
    let share = service.0.limits.share;
    let client = access.and_then(|access| sender.client(access, share));
    let asking = Asking::new(service.clone(), N::CLASS).on_behalf_of(client);
    // From here on its body may be large, and so may its answer.
    if let Some(kept) = parts.extensions.get::<OfRequest>() {
        kept.admit();
    }
    parts.extensions.insert(asking.clone());
    let Some(holder) = holder else {
        return Ok(asking);
    };
    if !holder.may(N::RIGHTS, namespace) {
        if service.is_logged(true) {
            tracing::info!(who = ?holder.name, ?namespace, rights = ?N::RIGHTS, "refused: no such right");
        }
        return Err(Code::Forbidden.into());
    }
    if N::CLASS != Class::Hold {
        holder.pace(service.0.limits.rate).map_err(|rate| {
            let detail = format!("this client may send {rate} requests in a second");
            Refusal::new(Code::TooMany, detail)
        })?;
    }
    Ok(asking)
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
        let service = admit::<N>(parts, service, Some(&namespace))?;
        let access = parts.extensions.get::<Access>();
        let access = access.ok_or_else(|| Refusal::from(Code::Unauthenticated))?;
        Ok(Self {
            service,
            namespace,
            ended: access.ended.clone(),
            need: PhantomData,
        })
    }
}

/// Whether the [interface of the sample](crate::api) is served.
pub(crate) fn is_served(service: &Service) -> Result<(), Refusal> {
    let detail = "this server does not serve /api: it is started with --api for that";
    let api = service.0.api.get();
    api.copied()
        .ok_or_else(|| Refusal::new(Code::NotFound, detail))
}

impl<N: Need> FromRequestParts<Service> for InApi<N> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, service: &Service) -> Result<Self, Refusal> {
        is_served(service)?;
        let namespace = Namespace::default();
        let service = admit::<N>(parts, service, Some(&namespace))?;
        Ok(Self {
            service,
            namespace,
            need: PhantomData,
        })
    }
}

impl<N: Need> FromRequestParts<Service> for AllowedEverywhere<N> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, service: &Service) -> Result<Self, Refusal> {
        let service = admit::<N>(parts, service, None)?;
        Ok(Self {
            service,
            need: PhantomData,
        })
    }
}

impl<N> fmt::Debug for Allowed<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Allowed").field(&self.namespace).finish()
    }
}
