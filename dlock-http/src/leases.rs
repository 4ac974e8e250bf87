//! Leases: what is sent to `/v1/{namespace}/leases`, and what is answered.
//!
//! A client draws the uuid of a term and reads its clock before it sends; all safety rests on these two
//! (N4). Requests refuse fields that they do not know; answers may get new ones.

use std::time::Duration;

use dlock_core::{
    FencingToken, Name, ProviderError,
    provider::{self, Capabilities as Abilities, Discipline, Durability},
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Base64, Millis, Problem, Time};

/// The state of a term that an observer compares: `(uuid, renewals)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Version {
    /// The term.
    pub uuid: Uuid,
    /// Number of the newest applied renewal.
    pub renewals: u64,
}

/// `POST acquire`: begins a term (A1 to A7).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Acquire {
    /// What to lock: with the namespace and a slash 1 to 1024 bytes, no NUL.
    pub name: String,
    /// Identity of the term: version 4, drawn for this try alone. A repeat of the try sends the same one.
    pub uuid: Uuid,
    /// How long others are kept out after the last acquire or renewal: 100 ms to 24 h.
    pub duration_ms: Millis,
    /// A claim that nobody acts on this version any more (A6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prev: Option<Version>,
    /// Label for people, at most 1024 bytes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub owner: String,
    /// Kept beside the lock, at most 4096 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Base64>,
    /// The token must be this at least (T6).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub floor: u64,
    /// How long the server may wait until the name is free before it asks, at most 25 s; 0: not at all.
    #[serde(default, skip_serializing_if = "is_none")]
    pub wait_ms: Millis,
}

/// Answer to [`Acquire`]: the term has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Acquired {
    /// The fencing token of the term.
    #[cfg_attr(feature = "openapi", schema(value_type = u64, minimum = 1, maximum = 9007199254740991_u64))]
    pub token: FencingToken,
    /// So long after the request had come the term had certainly not begun (N5): a client that sent the try once
    /// may count its lease from `sent` + 0.8 of this.
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

/// Answer to [`Renew`]: the term goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Renewed {
    /// Somebody has asked for the lock: end the work and give it back, if you can (B3).
    pub asked: bool,
}

/// `POST renew-many`: up to 500 renewals, each by itself.
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

/// What became of one of many renewals: one of the two.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum RenewAnswer {
    /// It is renewed.
    Renewed(Renewed),
    /// It is not, or nobody knows.
    Problem(Box<Problem>),
}

/// `POST release`: gives a term back (L1 to L3), or closes the name (B4).
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
    /// Keeps everybody out for a time instead of letting the next one in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closing: Option<Closing>,
}

/// How a release leaves a name closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Closing {
    /// Belongs to nobody: random, of version 8. A repeat sends the same one.
    pub uuid: Uuid,
    /// For how long: 100 ms to 24 h.
    pub duration_ms: Millis,
}

/// An answer that says no more than that it is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Done {}

/// What a store keeps of a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Record {
    /// The term.
    pub uuid: Uuid,
    /// Number of its newest applied renewal.
    pub renewals: u64,
    /// The holder's label. Decides nothing.
    pub owner: String,
    /// When the term began. Decides nothing.
    pub since: Time,
    /// Its fencing token.
    #[cfg_attr(feature = "openapi", schema(value_type = u64, minimum = 1, maximum = 9007199254740991_u64))]
    pub token: FencingToken,
    /// How long others are kept out after the last acquire or renewal.
    pub duration_ms: Millis,
    /// The holder gave it back.
    pub released: bool,
    /// Somebody has asked for it.
    pub asked: bool,
    /// What the holder keeps beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Base64>,
    /// What is left of the lease, rounded up; 0 once it has expired. Absent if it was given back, and where no clock of
    /// the store decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining_ms: Option<Millis>,
}

/// A record and its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Lease {
    /// The name, without the namespace.
    pub name: String,
    /// The record.
    #[serde(flatten)]
    pub record: Record,
}

/// A record that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Unreadable {
    /// The name, without the namespace.
    pub name: String,
    /// Why.
    pub why: String,
}

/// Answer to `GET ?prefix=&after=&limit=`: a page of records, in byte order of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Page {
    /// The records.
    pub leases: Vec<Lease>,
    /// Names whose records cannot be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<Unreadable>,
    /// There are more: ask again `after` this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// `POST ask`: asks the holder to give the lock back (B3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// The lock.
    pub name: String,
    /// The term that was read.
    pub uuid: Uuid,
}

/// `POST revoke`: takes a term away without giving it to anybody (B1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Revoke {
    /// The lock.
    pub name: String,
    /// The version that was read.
    pub version: Version,
    /// Replaces the term's uuid and belongs to nobody. The server draws one if there is none; a request that may be
    /// repeated has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<Uuid>,
}

/// `POST force`: frees a lock at once, **while its holder may believe in it until its deadline** (B2). Only the
/// fencing token protects then.
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
    /// At most so many.
    pub limit: usize,
}

