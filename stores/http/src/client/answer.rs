//! The answer of a server, and what is known if it cannot be understood.

use dlock_core::ProviderError;
use reqwest::{Response, StatusCode, header::CONTENT_TYPE};
use serde::de::DeserializeOwned;

use crate::{Code, Problem};

/// A server's reply: an answer, or a problem that is an answer of the protocol.
pub(crate) type Said<T> = Result<T, Box<Problem>>;

/// The server knows neither a token nor a certificate of this client (401). It is the source of the error that a
/// request ends with, for programs that know where their token comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no token, and no certificate, that it knows came with the request")]
pub struct Unauthenticated;

/// The reply of the server.
pub(crate) async fn read<T: DeserializeOwned>(
    response: Response,
) -> Result<Said<T>, ProviderError> {
    let status = response.status();
    let is_problem = response
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|content| content.as_bytes().starts_with(b"application/problem+json"));
    let body = response.bytes().await.map_err(|error| {
        ProviderError::unknown("the answer broke off").with_source(error.without_url())
    })?;
    if status == StatusCode::OK {
        return serde_json::from_slice(&body).map(Ok).map_err(|error| {
            ProviderError::unknown("the answer cannot be read").with_source(error)
        });
    }
    match serde_json::from_slice(&body) {
        Ok(problem) if is_problem => refused(problem),
        _ => Err(foreign(status)),
    }
}

/// A problem is either an answer of the protocol, or the reason why there is no answer.
pub(crate) fn refused<T>(problem: Problem) -> Result<Said<T>, ProviderError> {
    let said = problem.detail.as_deref().unwrap_or(&problem.title);
    Err(match problem.code {
        Code::Held
        | Code::Spent
        | Code::Lost
        | Code::NotHeld
        | Code::Changed
        | Code::NotFound
        | Code::Forbidden => {
            return Ok(Err(Box::new(problem)));
        }
        Code::NotApplied | Code::Overloaded | Code::Stopping | Code::TooMany => {
            ProviderError::not_applied(format!("the server refused: {said}"))
        }
        Code::Unknown | Code::TooSlow | Code::Other => {
            ProviderError::unknown(format!("the server has no answer: {said}"))
        }
        Code::Unauthenticated => ProviderError::fatal("the server does not know this client")
            .with_source(Unauthenticated),
        Code::Ambiguous
        | Code::BadRequest
        | Code::MethodNotAllowed
        | Code::TooLarge
        | Code::NotJson
        | Code::Misdirected
        | Code::Fatal => ProviderError::fatal(format!("the server cannot do this: {said}")),
    })
}

/// An answer that is not from a dlock server, but from something in between, or something else.
fn foreign(status: StatusCode) -> ProviderError {
    if status.is_server_error() || status == StatusCode::REQUEST_TIMEOUT {
        // Perhaps from a proxy that had no answer.
        ProviderError::unknown(format!("something before the server answered {status}"))
    } else if status == StatusCode::TOO_MANY_REQUESTS {
        ProviderError::not_applied(format!("something before the server answered {status}"))
    } else {
        ProviderError::fatal(format!(
            "what answered {status} is no dlock server: check the address"
        ))
    }
}
