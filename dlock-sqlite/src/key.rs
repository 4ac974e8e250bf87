//! Which row a lock is. The prefix is a column of its own, so nothing is joined and nothing can be
//! confused.

use std::sync::Arc;

use dlock_core::{Name, ProviderError};

use crate::error::OpenError;

/// A checked prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Prefix(Arc<str>);

/// The key of one row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) prefix: Prefix,
    pub(crate) name: Name,
}

impl Prefix {
    pub(crate) fn new(prefix: &str) -> Result<Self, OpenError> {
        if prefix.contains('\0') {
            Err(OpenError::Prefix {
                reason: "it contains a NUL character",
            })
        } else if prefix.len() >= Name::MAX_BYTES {
            Err(OpenError::Prefix {
                reason: "it leaves no room for a name",
            })
        } else {
            Ok(Self(prefix.into()))
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The row of a lock.
    ///
    /// # Errors
    /// `Fatal` if prefix and name together are too long.
    pub(crate) fn key(&self, name: &Name) -> Result<Key, ProviderError> {
        let bytes = self.0.len() + name.as_str().len();
        if bytes > Name::MAX_BYTES {
            return Err(ProviderError::fatal(format!(
                "the name of the lock and the prefix have {bytes} bytes together: shorten one of them to at most {} in all",
                Name::MAX_BYTES
            )));
        }
        Ok(Key {
            prefix: self.clone(),
            name: name.clone(),
        })
    }
}

impl Key {
    pub(crate) fn prefix(&self) -> &str {
        self.prefix.as_str()
    }

    pub(crate) fn name(&self) -> &str {
        self.name.as_str()
    }
}
