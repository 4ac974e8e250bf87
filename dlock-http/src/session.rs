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

/// Answer to `GET /v1/session`: whom the server takes the sender for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Session {
    /// Who it is, as the server's file of tokens calls them. Absent: nobody that the server knows, or the server asks
    /// nobody who they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A cookie says who it is, which `DELETE /v1/session` takes away.
    pub logged_in: bool,
    /// Of each namespace, what the sender may do there; `*` stands for all of them.
    pub rights: BTreeMap<String, BTreeSet<String>>,
}

impl std::fmt::Debug for LogIn {
    /// The token is for nobody's eyes.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogIn").finish_non_exhaustive()
    }
}
