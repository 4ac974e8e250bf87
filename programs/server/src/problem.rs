//! Problems as responses, and the errors of a store as problems.

use std::error::Error as _;

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use dlock_core::{ErrorKind, ProviderError};
use dlock_http::{Code, Problem};

/// A problem that is about to be answered.
#[derive(Clone, Debug)]
pub(crate) struct Refusal(pub(crate) Box<Problem>);

impl Refusal {
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        Problem::new(code).detail(detail).into()
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self(Box::new(problem))
    }
}

impl From<Code> for Refusal {
    fn from(code: Code) -> Self {
        Problem::new(code).into()
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Self(problem) = self;
        // A problem is text and numbers, which can always be written.
        let body = serde_json::to_vec(&problem).unwrap_or_default();
        let status =
            StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, body).into_response();
        response.extensions_mut().insert(*problem.clone());
        let headers = response.headers_mut();
        let json = HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, json);
        match problem.code {
            Code::TooMany | Code::Overloaded | Code::Stopping => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            Code::Unauthenticated => {
                let scheme = HeaderValue::from_static("Bearer");
                headers.insert(header::WWW_AUTHENTICATE, scheme);
            }
            _ => {}
        }
        response
    }
}

/// A store's error as the client sees it. The store's own report goes to the log only.
pub(crate) fn of_store(error: &ProviderError) -> Problem {
    let code = match error.kind() {
        ErrorKind::NotApplied => Code::NotApplied,
        ErrorKind::Unknown => Code::Unknown,
        ErrorKind::Fatal => Code::Fatal,
    };
    let cause = error.source().map(ToString::to_string);
    tracing::warn!(?code, error = ?error.to_string(), ?cause, "the store has no answer");
    Problem::new(code)
}

/// A request that no store could carry out.
pub(crate) fn not_possible(error: &ProviderError) -> Refusal {
    Refusal::new(Code::BadRequest, error.to_string())
}
