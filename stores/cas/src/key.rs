//! The key of a lock: `prefix/name`.

use dlock_core::{
    Name, ProviderError,
    provider::{InvalidPrefix, Prefix},
};

/// The keys for the names of one provider.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keys {
    prefix: Prefix,
}

impl Keys {
    pub(crate) fn new(prefix: &str) -> Result<Self, InvalidPrefix> {
        let prefix = Prefix::new(prefix)?;
        Ok(Self { prefix })
    }

    pub(crate) fn prefix(&self) -> &str {
        self.prefix.as_str()
    }

    /// The key of a lock.
    ///
    /// # Errors
    /// `Fatal` if prefix and name together are too long.
    pub(crate) fn key(&self, name: &Name) -> Result<String, ProviderError> {
        self.prefix.check(name)?;
        Ok(self.stored(name.as_str()))
    }

    /// The common start of the keys whose names start with `start`. A `/` or `%` of the prefix is escaped: the first
    /// `/` of a key ends its prefix, so no two pairs of prefix and name have one key.
    pub(crate) fn stored(&self, start: &str) -> String {
        let prefix = self.prefix().replace('%', "%25").replace('/', "%2F");
        format!("{prefix}/{start}")
    }

    /// The name of the lock with this key, if the key is one of this prefix.
    pub(crate) fn name(&self, key: &str) -> Option<Name> {
        Name::new(key.strip_prefix(&self.stored(""))?).ok()
    }
}
