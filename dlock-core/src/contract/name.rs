//! The name of a lock. How a store represents it (a prefix, a key) is up to the provider.

use std::{borrow::Borrow, fmt, sync::Arc};

use crate::BuildError;

/// The name that is locked: 1 to 1024 bytes of UTF-8 without NUL.
///
/// Names are compared byte by byte: two names that differ in any byte are different locks. The limit holds for a
/// provider's prefix and the name together; a provider answers an acquire whose stored key would be longer with a
/// [`Fatal`](crate::ErrorKind::Fatal) error. Cloning is cheap.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

impl Name {
    /// The longest name in bytes, a provider's prefix included: what a `DynamoDB` sort key holds.
    pub const MAX_BYTES: usize = 1024;

    /// Checks and keeps a name.
    ///
    /// # Errors
    /// [`BuildError::Name`] if the name is empty, longer than [`Name::MAX_BYTES`] or contains NUL.
    pub fn new(name: impl AsRef<str>) -> Result<Self, BuildError> {
        let name = name.as_ref();
        let reason = if name.is_empty() {
            "it is empty"
        } else if name.len() > Self::MAX_BYTES {
            "it is longer than 1024 bytes"
        } else if name.contains('\0') {
            "it contains a NUL character"
        } else {
            return Ok(Self(name.into()));
        };
        Err(BuildError::Name { reason })
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

/// Lets maps keyed by name be queried with text.
impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl TryFrom<&str> for Name {
    type Error = BuildError;

    fn try_from(name: &str) -> Result<Self, BuildError> {
        Self::new(name)
    }
}

impl TryFrom<String> for Name {
    type Error = BuildError;

    fn try_from(name: String) -> Result<Self, BuildError> {
        Self::new(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_no_store_could_keep() {
        for bad in ["", "a\0b", &"x".repeat(1025)] {
            assert!(matches!(Name::new(bad), Err(BuildError::Name { .. })));
        }
        assert_eq!(Name::new("x".repeat(1024)).unwrap().as_str().len(), 1024);
        // Bytes count, not characters.
        assert!(Name::new("ü".repeat(513)).is_err());
    }
}
