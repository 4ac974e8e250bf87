//! Which key a lock is: `prefix:{name}`. A prefix holds no brace, so the first one ends it and
//! nothing can be confused; the braces make the name the cluster's hash tag, so that whoever tags
//! data of their own with the name finds it beside the lock.

use std::ops::RangeInclusive;

use dlock_core::{InvalidPrefix, Name, ProviderError};

use crate::{error::BuildError, slots};

/// A checked prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prefix(dlock_core::Prefix);

impl Prefix {
    pub(crate) fn new(prefix: &str) -> Result<Self, BuildError> {
        let reason = if prefix.is_empty() {
            "it is empty"
        } else if prefix.contains(['{', '}']) {
            "it contains a brace, which marks where the name begins"
        } else {
            return Ok(Self(dlock_core::Prefix::new(prefix)?));
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

    /// The lock that a key is; `None` if it is another's key.
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

    /// A key of one of these slots of a cluster: where it is asked about, their node answers.
    pub(crate) fn key_in(&self, slots: &RangeInclusive<u16>) -> String {
        format!("{}:{{{}}}", self.0, slots::tag_in(slots))
    }

    /// The channel on which a release is told to everybody.
    pub(crate) fn channel(&self) -> String {
        format!("{}:released", self.0)
    }

    /// The channel of a shard, which lives in one of its slots.
    pub(crate) fn shard_channel(&self, shard: u16) -> String {
        format!("{}:released:{{{}}}", self.0, slots::tag_of_shard(shard))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(text: &str) -> Prefix {
        Prefix::new(text).unwrap()
    }

    #[test]
    fn keys_are_names_and_back() {
        for text in ["n", "a}b", "}", "{x}", "a:{b}", "ü"] {
            let name = Name::new(text).unwrap();
            let key = prefix("p:q").key(&name).unwrap();
            assert_eq!(prefix("p:q").name(key.as_bytes()), Some(name));
            assert_eq!(prefix("p").name(key.as_bytes()), None);
        }
        for foreign in ["p:q:{}", "p:q:{n", "p:q:n", "P:q:{n}"] {
            assert_eq!(prefix("p:q").name(foreign.as_bytes()), None, "{foreign}");
        }
    }

    #[test]
    fn prefixes_that_could_be_confused_are_refused() {
        for bad in ["", "a{", "}", "a\0", &"x".repeat(1024)] {
            assert!(Prefix::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn channels_of_shards_live_in_their_slots_and_are_no_others() {
        let channels: Vec<String> = (0..slots::SHARDS)
            .map(|shard| prefix("p:released").shard_channel(shard))
            .collect();
        for (shard, channel) in (0..).zip(&channels) {
            assert_eq!(slots::shard(channel.as_bytes()), shard, "{channel}");
            assert!(!channels[..usize::from(shard)].contains(channel));
            assert_ne!(*channel, prefix("p").channel());
        }
    }
}
