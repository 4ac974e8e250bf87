//! Views for people: pages of leases, and the history of one as far as a server has seen it.

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
    /// Its holder leads: the record says that the name is that of an election. Decides nothing, as any holder can say
    /// so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub election: bool,
    /// The server has seen the term being taken from its holder, which the record does not show: it keeps others out
    /// until it has expired.
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
    /// The reason.
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
    /// There are more: request those `after` this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Answer to `GET history?name=`: the events of a lease that this server has seen in the last seven days. A store keeps
/// one record of a name and no journal, so it is no more than that: events at other servers are known as far as this
/// server has read the record, and nothing is known of the time before its start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = LeaseHistory))]
pub struct History {
    /// The oldest first, at most 100. Before the first one nothing is known.
    pub entries: Vec<Entry>,
}

/// An event of a lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = LeaseHistoryEntry))]
pub struct Entry {
    /// When the server saw it, by its own clock.
    pub at: Time,
    /// It happened at most this long before: the server had not read the record in between. 0 if this server did it.
    /// Absent for the state that it found when it saw the name for the first time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_ms: Option<Millis>,
    /// The kind of event.
    pub what: What,
    /// The number of renewals, of [`What::Renewed`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u64>,
    /// The token of the term that it happened to.
    #[cfg_attr(feature = "openapi", schema(value_type = u64, minimum = 1, maximum = 9007199254740991_u64))]
    pub token: FencingToken,
    /// The label of its holder.
    pub owner: String,
}

/// The kinds of events of a lease.
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
    /// Another client has asked its holder for it.
    Asked,
    /// It was taken from its holder, and keeps others out until it has expired.
    Revoked,
    /// Its holder has ended its work, and the name keeps every client out for a time.
    Closed,
    /// Its holder has released it.
    Released,
    /// Another client has freed it, whatever its holder did.
    Forced,
    /// It ran out.
    Expired,
}
