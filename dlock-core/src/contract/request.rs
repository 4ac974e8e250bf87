//! The requests that the frontend sends to a provider. Owned values: a repeat is the same value again.

use std::{num::NonZeroU8, time::Duration};

use uuid::Uuid;

use crate::{FencingToken, Name, ProviderError, Record, provider::Version};

/// Requests the lock: protocol rules A1 to A7.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Acquire {
    /// The name to lock.
    pub name: Name,
    /// Label of the contender, for people.
    pub owner: String,
    /// A claim that no client acts on this version any more (A6); `None` without such a claim.
    pub prev: Option<Version>,
    /// Identity of the term to begin, fresh for every try.
    pub new: Uuid,
    /// The lease: whole milliseconds, 100 ms to 24 h.
    pub duration: Duration,
    /// Stored next to the lock, at most [`Record::MAX_DATA`](crate::Record::MAX_DATA) bytes.
    pub data: Option<Vec<u8>>,
    /// The new tokens must be at least this (T6); 0 requires nothing.
    pub floor: u64,
    /// How many tokens the grant should bring: 1 to [`Tokens::MOST`](crate::provider::Tokens::MOST). It may bring
    /// fewer.
    pub tokens: NonZeroU8,
    /// The mark that a refusal leaves in the record, if the record has none yet (N1): the
    /// [`mark`](crate::provider::mark) of the waiter's label. 0 leaves none.
    pub marks: u32,
}

impl Acquire {
    /// A try for one token, with no claim, no data, no floor, no mark and an empty owner.
    #[must_use]
    pub const fn new(name: Name, new: Uuid, duration: Duration) -> Self {
        Self {
            name,
            owner: String::new(),
            prev: None,
            new,
            duration,
            data: None,
            floor: 0,
            tokens: NonZeroU8::MIN,
            marks: 0,
        }
    }

    /// Sets the contender's label.
    #[must_use]
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.owner = owner.into();
        self
    }

    /// Claims that a version is dead.
    #[must_use]
    pub const fn prev(mut self, prev: Option<Version>) -> Self {
        self.prev = prev;
        self
    }

    /// Sets the data stored next to the lock.
    #[must_use]
    pub fn data(mut self, data: Option<Vec<u8>>) -> Self {
        self.data = data;
        self
    }

    /// Sets the least acceptable token.
    #[must_use]
    pub const fn floor(mut self, floor: u64) -> Self {
        self.floor = floor;
        self
    }

    /// Sets how many tokens the grant should bring.
    #[must_use]
    pub const fn tokens(mut self, tokens: NonZeroU8) -> Self {
        self.tokens = tokens;
        self
    }

    /// Sets the mark that is left in the record of a holder that refuses this.
    #[must_use]
    pub const fn marks(mut self, marks: u32) -> Self {
        self.marks = marks;
        self
    }
}

/// Extends a term by the duration it was acquired with: rules R1 to R3.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Renew {
    /// The lock.
    pub name: Name,
    /// The term.
    pub uuid: Uuid,
    /// Number of this renewal attempt: larger than those of all earlier attempts of the term,
    /// below 2^53.
    pub n: u64,
}

impl Renew {
    /// Renewal attempt `n` of a term.
    #[must_use]
    pub const fn new(name: Name, uuid: Uuid, n: u64) -> Self {
        Self { name, uuid, n }
    }
}

/// Releases a term: rules L1 to L3. Or ends it and closes the name: rule B4.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Release {
    /// The lock.
    pub name: Name,
    /// The term.
    pub uuid: Uuid,
    /// The term's token, if it is known. Decides nothing; a store may need it for a clean-up
    /// attribute.
    pub token: Option<FencingToken>,
    /// Keeps every client out for a time instead of letting the next one in. With a provider that ignores this, a
    /// nightly job runs once on each host.
    pub closing: Option<Closing>,
}

impl Release {
    /// The release of a term, which leaves the name free.
    #[must_use]
    pub const fn new(name: Name, uuid: Uuid, token: Option<FencingToken>) -> Self {
        Self {
            name,
            uuid,
            token,
            closing: None,
        }
    }

    /// Leaves the name closed instead.
    #[must_use]
    pub const fn closing(mut self, closing: Option<Closing>) -> Self {
        self.closing = closing;
        self
    }
}

/// How a release leaves a name closed: rule B4.
///
/// The store keeps an ordinary held record whose term belongs to no client: no store needs a field for it, and a
/// contender is refused as by a holder. Its uuid is random except for its version, 8 where a term's is 4, by which
/// [`Record::is_closed`](crate::Record::is_closed) recognises it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closing {
    uuid: Uuid,
    lasts: Duration,
}

