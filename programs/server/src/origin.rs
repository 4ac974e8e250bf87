//! The sender of a request: how a program identifies itself, and what a browser says about the page that made it
//! send.

mod site;

use std::sync::Arc;

use axum::{
    extract::Request,
    http::{HeaderMap, header},
};

pub(crate) use self::site::{host, is_cross_site, is_link, is_same_origin};
use crate::{
    Right, Rights, cookie, names::Namespace, rights::Holder, service::Access, share::Client,
};

/// The verified names of the client's certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Peer {
    /// Subject alternative names.
    pub names: Vec<String>,
}

impl Peer {
    /// A client with these names.
    #[must_use]
    pub const fn new(names: Vec<String>) -> Self {
        Self { names }
    }
}

/// The sender of a request.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    /// The server has no rights configured, so every client has all.
    Anybody,
    Unknown,
    Known(Arc<Holder>),
    /// Known by the cookie of a log-in. A browser adds the cookie automatically, even to a request that a page
    /// of another site made it send.
    LoggedIn(Arc<Holder>),
}

impl Origin {
    pub(crate) fn may_administer(&self, namespace: &Namespace) -> bool {
        match self {
            Self::Anybody => true,
            Self::Unknown => false,
            Self::Known(holder) | Self::LoggedIn(holder) => {
                holder.may(&[Right::Admin], Some(namespace))
            }
        }
    }

    /// The client, if it may have only a part of the server.
    pub(crate) fn client(&self, access: &Access, share: u8) -> Option<Client> {
        let (Self::Known(holder) | Self::LoggedIn(holder)) = self else {
            return None;
        };
        let share = access.rights.as_ref()?.share(holder, share);
        (share < 100).then(|| Client::new(Arc::clone(&holder.usage), share.into()))
    }

    /// For the log.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Anybody => "anybody",
            Self::Unknown => "unknown",
            Self::Known(holder) | Self::LoggedIn(holder) => &holder.name,
        }
    }

    pub(crate) fn of(rights: Option<&Rights>, request: &Request) -> Self {
        let Some(rights) = rights else {
            return Self::Anybody;
        };
        let headers = request.headers();
        if let Some(token) = bearer(headers) {
            let known = rights.of_token(token).cloned();
            return known.map_or(Self::Unknown, Self::Known);
        }
        let by_cookie = cookie::token(headers).and_then(|token| rights.of_token(&token).cloned());
        let by_certificate = || of_certificate(rights, request).map(Self::Known);
        let known = by_cookie.map(Self::LoggedIn).or_else(by_certificate);
        known.unwrap_or(Self::Unknown)
    }
}

fn of_certificate(rights: &Rights, request: &Request) -> Option<Arc<Holder>> {
    let Peer { names } = request.extensions().get()?;
    rights.of_certificate(names).cloned()
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| token.trim_matches(' '))
}
