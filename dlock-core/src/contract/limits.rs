//! The limits of records and stores, checked in one place for all providers.

use std::{fmt, sync::Arc};

use crate::{
    FencingToken, Name, ProviderError, Record,
    provider::{Acquire, Renew, Tokens},
};

impl Acquire {
    /// Checks whether a record can hold what is requested. A provider calls this before it writes: requests of the
    /// frontend always pass, but those of other callers may not.
    ///
    /// # Errors
    /// [`Fatal`](crate::ErrorKind::Fatal) with the reason: a lease that is not of whole milliseconds or not within
    /// 100 ms and 24 h, a label with NUL or of more than [`Record::MAX_OWNER`] bytes, more data than
    /// [`Record::MAX_DATA`] bytes, a floor above [`FencingToken::MAX`] (T2), more than [`Tokens::MOST`] tokens, or a
    /// uuid of version 8, which closes a name (B4).
    pub fn check(&self) -> Result<(), ProviderError> {
        let Self {
            owner,
            duration,
            data,
            floor,
            tokens,
            ..
        } = self;
        let whole = duration.subsec_nanos() % 1_000_000 == 0;
        let trouble = if !whole || !(Record::SHORTEST..=Record::LONGEST).contains(duration) {
            format!(
                "a lease of {duration:?} is not possible: it takes whole milliseconds, 100 ms to 24 h"
            )
        } else if owner.len() > Record::MAX_OWNER {
            format!(
                "an owner label of {} bytes is not possible: at most {}",
                owner.len(),
                Record::MAX_OWNER
            )
        } else if owner.contains('\0') {
            "an owner label with a NUL is not possible: not every store can keep it".to_owned()
        } else if let Some(data) = data
            && data.len() > Record::MAX_DATA
        {
            format!(
                "{} bytes of data are too many for a lock: at most {}",
                data.len(),
                Record::MAX_DATA
            )
        } else if *floor > FencingToken::MAX.get() {
            format!(
                "no fencing token is as high as {floor}: they end at {}",
                FencingToken::MAX
            )
        } else if *tokens > Tokens::MOST {
            format!(
                "a grant cannot bring {tokens} fencing tokens: at most {}",
                Tokens::MOST
            )
        } else if self.new.get_version_num() == 8 {
            "a uuid of version 8 closes a name: draw one of version 4 for a term".to_owned()
        } else {
            return Ok(());
        };
        Err(ProviderError::fatal(trouble))
    }
}

impl Renew {
    /// Checks whether a record can hold the number of this renewal.
    ///
    /// # Errors
    /// [`Fatal`](crate::ErrorKind::Fatal) if it is 2^53 or more (T2).
    pub fn check(&self) -> Result<(), ProviderError> {
        if self.n <= FencingToken::MAX.get() {
            return Ok(());
        }
        Err(ProviderError::fatal(format!(
            "renewal {} is not possible: numbers end at {}; begin a new term",
            self.n,
            FencingToken::MAX
        )))
    }
}

/// A prefix that keeps the locks of one provider apart from those of others in the same store. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Prefix(Arc<str>);

/// A text that is not a valid prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a prefix: {reason}; with the lock's name it is at most 1024 bytes of UTF-8 without NUL"
)]
#[non_exhaustive]
pub struct InvalidPrefix {
    /// The problem.
    pub reason: &'static str,
}

impl InvalidPrefix {
    /// The error for a text that a provider's store does not allow as a prefix.
    #[must_use]
    pub const fn new(reason: &'static str) -> Self {
        Self { reason }
    }
}

impl Prefix {
    /// Checks and keeps a prefix; it may be empty. Any further limits of a store are its provider's to check.
    ///
    /// # Errors
    /// [`InvalidPrefix`] if it contains NUL or leaves no room for a name.
    pub fn new(prefix: &str) -> Result<Self, InvalidPrefix> {
        let reason = if prefix.contains('\0') {
            "it contains a NUL character"
        } else if prefix.len() >= Name::MAX_BYTES {
            "it leaves no room for a name"
        } else {
            return Ok(Self(prefix.into()));
        };
        Err(InvalidPrefix::new(reason))
    }

    /// The prefix as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Checks whether this name can be kept with the prefix.
    ///
    /// # Errors
    /// [`Fatal`](crate::ErrorKind::Fatal) if they are too long together: a shortened name would be another lock.
    pub fn check(&self, name: &Name) -> Result<(), ProviderError> {
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

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::{num::NonZeroU8, time::Duration};

    use super::*;

    fn acquire() -> Acquire {
        Acquire::new(
            Name::new("door").unwrap(),
            uuid::Uuid::nil(),
            Record::LONGEST,
        )
    }

    #[test]
    fn what_no_record_can_hold_is_refused() {
        let lasting = |duration| Acquire {
            duration,
            ..acquire()
        };
        let label = |bytes| acquire().owner("x".repeat(bytes));
        let data = |bytes| acquire().data(Some(vec![0; bytes]));
        let floor = |floor| acquire().floor(floor);
        let tokens = |count| acquire().tokens(NonZeroU8::new(count).unwrap());
        let most = FencingToken::MAX.get();
        let drawn = |version: u128| {
            let mut acquire = acquire();
            acquire.new = uuid::Uuid::from_u128(version << 76);
            acquire
        };
        let moment = Duration::from_nanos(1);
        for (good, bad) in [
            (
                lasting(Record::SHORTEST),
                lasting(Record::SHORTEST - moment),
            ),
            (lasting(Record::LONGEST), lasting(Record::LONGEST + moment)),
            (
                lasting(2 * Record::SHORTEST),
                lasting(2 * Record::SHORTEST + moment),
            ),
            (label(Record::MAX_OWNER), label(Record::MAX_OWNER + 1)),
            (acquire().owner("\u{1}"), acquire().owner("a\0b")),
            (data(Record::MAX_DATA), data(Record::MAX_DATA + 1)),
            (floor(most), floor(most + 1)),
            (tokens(128), tokens(129)),
            (drawn(4), drawn(8)),
        ] {
            assert!(good.check().is_ok(), "{good:?}");
            assert!(bad.check().is_err(), "{bad:?}");
        }
        let renew = |n| Renew::new(Name::new("door").unwrap(), uuid::Uuid::nil(), n);
        assert!(renew(most).check().is_ok() && renew(most + 1).check().is_err());
    }

    #[test]
    fn prefix_leaves_room_for_a_name() {
        assert!(Prefix::new("a\0").is_err() && Prefix::new(&"x".repeat(1024)).is_err());
        let prefix = Prefix::new(&"x".repeat(1000)).unwrap();
        let name = |bytes| Name::new("n".repeat(bytes)).unwrap();
        assert!(prefix.check(&name(24)).is_ok() && prefix.check(&name(25)).is_err());
    }
}
