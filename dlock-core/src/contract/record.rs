//! What a store keeps per name, as a provider shows it.

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use uuid::Uuid;

use crate::FencingToken;

/// The state of a term that a contender watches: whose it is, and its newest applied renewal.
///
/// As long as a contender sees one version unchanged, nobody has renewed, released or taken the
/// lock in between. (The "record version number" of the `DynamoDB` lock client, split in two: the
/// identity survives a renewal.)
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
    /// The holder gave the lock back.
    pub released: bool,
    /// Somebody asked the holder to give the lock back (B3).
    pub asked: bool,
    /// The [mark](crate::provider::Acquire::marks) of a waiter that was refused in this term; 0 if there is none. No
    /// part of the version. Decides nothing.
    pub wanted: u32,
    /// What the holder stored beside the lock, at most [`Record::MAX_DATA`] bytes.
    pub data: Option<Vec<u8>>,
    /// What was left of the lease on the *store's* clock when the reply was made, rounded up to the
    /// millisecond and at most `duration`; zero once it has expired. `None` on stores whose clock
    /// decides nothing ([`Discipline::Observer`](crate::provider::Discipline::Observer)) and on released records.
    /// A hint for waiters and people, never a verdict.
    pub remaining: Option<Duration>,
}

impl Record {
    /// The most a lock carries beside itself: 4 KiB.
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

    /// Nobody holds it: its holder has ended its work and keeps everybody out until the record
    /// expires, or until an observation of its duration is over (B4). Owner, token and `since` are
    /// still the holder's. For people; nothing is decided by it.
    ///
    /// Told by the version of the uuid: that of a [`Closing`](crate::provider::Closing) is 8, that of a term 4.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        !self.released && self.uuid.get_version_num() == 8
    }

    /// Whether this term holds the lock: its uuid is the record's, and it has not released. It may have expired.
    #[must_use]
    pub fn held_by(&self, uuid: Uuid) -> bool {
        !self.released && self.uuid == uuid
    }

    /// What an observer compares.
    #[must_use]
    pub const fn version(&self) -> Version {
        Version {
            uuid: self.uuid,
            renewals: self.renewals,
        }
    }
}

/// Who holds the lock: the record that refused an acquire. Nobody does if that
/// [is closed](Record::is_closed); the owner is the one whose work that follows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// The record, as the store showed it.
    pub record: Record,
    /// The holder is a lease of this very [`Client`](crate::Client): waiting for it from the work
    /// it protects would wait for ever. Locks are not re-entrant.
    pub ours: bool,
    /// How long this client has seen the record unchanged (uuid and renewals) on its own clock; with
    /// [`Client::observations`](crate::Client::observations) other processes of this host before it
    /// too. On a store whose clock decides nothing a try takes the lock over once this has
    /// reached the record's duration.
    pub observed: Duration,
    /// What was seen is kept for the processes of this host that come after this one.
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
