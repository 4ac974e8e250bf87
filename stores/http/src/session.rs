//! Log-ins of browsers: `/v1/session`. Programs send their token with each request instead.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// `POST /v1/session`: logs a browser in. The answer sets a cookie that lasts as long as the browser runs.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct LogIn {
    /// The token that a program would send as `Authorization: Bearer`.
    pub token: String,
}

/// Answer to `GET /v1/session`: the identity of the sender, as the server sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Session {
    /// The sender's name in the server's file of tokens. Absent: the server does not know the sender, or identifies
    /// no sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The sender is known by a cookie, which `DELETE /v1/session` takes away.
    pub logged_in: bool,
    /// The sender's rights in each namespace; `*` stands for all of them.
    pub rights: BTreeMap<String, BTreeSet<String>>,
}

impl std::fmt::Debug for LogIn {
    /// The token is never printed.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogIn").finish_non_exhaustive()
    }
}
