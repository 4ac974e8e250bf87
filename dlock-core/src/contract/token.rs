//! The fencing token: one number per grant of a name, which only ever grows.

use std::{fmt, num::NonZeroU64};

/// Orders the grants of one name: a later grant has a greater token (T1).
///
/// Hand it to every resource the lock protects. A resource that remembers the highest token it has
/// accepted and refuses lower ones ([`Fence`](crate::Fence)) is safe even against a holder that was
/// paused past the end of its lease; a lease alone cannot promise that (T4).
///
/// A token is never 0 and stays below 2^53, so it is exact in JSON, in Lua and in a double (T2).
/// Renewing a lease keeps its token. Tokens of different names say nothing about each other, and
/// gaps mean nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FencingToken(NonZeroU64);

impl FencingToken {
    /// The largest token there can be, 2^53 - 1. A name that has reached it can be granted no more:
    /// acquire answers [`Fatal`](crate::ErrorKind::Fatal), nothing wraps (T2).
    pub const MAX: Self = match Self::new((1 << 53) - 1) {
        Some(token) => token,
        None => panic!("2^53 - 1 is in range"),
    };

    /// The token of this value, or `None` for 0 and for 2^53 and above.
    #[must_use]
    pub const fn new(value: u64) -> Option<Self> {
        match NonZeroU64::new(value) {
            Some(value) if value.get() < 1 << 53 => Some(Self(value)),
            _ => None,
        }
    }

    /// The token as a number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0.get()
    }
}

impl fmt::Display for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FencingToken({})", self.0)
    }
}

impl From<FencingToken> for u64 {
    fn from(token: FencingToken) -> Self {
        token.get()
    }
}

impl TryFrom<u64> for FencingToken {
    type Error = TokenOutOfRange;

    fn try_from(value: u64) -> Result<Self, TokenOutOfRange> {
        Self::new(value).ok_or(TokenOutOfRange { value })
    }
}

/// A number that cannot be a [`FencingToken`]: 0, or 2^53 or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{value} is not a fencing token: tokens are 1 to 2^53 - 1")]
#[non_exhaustive]
pub struct TokenOutOfRange {
    /// The number that was offered.
    pub value: u64,
}

#[cfg(feature = "serde")]
impl serde::Serialize for FencingToken {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.get())
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for FencingToken {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = u64::deserialize(deserializer)?;
        Self::try_from(value).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_ends_where_doubles_stop_being_exact() {
        assert_eq!(FencingToken::new(0), None);
        assert_eq!(FencingToken::new(1).map(u64::from), Some(1));
        assert_eq!(FencingToken::MAX.get(), 9_007_199_254_740_991);
        assert_eq!(FencingToken::new(1 << 53), None);
        assert!(FencingToken::try_from(u64::MAX).is_err());
    }

    #[test]
    fn token_is_shown_as_its_number() {
        assert_eq!(FencingToken::MAX.to_string(), "9007199254740991");
        assert_eq!(format!("{:>3}", FencingToken::new(7).unwrap()), "  7");
    }
}
