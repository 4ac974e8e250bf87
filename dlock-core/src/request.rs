//! What the frontend asks of a provider. Owned values: a repeat is the same value again.

use std::time::Duration;

use uuid::Uuid;

use crate::{FencingToken, Name, ProviderError, Version, entropy::system_uuid};

/// Asks for the lock: protocol rules A1 to A7.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Acquire {
    /// What to lock.
    pub name: Name,
    /// Label of the contender, for people.
    pub owner: String,
    /// A claim that nobody acts on this version any more (A6); `None` without such a claim.
    pub prev: Option<Version>,
    /// Identity of the term to begin, fresh for every try.
    pub new: Uuid,
    /// The lease: whole milliseconds, 100 ms to 24 h.
    pub duration: Duration,
    /// Stored beside the lock, at most [`Record::MAX_DATA`](crate::Record::MAX_DATA) bytes.
    pub data: Option<Vec<u8>>,
    /// The new token must be at least this (T6); 0 asks for nothing.
    pub floor: u64,
}

impl Acquire {
    /// A try with no claim, no data, no floor and an empty owner.
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
        }
    }

    /// Sets the contender's label.
    #[must_use]
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.owner = owner.into();
        self
    }

    /// Claims a version to be dead.
    #[must_use]
    pub const fn prev(mut self, prev: Option<Version>) -> Self {
        self.prev = prev;
        self
    }

    /// Sets the data stored beside the lock.
    #[must_use]
    pub fn data(mut self, data: Option<Vec<u8>>) -> Self {
        self.data = data;
        self
    }

    /// Sets the least token that is acceptable.
    #[must_use]
    pub const fn floor(mut self, floor: u64) -> Self {
        self.floor = floor;
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

/// Gives a term back: rules L1 to L3.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Release {
    /// The lock.
    pub name: Name,
    /// The term.
    pub uuid: Uuid,
    /// The term's token where it is known. Decides nothing; a store may need it for a clean-up
    /// attribute.
    pub token: Option<FencingToken>,
}

impl Release {
    /// The release of a term.
    #[must_use]
    pub const fn new(name: Name, uuid: Uuid, token: Option<FencingToken>) -> Self {
        Self { name, uuid, token }
    }
}

/// Takes a term away from its holder without giving it to anybody: rule B1.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Revoke {
    /// The lock.
    pub name: Name,
    /// The term as it was read.
    pub version: Version,
    /// The identity that replaces it and that belongs to nobody, least of all to the revoker.
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

/// Asks the holder to give the lock back: rule B3.
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
    /// At most so many records; at least 1.
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
