//! The parts of lines: outcomes, causes, commits.

use dlock_core::provider::Version;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Micros;

/// The kind of a fault that ended its process: nothing is believed there any more.
pub const KILL: &str = "kill";

/// The kind of a fault in which a process stood still: it notices late what it should have noticed then.
pub const PAUSE: &str = "pause";

/// The kind of a fault in which a machine gave a process no time, though not on purpose.
pub const STALL: &str = "stall";

/// The kind of a fault that has ended, while callers that it struck may still wait for the lost calls. Bounds that
/// count from the end of a fault (I17) count from its beginning.
pub const AFTERMATH: &str = "aftermath";

/// How a call or an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// Granted, renewed, released, read.
    Ok,
    /// Another client holds it.
    Held,
    /// A late duplicate (A3).
    Spent,
    /// Not ours any more (R3, L3).
    Lost,
    /// Certainly not applied.
    Error,
    /// A retry cannot help.
    Fatal,
    /// Perhaps applied.
    Unknown,
    /// The caller's limit passed.
    Timeout,
    /// The client was closed.
    Closed,
    /// The caller went away.
    Dropped,
}

/// How a lease ended, as its holder knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cause {
    /// Its deadline passed.
    Expired,
    /// The store refused a renewal.
    Refused,
    /// It was held for the longest time allowed.
    HeldTooLong,
    /// It was released.
    Released,
    /// It was handed over by a ticket.
    HandedOver,
}

/// A version that a try claims to be dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(clippy::exhaustive_structs, reason = "a version is this pair")]
pub struct Prev {
    /// The term.
    pub uuid: Uuid,
    /// Its number.
    pub n: u64,
}

/// A record as a write left it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    clippy::exhaustive_structs,
    reason = "hand-made histories are written as literals"
)]
pub struct Commit {
    /// The kind of the write.
    pub kind: CommitKind,
    /// The term.
    pub uuid: Uuid,
    /// The number of its newest applied renewal.
    pub n: u64,
    /// Its token.
    pub token: u64,
    /// D.
    pub duration: Micros,
    /// When it expires, if the store's clock keeps its present pace; `None` where the store's clock decides nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expiry: Option<Micros>,
}

/// The kind of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CommitKind {
    /// A new term (A1, A4, A5, A6).
    Take,
    /// A renewal (R1).
    Renew,
    /// A release (L1).
    Release,
    /// A revocation (B1).
    Revoke,
    /// A release that closed the name (B4).
    Close,
    /// A request to the holder (B3), or any other write that leaves the term as it is.
    Touch,
    /// The record was deleted (T5).
    Delete,
    /// A write was undone, for example lost in a failover: the record is as it was before.
    Undo,
    /// As [`CommitKind::Undo`], but no record existed before.
    Forget,
}

impl From<Version> for Prev {
    fn from(Version { uuid, renewals }: Version) -> Self {
        Self { uuid, n: renewals }
    }
}
