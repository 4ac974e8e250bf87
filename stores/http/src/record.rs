//! The record that a store keeps of a name.

use std::time::Duration;

use dlock_core::FencingToken;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Base64, Millis, Time};

/// The record that a store keeps of a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Record {
    /// The term, by the [pseudonym](crate::pseudonym) of the uuid that its client drew.
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
    /// The holder has released it.
    pub released: bool,
    /// Another client has asked for it.
    pub asked: bool,
    /// The mark of a waiter that was refused in this term (N1). Absent if there is none. Decides nothing.
    #[serde(default, skip_serializing_if = "is_unmarked")]
    #[cfg_attr(feature = "openapi", schema(value_type = u64, maximum = 4294967295_u64))]
    pub wanted: u32,
    /// Data that the holder keeps with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Base64>,
    /// The remaining time of the lease, rounded up; 0 once it has expired. Absent if it was released, and where no
    /// clock of the store decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining_ms: Option<Millis>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "it is how serde asks whether to leave a field out"
)]
pub(crate) fn is_unmarked(mark: &u32) -> bool {
    *mark == 0
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
            wanted: record.wanted,
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
        record.wanted = wire.wanted;
        record.data = wire.data.map(|Base64(data)| data);
        record.remaining = wire.remaining_ms.map(Duration::from);
        record
    }
}
