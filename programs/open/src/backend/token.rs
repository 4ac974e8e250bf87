//! The token for a `dlock-server`: where it comes from, and what to do when the server knows none.

use std::error::Error as _;

use dlock_core::ProviderError;
use dlock_http::Unauthenticated;

/// The environment variable that contains it.
pub(super) const TOKEN: &str = "DLOCK_SERVER_TOKEN";

/// The advice if the server does not know this client.
pub(crate) fn advice(error: &ProviderError) -> Option<String> {
    error
        .source()?
        .is::<Unauthenticated>()
        .then(|| format!("put a token that the server knows into {TOKEN}"))
}
