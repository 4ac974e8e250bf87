//! What people look at: pages of leases, and what a server has seen happen to one.

use dlock_core::FencingToken;
use serde::{Deserialize, Serialize};

use super::Record;
use crate::{Millis, Time};

/// A record and its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Lease {
    /// The name, without the namespace.
    pub name: String,
    /// Its holder leads: the record says that the name is that of an election. Decides nothing, as any holder can say so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub election: bool,
    /// The server has seen the term being taken from its holder, which the record does not tell: it keeps others out until
    /// it has expired.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub revoked: bool,
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

/// Answer to `GET history?name=`: what this server has seen happen to a lease in the last seven days. A store keeps one record
/// of a name and no journal, so it is no more than that: what happened without this server is known as far as the server has
/// looked, and nothing is known of the time before its start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = LeaseHistory))]
pub struct History {
    /// The oldest first, at most 100. Before the first one nothing is known.
    pub entries: Vec<Entry>,
}

/// Something that has happened to a lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = LeaseHistoryEntry))]
pub struct Entry {
    /// When the server saw it, by its own clock.
    pub at: Time,
    /// It happened at most so long before: the server had not looked in between. 0 if it was done by this server. Absent of
    /// what it found when it saw the name for the first time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_ms: Option<Millis>,
    /// What happened.
    pub what: What,
    /// How many renewals there were, of [`What::Renewed`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u64>,
    /// The token of the term that it happened to.
    #[cfg_attr(feature = "openapi", schema(value_type = u64, minimum = 1, maximum = 9007199254740991_u64))]
    pub token: FencingToken,
    /// The label of its holder.
    pub owner: String,
}

/// What can happen to a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum What {
    /// Its holder had it when the server saw the name for the first time.
    Held,
    /// A term began.
    Granted,
    /// Its holder has renewed it.
    Renewed,
    /// Somebody has asked its holder for it.
    Asked,
    /// It was taken from its holder, and keeps others out until it has expired.
    Revoked,
    /// Its holder has ended its work, and the name keeps everybody out for a time.
    Closed,
    /// Its holder gave it back.
    Released,
    /// Somebody has freed it, whatever its holder did.
    Forced,
    /// It ran out.
    Expired,
}
