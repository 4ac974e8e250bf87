//! One line of the log for each change that takes something from other clients or cleans up: the sender, its address,
//! what it asked for, and the answer.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    extract::{ConnectInfo, Request},
    http::{Extensions, StatusCode, request::Parts},
};

use crate::origin::Origin;

/// How much of a body is logged, in bytes.
const MOST: usize = 300;

/// The known facts about a request while it is served. Clones belong to the same request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Audit(Arc<Mutex<Option<Change>>>);

#[derive(Debug)]
struct Change {
    what: String,
    asked: String,
}

impl Audit {
    /// Begins for a request that is about to be served.
    pub(crate) fn of(request: &mut Request) -> Self {
        let audit = Self::default();
        request.extensions_mut().insert(audit.clone());
        audit
    }

    /// The request is admitted to a change.
    pub(crate) fn begin(parts: &Parts) {
        let what = format!("{} {}", parts.method, parts.uri.path());
        let asked = String::new();
        if let Some(Self(change)) = parts.extensions.get() {
            *change.lock().unwrap_or_else(PoisonError::into_inner) = Some(Change { what, asked });
        }
    }

    /// The body of the request.
    pub(crate) fn asked(&self, body: &[u8]) {
        let mut change = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(change) = &mut *change {
            let start = body.get(..MOST).unwrap_or(body);
            change.asked = String::from_utf8_lossy(start).into_owned();
        }
    }

    /// The request was answered.
    pub(crate) fn log(self, sender: &Origin, from: Option<SocketAddr>, status: StatusCode) {
        let change = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Change { what, asked }) = change {
            let (who, status) = (sender.name(), status.as_u16());
            tracing::info!(who, ?from, what, asked, status, "a change");
        }
    }
}

/// The address that the request came from, if the server knows it.
pub(crate) fn address(extensions: &Extensions) -> Option<SocketAddr> {
    let ConnectInfo(address) = extensions.get::<ConnectInfo<SocketAddr>>()?;
    Some(*address)
}
