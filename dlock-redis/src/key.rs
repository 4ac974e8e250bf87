//! Which key a lock is: `prefix:{name}`. A prefix holds no brace, so the first one ends it and
//! nothing can be confused; the braces make the name the cluster's hash tag, so that whoever tags
//! data of their own with the name finds it beside the lock.

use std::{ops::RangeInclusive, sync::Arc};

use dlock_core::{Name, ProviderError};

use crate::error::BuildError;

/// A checked prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prefix(Arc<str>);

impl Prefix {
    pub(crate) fn new(prefix: &str) -> Result<Self, BuildError> {
        let reason = if prefix.is_empty() {
            "it is empty"
        } else if prefix.contains('\0') {
            "it contains a NUL character"
        } else if prefix.contains(['{', '}']) {
            "it contains a brace, which marks where the name begins"
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

    /// The key of a lock.
    ///
    /// # Errors
    /// `Fatal` if prefix and name together are too long.
    pub(crate) fn key(&self, name: &Name) -> Result<String, ProviderError> {
        let bytes = self.0.len() + name.as_str().len();
        if bytes > Name::MAX_BYTES {
            return Err(ProviderError::fatal(format!(
                "the name of the lock and the prefix have {bytes} bytes together: shorten one of them to at most {} in all",
                Name::MAX_BYTES
            )));
        }
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
        let tag = (0u32..)
            .map(|number| number.to_string())
            .find(|tag| slots.contains(&slot(tag.as_bytes())))
            .unwrap_or_default();
        format!("{}:{{{tag}}}", self.0)
    }
}

/// The slot of a hash tag: CRC-16/XMODEM modulo 16384, as the specification of Redis Cluster has it.
fn slot(tag: &[u8]) -> u16 {
    let crc = tag.iter().fold(0u16, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte) << 8, |crc, _| {
            crc << 1 ^ if crc & 0x8000 == 0 { 0 } else { 0x1021 }
        })
    });
    crc % 16384
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
    fn slots_are_those_of_the_specification() {
        assert_eq!(slot(b"123456789"), 0x31c3);
        // What `CLUSTER KEYSLOT` answers.
        assert_eq!(slot(b"foo"), 12182);
        assert_eq!(slot(b""), 0);
        let key = prefix("p").key_in(&(16383..=16383));
        let tag = key.strip_prefix("p:{").and_then(|k| k.strip_suffix('}'));
        assert_eq!(tag.map(|tag| slot(tag.as_bytes())), Some(16383));
    }
}
