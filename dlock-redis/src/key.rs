//! The key of a lock: `prefix:{name}`. A prefix contains no brace, so the first one ends it and
//! nothing can be confused; the braces make the name the cluster's hash tag, so that callers' own
//! data, tagged with the name, is in the same slot as the lock.

#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;

use dlock_core::{Name, ProviderError, provider::InvalidPrefix};

use crate::{error::BuildError, slots};

/// A checked prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prefix(dlock_core::provider::Prefix);

impl Prefix {
    pub(crate) fn new(prefix: &str) -> Result<Self, BuildError> {
        let reason = if prefix.is_empty() {
            "it is empty"
        } else if prefix.contains(['{', '}']) {
            "it contains a brace, which marks where the name begins"
        } else {
            return Ok(Self(dlock_core::provider::Prefix::new(prefix)?));
        };
        Err(InvalidPrefix::new(reason).into())
    }

    pub(crate) fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The key of a lock.
    ///
    /// # Errors
    /// `Fatal` if prefix and name together are too long.
    pub(crate) fn key(&self, name: &Name) -> Result<String, ProviderError> {
        self.0.check(name)?;
        Ok(format!("{}:{{{name}}}", self.0))
    }

    /// The lock of a key; `None` if the key belongs to another prefix or program.
    pub(crate) fn name(&self, key: &[u8]) -> Option<Name> {
        let name = str::from_utf8(key)
            .ok()?
            .strip_prefix(self.as_str())?
            .strip_prefix(":{")?
            .strip_suffix('}')?;
        Name::new(name).ok()
    }

    /// The pattern of the keys whose names start with `start`.
    pub(crate) fn pattern(&self, start: &str) -> String {
        let mut pattern = String::new();
        for character in format!("{}:{{{start}", self.0).chars() {
            if "*?[]\\".contains(character) {
                pattern.push('\\');
            }
            pattern.push(character);
        }
        pattern.push_str("*}");
        pattern
    }

    /// A key in one of these slots of a cluster: a command on it goes to their node.
    pub(crate) fn key_in(&self, slots: &RangeInclusive<u16>) -> String {
        format!("{}:{{{}}}", self.0, slots::tag_in(slots))
    }

    /// The channel that announces releases of this lock.
    pub(crate) fn lock_channel(&self, name: &Name) -> String {
        format!("{}:{{{name}}}", self.channel())
    }

    /// The channel that announces releases to all processes.
    pub(crate) fn channel(&self) -> String {
        format!("{}:released", self.0)
    }

    /// The channel of a shard, which lives in one of its slots.
    pub(crate) fn shard_channel(&self, shard: u16) -> String {
        format!("{}:released:{{{}}}", self.0, slots::tag_of_shard(shard))
    }
}
