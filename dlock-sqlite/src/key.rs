//! The row of a lock. The prefix has its own column, so nothing is joined and nothing can be
//! confused.

use dlock_core::{Name, ProviderError, provider::Prefix};

/// The key of one row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) prefix: Prefix,
    pub(crate) name: Name,
}

impl Key {
    /// The row of a lock.
    ///
    /// # Errors
    /// `Fatal` if prefix and name together are too long.
    pub(crate) fn new(prefix: &Prefix, name: &Name) -> Result<Self, ProviderError> {
        prefix.check(name)?;
        Ok(Self {
            prefix: prefix.clone(),
            name: name.clone(),
        })
    }

    pub(crate) fn prefix(&self) -> &str {
        self.prefix.as_str()
    }

    pub(crate) fn name(&self) -> &str {
        self.name.as_str()
    }
}
