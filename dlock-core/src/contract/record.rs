//! The record that a store keeps per name, as a provider shows it.

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use uuid::Uuid;

use crate::FencingToken;

/// The state of a term that a contender watches: its identity, and its newest applied renewal.
///
/// As long as a contender sees one version unchanged, the lock has not been renewed, released or taken in between.
/// (The "record version number" of the `DynamoDB` lock client, split in two: the identity survives a renewal.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the protocol defines a version as this pair"
)]
pub struct Version {
    /// The term.
    pub uuid: Uuid,
    /// Number of the newest applied renewal, 0 at the grant.
    pub renewals: u64,
}

/// The one row a store keeps per name. It survives release; only a purge removes it (T5).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Record {
    /// Identity of the term: drawn by the frontend before the acquire was sent.
    pub uuid: Uuid,
    /// Number of the newest applied renewal; 0 at the grant, numbers may be skipped, below 2^53.
    pub renewals: u64,
    /// The holder's label, for people. Decides nothing.
    pub owner: String,
    /// When the term began, for people: the store's clock, or the writer's on stores without one.
    /// Decides nothing.
    pub since: SystemTime,
    /// The fencing token of the term: the last one, where its grant brought [several](crate::provider::Tokens).
    pub token: FencingToken,
    /// How long the store keeps others out after the last applied acquire or renewal.
    pub duration: Duration,
    /// The holder has released the lock.
    pub released: bool,
    /// Another client has asked the holder to release the lock (B3).
    pub asked: bool,
    /// The [mark](crate::provider::Acquire::marks) of a waiter that was refused in this term; 0 if there is none. Not
    /// part of the version. Decides nothing.
    pub wanted: u32,
    /// Data that the holder stored next to the lock, at most [`Record::MAX_DATA`] bytes.
    pub data: Option<Vec<u8>>,
    /// The remainder of the lease on the *store's* clock when the reply was made, rounded up to the
    /// millisecond and at most `duration`; zero once it has expired. `None` on stores whose clock
    /// decides nothing ([`Discipline::Observer`](crate::provider::Discipline::Observer)) and on released records.
    /// A hint for waiters and people, never a verdict.
    pub remaining: Option<Duration>,
}

impl Record {
    /// The most data that is stored next to a lock: 4 KiB.
    pub const MAX_DATA: usize = 4096;

    /// The shortest lease (D), and the shortest closing.
    pub const SHORTEST: Duration = Duration::from_millis(100);

    /// The longest lease, and the longest closing: a day.
    pub const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

    /// The longest label of an owner, in bytes.
    pub const MAX_OWNER: usize = 1024;

    /// A held record at its grant: `renewals` 0, not asked, no mark, no data, no `remaining`.
    /// Providers set the other fields from what they read.
    #[must_use]
    pub fn new(
        uuid: Uuid,
        owner: impl Into<String>,
        since: SystemTime,
        token: FencingToken,
        duration: Duration,
    ) -> Self {
        Self {
            uuid,
            renewals: 0,
            owner: owner.into(),
            since,
            token,
            duration,
            released: false,
            asked: false,
            wanted: 0,
            data: None,
            remaining: None,
        }
    }

    /// Whether the name is closed: no client holds the lock, but the last holder has ended its work and keeps every
    /// client out until the record expires, or until an observation of its duration is complete (B4). Owner, token
    /// and `since` are still that holder's. For people; it decides nothing.
    ///
    /// Recognised by the version of the uuid: 8 for a [`Closing`](crate::provider::Closing), 4 for a term.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        !self.released && self.uuid.get_version_num() == 8
    }

    /// Whether this term holds the lock: its uuid is the record's, and it has not released. It may have expired.
    #[must_use]
    pub fn held_by(&self, uuid: Uuid) -> bool {
        !self.released && self.uuid == uuid
    }

    /// The version that an observer compares.
    #[must_use]
    pub const fn version(&self) -> Version {
        Version {
            uuid: self.uuid,
            renewals: self.renewals,
        }
    }
}

/// The holder of the lock: the record that refused an acquire. If that record [is closed](Record::is_closed), no
/// client holds the lock; the owner is then the one whose work the closing follows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// The record, as the store showed it.
    pub record: Record,
    /// Whether the holder is a lease of this very [`Client`](crate::Client). If the work that it protects waits for
    /// the lock, it waits for ever: locks are not re-entrant.
    pub ours: bool,
    /// How long this client has seen the record unchanged (uuid and renewals) on its own clock; with
    /// [`Client::observations`](crate::Client::observations), earlier processes of this host count too. On a store
    /// whose clock decides nothing, a try takes the lock over once this has reached the record's duration.
    pub observed: Duration,
    /// Whether that observation is kept for later processes of this host.
    pub kept: bool,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Record { owner, token, .. } = &self.record;
        if self.record.is_closed() {
            write!(f, "closed after the work of {owner:?} with token {token}")
        } else if self.ours {
            write!(
                f,
                "this process holds it already (locks are not re-entrant)"
            )
        } else {
            write!(f, "held by {owner:?} with token {token}")
        }
    }
}
