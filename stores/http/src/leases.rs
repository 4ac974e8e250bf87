//! Leases: the requests to `/v1/{namespace}/leases`, and their answers.
//!
//! A client draws the uuid of a term and reads its clock before it sends; all safety rests on these two. Requests
//! refuse unknown fields; answers may get new ones.

mod convert;
mod shown;

use std::num::NonZeroU8;

use dlock_core::FencingToken;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use self::shown::{Entry, History, Lease, Page, Unreadable, What};
pub use crate::record::Record;
use crate::{Base64, Millis, Problem, record::is_unmarked};

/// The state of a term that an observer compares: `(uuid, renewals)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Version {
    /// The term: as records show it, or in a claim of the client's own term the uuid that it drew.
    pub uuid: Uuid,
    /// Number of the newest applied renewal.
    pub renewals: u64,
}

/// `POST acquire`: begins a term (A1 to A7).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Acquire {
    /// The name of the lock: with the namespace and a slash 1 to 1024 bytes, no NUL.
    pub name: String,
    /// Identity of the term: version 4, drawn for this try alone. A repeat of the try sends the same one.
    pub uuid: Uuid,
    /// How long others are kept out after the last acquire or renewal: 100 ms to 24 h.
    pub duration_ms: Millis,
    /// A claim that this version has no living holder any more (A6). Where the store's clock ends leases: of a uuid
    /// that this client drew or got with a ticket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prev: Option<Version>,
    /// Label for people, at most 1024 bytes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub owner: String,
    /// Kept with the lock, at most 4096 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Base64>,
    /// The token must be this at least (T6); above 2^52 it takes the right `admin`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub floor: u64,
    /// How many tokens the grant is to bring, 1 to 128 (T1); it may bring fewer.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    #[cfg_attr(feature = "openapi", schema(value_type = u8, minimum = 1, maximum = 128))]
    pub tokens: NonZeroU8,
    /// The mark that a refusal leaves in a record without one (N1): the 32-bit FNV-1a hash of the owner's label, for
    /// example. 0 leaves none; a server that waits marks all the same, as a waiter should.
    #[serde(default, skip_serializing_if = "is_unmarked")]
    #[cfg_attr(feature = "openapi", schema(value_type = u64, maximum = 4294967295_u64))]
    pub marks: u32,
    /// How long the server may wait until the name is free before it tries, at most 25 s; 0: not at all.
    #[serde(default, skip_serializing_if = "is_none")]
    pub wait_ms: Millis,
}

/// Answer to [`Acquire`]: the term has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Acquired {
    /// The fencing token of the term; of several the last, which the record shows.
    #[cfg_attr(feature = "openapi", schema(value_type = u64, minimum = 1, maximum = 9007199254740991_u64))]
    pub token: FencingToken,
    /// How many tokens the term has: this one, and those right below it (T1). One if absent: the answer to a repeat
    /// shows no more (A2), and some stores can grant no more.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    #[cfg_attr(feature = "openapi", schema(value_type = u8, minimum = 1, maximum = 128))]
    pub tokens: NonZeroU8,
    /// How long after the arrival of the request the term had certainly not begun: a client that sent the try once may
    /// count its lease from `sent` + 0.8 of this.
    pub waited_ms: Millis,
}

/// `POST renew`: extends a term (R1 to R3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Renew {
    /// The lock.
    pub name: String,
    /// The term.
    pub uuid: Uuid,
    /// Number of this attempt: larger than those of all earlier attempts of the term.
    pub n: u64,
}

/// Answer to [`Renew`]: the term continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Renewed {
    /// Another client has asked for the lock: end the work and release it, if you can (B3).
    pub asked: bool,
}

/// `POST renew-many`: up to 500 renewals, each applied separately.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RenewMany {
    /// The renewals.
    pub renewals: Vec<Renew>,
}

/// Answer to [`RenewMany`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RenewedMany {
    /// One for each renewal, in their order.
    pub answers: Vec<RenewAnswer>,
}

/// The answer to one of many renewals: one of the two.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum RenewAnswer {
    /// It is renewed.
    Renewed(Renewed),
    /// It is not, or that is unknown.
    Problem(Box<Problem>),
}

/// `POST release`: releases a term (L1 to L3), or closes the name (B4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// The lock.
    pub name: String,
    /// The term.
    pub uuid: Uuid,
    /// Its token, where it is known. Decides nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<u64>, minimum = 1, maximum = 9007199254740991_u64))]
    pub token: Option<FencingToken>,
    /// Keeps every client out for a time instead of letting the next one in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closing: Option<Closing>,
}

/// How a release leaves a name closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Closing {
    /// Belongs to no client: random, of version 8. A repeat sends the same one.
    pub uuid: Uuid,
    /// For how long: 100 ms to 24 h.
    pub duration_ms: Millis,
}

/// Answer to [`Release`] and [`Force`]: the term has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Released {
    /// A waiter had marked the term (N3). Never after a closing.
    pub wanted: bool,
}

/// An answer that says only that it is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Done {}

/// `POST ask`: asks the holder to release the lock (B3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// The lock.
    pub name: String,
    /// The term that was read.
    pub uuid: Uuid,
}

/// `POST revoke`: takes a term away without giving it to another client (B1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Revoke {
    /// The lock.
    pub name: String,
    /// The version that was read.
    pub version: Version,
    /// Replaces the term's uuid and belongs to no client. The server draws one if it is absent; a request that may be
    /// repeated has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<Uuid>,
}

/// `POST force`: frees a lock at once, **while its holder may trust it until its deadline** (B2). Only the fencing
/// token protects then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Force {
    /// The lock.
    pub name: String,
    /// The term that was read.
    pub uuid: Uuid,
    /// Its token.
    #[cfg_attr(feature = "openapi", schema(value_type = u64, minimum = 1, maximum = 9007199254740991_u64))]
    pub token: FencingToken,
}

/// `POST purge`: deletes records that expired more than 7 days ago, of all namespaces (T5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Purge {
    /// The highest number to delete.
    pub limit: usize,
}

/// Answer to [`Purge`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Purged {
    /// The number of deleted records.
    pub deleted: u64,
}

/// Data of an event `free` of `GET watch`: this name may be free. A server hints at the releases of marked terms (N3).
/// An event `everyone` has no name, and says that any name may be. Hints, never truth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Hint {
    /// The name, without the namespace.
    pub name: String,
}

/// Answer to `GET /v1/capabilities`: the abilities of the store behind the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Capabilities {
    /// Short name of the store.
    pub backend: String,
    /// Contenders need to observe: no clock of the store decides that a lease has ended.
    pub observer: bool,
    /// `GET watch` has hints.
    pub watch: bool,
    /// `POST renew-many` takes fewer trips to the store than one for each renewal.
    pub batch: bool,
    /// An acknowledged write survives a restart of the store.
    pub durable: bool,
    /// A read costs less than a refused acquire.
    pub cheap_reads: bool,
    /// A release can close a name.
    pub closing: bool,
    /// A refused acquire can leave a mark.
    pub marks: bool,
    /// There is a queue of tasks.
    pub tasks: bool,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn is_none(time: &Millis) -> bool {
    time.0 == 0
}

fn one() -> NonZeroU8 {
    NonZeroU8::MIN
}

fn is_one(count: &NonZeroU8) -> bool {
    *count == NonZeroU8::MIN
}
