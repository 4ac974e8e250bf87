//! Which row a lock is. The prefix is a column of its own, so nothing is joined and nothing can be
//! confused.

use std::sync::Arc;

use dlock_core::{Name, ProviderError};

use crate::error::BuildError;

/// A checked prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Prefix(Arc<str>);

impl Prefix {
    pub(crate) fn new(prefix: &str) -> Result<Self, BuildError> {
        let reason = if prefix.contains('\0') {
            "it contains a NUL character"
        } else if prefix.len() >= Name::MAX_BYTES {
            "it leaves no room for a name"
        } else {
            return Ok(Self(prefix.into()));
        };
        Err(BuildError::Prefix { reason })
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this name can be kept beside the prefix.
    ///
    /// # Errors
    /// `Fatal` if they are too long together: cut short it would be somebody else's lock.
    pub(crate) fn check(&self, name: &Name) -> Result<(), ProviderError> {
        let bytes = self.0.len() + name.as_str().len();
        if bytes <= Name::MAX_BYTES {
            return Ok(());
        }
        Err(ProviderError::fatal(format!(
            "the name of the lock and the prefix have {bytes} bytes together: shorten one of them to at most {} in all",
            Name::MAX_BYTES
        )))
    }
}
