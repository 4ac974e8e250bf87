//! The answer instead of a success: RFC 9457, with a code that a program can act on.

use dlock_tasks::State;
use serde::{Deserialize, Serialize};

use crate::record::Record;

/// Why a request was refused or has no answer. `application/problem+json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Problem {
    /// The status of the response.
    pub status: u16,
    /// The event, in a few words that are the same each time.
    pub title: String,
    /// For programs.
    pub code: Code,
    /// The event this time, and what to do, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The part of the body that is wrong, as a JSON pointer (RFC 6901).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// The record that refused the request, if the store showed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<Record>,
    /// The current state of the task of the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

/// The cause, for a program to act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// 409: another client has the lease. Nothing was written.
    Held,
    /// 409: this uuid has had the lease, and lost or released it. Draw another one and try at once.
    Spent,
    /// 409: the lease or the claim has ended. Stop what it protects.
    Lost,
    /// 409: the lease is not of this uuid.
    NotHeld,
    /// 409: the record is not as it was read.
    Changed,
    /// 409: more than one claim may be meant. Say which.
    Ambiguous,
    /// 404: no object has this name or number.
    NotFound,
    /// 400: the request cannot be read, or wants something impossible.
    BadRequest,
    /// 401: no token, or one that the server does not know.
    Unauthenticated,
    /// 403: the token has no right to this, or none in this namespace.
    Forbidden,
    /// 405: the path has other methods.
    MethodNotAllowed,
    /// 408: the body took too long.
    TooSlow,
    /// 413: the body is too large.
    TooLarge,
    /// 415: the body is not JSON.
    NotJson,
    /// 421: the server is not known under this host name.
    Misdirected,
    /// 429: too many requests of this token.
    TooMany,
    /// 503: the server has no room for it at the moment. Nothing was done.
    Overloaded,
    /// 503: the server is about to stop. Nothing was done; use another one.
    Stopping,
    /// 503: certainly nothing was done, the store refused or could not be reached.
    NotApplied,
    /// 504: it may have been done. Repeat it with the same uuid and number.
    Unknown,
    /// 500: a repeat cannot help. The server's log says why.
    Fatal,
    /// A code of a later version.
    #[serde(other)]
    Other,
}

impl Code {
    /// The status of a response with this code.
    #[must_use]
    pub const fn status(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::Unauthenticated => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::TooSlow => 408,
            Self::Held
            | Self::Spent
            | Self::Lost
            | Self::NotHeld
            | Self::Changed
            | Self::Ambiguous => 409,
            Self::TooLarge => 413,
            Self::NotJson => 415,
            Self::Misdirected => 421,
            Self::TooMany => 429,
            Self::Fatal | Self::Other => 500,
            Self::Overloaded | Self::Stopping | Self::NotApplied => 503,
            Self::Unknown => 504,
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Held => "another client has the lease",
            Self::Spent => "this uuid has had its lease",
            Self::Lost => "the lease has ended",
            Self::NotHeld => "the lease is not of this uuid",
            Self::Changed => "the record has changed",
            Self::Ambiguous => "more than one may be meant",
            Self::NotFound => "there is no such thing",
            Self::BadRequest => "the request is not possible",
            Self::Unauthenticated => "a known token is needed",
            Self::Forbidden => "this is not allowed",
            Self::MethodNotAllowed => "the path has no such method",
            Self::TooSlow => "the body took too long",
            Self::TooLarge => "the body is too large",
            Self::NotJson => "the body is not JSON",
            Self::Misdirected => "this server has another name",
            Self::TooMany => "too many requests",
            Self::Overloaded => "the server is busy",
            Self::Stopping => "the server is about to stop",
            Self::NotApplied => "the store refused or could not be reached, and nothing was done",
            Self::Unknown => "whether it was done is not known",
            Self::Fatal | Self::Other => "the server cannot do this",
        }
    }
}

impl Problem {
    /// A problem without details.
    #[must_use]
    pub fn new(code: Code) -> Self {
        Self {
            status: code.status(),
            title: code.title().to_owned(),
            code,
            detail: None,
            pointer: None,
            record: None,
            state: None,
        }
    }

    /// Says what happened this time.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Points at the part of the body that is wrong.
    #[must_use]
    pub fn pointer(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = Some(pointer.into());
        self
    }

    /// Shows the record that decided.
    #[must_use]
    pub fn record(mut self, record: Option<Record>) -> Self {
        self.record = record;
        self
    }

    /// Shows the current state of the task.
    #[must_use]
    pub fn state(mut self, state: Option<State>) -> Self {
        self.state = state.map(|state| state.to_string());
        self
    }
}