/// Answer to [`Purge`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Purged {
    /// How many.
    pub deleted: u64,
}

/// Data of an event `free` of `GET watch`: this name may be free. An event `everyone` has no name, and says that
/// any name may be. Hints, never truth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Hint {
    /// The name, without the namespace.
    pub name: String,
}

/// Answer to `GET /v1/capabilities`: what the store behind the server can do.
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
    /// What was acknowledged survives a restart of the store.
    pub durable: bool,
    /// A look costs less than a refused acquire.
    pub cheap_reads: bool,
    /// A release can close a name.
    pub closing: bool,
    /// There is a queue of tasks.
    pub tasks: bool,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn is_none(time: &Millis) -> bool {
    time.0 == 0
}

impl From<provider::Version> for Version {
    fn from(provider::Version { uuid, renewals }: provider::Version) -> Self {
        Self { uuid, renewals }
    }
}

impl From<Version> for provider::Version {
    fn from(Version { uuid, renewals }: Version) -> Self {
        Self { uuid, renewals }
    }
}

impl Acquire {
    /// As a store is asked, under the name that it has there.
    #[must_use]
    pub fn into_request(self, name: Name) -> provider::Acquire {
        provider::Acquire::new(name, self.uuid, self.duration_ms.into())
            .owner(self.owner)
            .prev(self.prev.map(Into::into))
            .data(self.data.map(|Base64(data)| data))
            .floor(self.floor)
    }
}

impl From<&provider::Acquire> for Acquire {
    fn from(request: &provider::Acquire) -> Self {
        Self {
            name: request.name.as_str().to_owned(),
            uuid: request.new,
            duration_ms: Millis::rounded_up(request.duration),
            prev: request.prev.map(Into::into),
            owner: request.owner.clone(),
            data: request.data.clone().map(Base64),
            floor: request.floor,
            wait_ms: Millis(0),
        }
    }
}

impl From<&provider::Renew> for Renew {
    fn from(request: &provider::Renew) -> Self {
        Self {
            name: request.name.as_str().to_owned(),
            uuid: request.uuid,
            n: request.n,
        }
    }
}

impl Release {
    /// As a store is asked, under the name that it has there.
    ///
    /// # Errors
    /// [`Fatal`](dlock_core::ErrorKind::Fatal) if the closing is none.
    pub fn into_request(self, name: Name) -> Result<provider::Release, ProviderError> {
        let closing = self
            .closing
            .map(|Closing { uuid, duration_ms }| provider::Closing::of(uuid, duration_ms.into()))
            .transpose()?;
        Ok(provider::Release::new(name, self.uuid, self.token).closing(closing))
    }
}

impl From<&provider::Release> for Release {
    fn from(request: &provider::Release) -> Self {
        Self {
            name: request.name.as_str().to_owned(),
            uuid: request.uuid,
            token: request.token,
            closing: request.closing.map(|closing| Closing {
                uuid: closing.uuid(),
                duration_ms: Millis::rounded_up(closing.lasts()),
            }),
        }
    }
}

impl From<dlock_core::Record> for Record {
    fn from(record: dlock_core::Record) -> Self {
        Self {
            uuid: record.uuid,
            renewals: record.renewals,
            owner: record.owner,
            since: Time(record.since),
            token: record.token,
            duration_ms: Millis::rounded_up(record.duration),
            released: record.released,
            asked: record.asked,
            data: record.data.map(Base64),
            remaining_ms: record.remaining.map(Millis::rounded_up),
        }
    }
}

impl From<Record> for dlock_core::Record {
    fn from(wire: Record) -> Self {
        let Time(since): Time = wire.since;
        let mut record = Self::new(
            wire.uuid,
            wire.owner,
            since,
            wire.token,
            wire.duration_ms.into(),
        );
        record.renewals = wire.renewals;
        record.released = wire.released;
        record.asked = wire.asked;
        record.data = wire.data.map(|Base64(data)| data);
        record.remaining = wire.remaining_ms.map(Duration::from);
        record
    }
}

impl Capabilities {
    /// What a store says of itself.
    #[must_use]
    pub fn new(abilities: Abilities, tasks: bool) -> Self {
        Self {
            backend: abilities.backend.to_owned(),
            observer: abilities.discipline == Discipline::Observer,
            watch: abilities.watch,
            batch: abilities.batch,
            durable: abilities.durability == Durability::Durable,
            cheap_reads: abilities.cheap_reads,
            closing: abilities.closing,
            tasks,
        }
    }

    /// What a provider behind the server may say of itself: the store's, but for its name.
    #[must_use]
    pub fn of_provider(&self, backend: &'static str) -> Abilities {
        let discipline = if self.observer {
            Discipline::Observer
        } else {
            Discipline::StoreClock
        };
        let durability = if self.durable {
            Durability::Durable
        } else {
            Durability::Volatile
        };
        Abilities::new(backend, discipline)
            .watch(self.watch)
            .batch(self.batch)
            .durability(durability)
            .cheap_reads(self.cheap_reads)
            .closing(self.closing)
    }
}