impl Closing {
    /// Closes for this long: rounded up to the millisecond, raised to 100 ms, at most 24 h. Draws its uuid from the
    /// operating system's generator. A repeated release uses the same closing.
    ///
    /// # Errors
    /// [`ErrorKind::NotApplied`](crate::ErrorKind::NotApplied) if that generator fails,
    /// [`ErrorKind::Fatal`](crate::ErrorKind::Fatal) if it is more than 24 h.
    pub fn new(lasts: Duration) -> Result<Self, ProviderError> {
        if lasts > Record::LONGEST {
            return Err(ProviderError::fatal("a name is closed for at most 24 h"));
        }
        Ok(Self::drawn(system_uuid()?, lasts))
    }

    /// The closing that another process has drawn and sent here.
    ///
    /// # Errors
    /// [`ErrorKind::Fatal`](crate::ErrorKind::Fatal) if the uuid is not of version 8, which distinguishes it from a
    /// term's, or the time is not of whole milliseconds within 100 ms and 24 h.
    pub fn of(uuid: Uuid, lasts: Duration) -> Result<Self, ProviderError> {
        let closing = Self { uuid, lasts };
        if uuid.get_version_num() == 8 && closing.lasting(lasts) == closing {
            return Ok(closing);
        }
        Err(ProviderError::fatal(
            "a name is closed by a uuid of version 8, for 100 ms to 24 h in whole milliseconds",
        ))
    }

    /// Made from random bytes that were drawn for it.
    pub(crate) fn drawn(random: Uuid, lasts: Duration) -> Self {
        let uuid = uuid::Builder::from_custom_bytes(random.into_bytes()).into_uuid();
        Self { uuid, lasts }.lasting(lasts)
    }

    /// The same closing, for this long from now on: the remainder shrinks from one attempt to the next.
    pub(crate) fn lasting(self, lasts: Duration) -> Self {
        let millis = lasts.as_nanos().div_ceil(1_000_000);
        let lasts = Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX));
        Self {
            lasts: lasts.clamp(Record::SHORTEST, Record::LONGEST),
            ..self
        }
    }

    /// The uuid that replaces the term's. It belongs to no client.
    #[must_use]
    pub const fn uuid(&self) -> Uuid {
        self.uuid
    }

    /// How long the name is closed from the write on: whole milliseconds, 100 ms to 24 h.
    #[must_use]
    pub const fn lasts(&self) -> Duration {
        self.lasts
    }
}

/// Takes a term away from its holder without giving it to another client: rule B1.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Revoke {
    /// The lock.
    pub name: Name,
    /// The term as it was read.
    pub version: Version,
    /// The identity that replaces it and that belongs to no client, least of all to the revoker.
    pub new: Uuid,
}

impl Revoke {
    /// Revokes the version that was read; draws `new` from the operating system's generator.
    ///
    /// # Errors
    /// [`ErrorKind::NotApplied`](crate::ErrorKind::NotApplied) if that generator fails.
    pub fn new(name: Name, version: Version) -> Result<Self, ProviderError> {
        Ok(Self {
            name,
            version,
            new: system_uuid()?,
        })
    }
}

/// Asks the holder to release the lock: rule B3.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ask {
    /// The lock.
    pub name: Name,
    /// The term.
    pub uuid: Uuid,
}

impl Ask {
    /// A polite request to the holder of a term.
    #[must_use]
    pub const fn new(name: Name, uuid: Uuid) -> Self {
        Self { name, uuid }
    }
}

/// Which records to list, in byte order of their names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct List {
    /// Only names that start with this.
    pub prefix: String,
    /// Only names after this one: the last name of the page before.
    pub after: Option<Name>,
    /// At most this many records; at least 1.
    pub limit: usize,
}

impl List {
    /// The first 100 records whose names start with `prefix` (empty: all).
    #[must_use]
    pub fn new(prefix: impl Into<String>) -> Self {
        Self {
            prefix: prefix.into(),
            after: None,
            limit: 100,
        }
    }

    /// Continues after this name.
    #[must_use]
    pub fn after(mut self, after: Option<Name>) -> Self {
        self.after = after;
        self
    }

    /// Sets the most records of a page; 0 counts as 1.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit.max(1);
        self
    }
}

/// A v4 uuid from the operating system. Not `Uuid::new_v4`: a feature that any other crate may
/// switch on makes that one use a generator in user space.
pub(crate) fn system_uuid() -> Result<Uuid, ProviderError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        ProviderError::not_applied("the operating system gave no random bytes").with_source(error)
    })?;
    Ok(uuid::Builder::from_random_bytes(bytes).into_uuid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_is_the_same_in_another_process_and_nothing_else_is_one() {
        let drawn = Closing::new(Duration::from_micros(1_500)).unwrap();
        assert_eq!(Closing::of(drawn.uuid(), drawn.lasts()).unwrap(), drawn);
        let term = system_uuid().unwrap();
        assert!(Closing::of(term, drawn.lasts()).is_err());
        for lasts in [
            Duration::ZERO,
            Record::SHORTEST - Duration::from_millis(1),
            Record::SHORTEST + Duration::from_nanos(1),
            Record::LONGEST + Duration::from_millis(1),
        ] {
            assert!(Closing::of(drawn.uuid(), lasts).is_err(), "{lasts:?}");
        }
    }
}
