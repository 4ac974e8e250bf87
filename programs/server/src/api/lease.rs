//! A lease as the sample shows it.

use std::time::{Duration, SystemTime};

use dlock_core::{FencingToken, Name, Record};
use dlock_http::{Code, Time};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{answer::Row, released};
use crate::{asking::Asking, names::Namespace, problem::Refusal};

/// The start of the data of a lease that was taken here, followed by its number. No other lease is renewed or released
/// here: the client that took it counts its renewals itself, and a renewal by another client would break its count.
const MARK: &str = "/api ";

/// A lease. Its instants are also written in camelCase.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = sample::Lease)]
pub(super) struct Lease {
    /// The number of the resource, which later leases of the same resource share. Absent in lists for a lease that
    /// another interface took.
    pub(super) id: Option<i64>,
    pub(super) resource: String,
    pub(super) holder: String,
    /// When this holder got it, by the store's clock.
    created_at: Time,
    /// When it was renewed last, through this interface and by the store's clock.
    renewed_at: Option<Time>,
    /// When it was released through this interface, by the store's clock.
    released_at: Option<Time>,
    /// When it ends, or has ended, by the store's clock. Absent for a lease that another interface has renewed or
    /// released: the store keeps no more than that.
    expires_at: Option<Time>,
    /// The identity of this term, not the uuid that was drawn for it. A renewal or a release with this `uuid` is about
    /// this term alone, and not about a later one of the same holder.
    uuid: Uuid,
    /// The fencing token of this term.
    #[schema(value_type = u64, minimum = 1, maximum = 9007199254740991_u64)]
    token: FencingToken,
}

impl Lease {
    pub(super) fn new(
        id: Option<i64>,
        resource: String,
        record: &Record,
        released_at: Option<SystemTime>,
    ) -> Row<Self> {
        let began = match record.renewals {
            0 => Some(record.since),
            _ => renewed_at(record),
        };
        let end = began.filter(|_| !record.released);
        let end = end.and_then(|began| began.checked_add(record.duration));
        Row(Self {
            id,
            resource,
            holder: record.owner.clone(),
            created_at: Time(record.since),
            renewed_at: renewed_at(record).map(Time),
            released_at: released_at.map(Time),
            expires_at: released_at.or(end).map(Time),
            uuid: record.uuid,
            token: record.token,
        })
    }
}

/// The data of the lease with this number.
pub(super) fn mark(id: i64) -> Vec<u8> {
    format!("{MARK}{id}").into_bytes()
}

/// The number of a lease that was taken here.
pub(super) fn number(record: &Record) -> Option<i64> {
    let data = str::from_utf8(record.data.as_deref()?).ok()?;
    data.strip_prefix(MARK)?.parse().ok()
}

/// The number of a renewal now: it encodes the time.
pub(super) fn renewal(record: &Record, now: SystemTime) -> u64 {
    let since = now.duration_since(record.since).unwrap_or_default();
    let millis = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    millis.max(record.renewals + 1)
}

/// When it was renewed last, if it was renewed, and through this interface.
fn renewed_at(record: &Record) -> Option<SystemTime> {
    let millis = number(record).map(|_| record.renewals)?;
    let since = Duration::from_millis(millis);
    record.since.checked_add(since).filter(|_| millis > 0)
}

/// The row of this name, as its record is now.
pub(super) async fn row(
    service: &Asking,
    namespace: &Namespace,
    id: Option<i64>,
    name: &Name,
    record: &Record,
) -> Result<Row<Lease>, Refusal> {
    let released_at = released::at(service, name, record).await?;
    let resource = namespace.shown(name.as_str()).unwrap_or_default();
    Ok(Lease::new(id, resource.to_owned(), record, released_at))
}

/// The record of this name.
pub(super) async fn record(service: &Asking, name: &Name) -> Result<Record, Refusal> {
    let (limit, name) = (service.0.limits.call_time, name.clone());
    let record = service
        .ask(limit, |store| async move { store.read(&name).await })
        .await?;
    record.ok_or_else(|| Code::NotFound.into())
}

/// Whether its holder has it, and still has it.
pub(super) fn is_active(record: &Record) -> bool {
    !record.released && !record.is_closed() && !has_run_out(record)
}

/// Whether it expired without being released.
pub(super) fn has_run_out(record: &Record) -> bool {
    !record.released && record.remaining.is_some_and(|left| left.is_zero())
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use serde_json::{Value, json};

    use super::{super::LEASE, *};

    fn shown(record: &Record, released_at: Option<SystemTime>) -> Value {
        let id = number(record);
        serde_json::to_value(Lease::new(id, "door".to_owned(), record, released_at)).unwrap()
    }

    /// The store's clock is a quarter of a century behind ours.
    #[test]
    fn instants_are_those_that_the_record_tells() {
        let since = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let token = FencingToken::new(5).unwrap();
        let mut record = Record::new(Uuid::nil(), "anna", since, token, LEASE);
        record.data = Some(mark(7));
        record.remaining = Some(Duration::from_secs(9));
        let is = |row: Value, expected: [(&str, Value); 4]| {
            for (name, value) in expected {
                assert_eq!(row[name], value, "{name}: {row}");
            }
        };
        let (began, never) = (json!("2001-09-09T01:46:40Z"), Value::Null);
        let unrenewed = [
            ("id", json!(7)),
            ("createdAt", began.clone()),
            ("expires_at", json!("2001-09-09T01:47:10Z")),
            ("renewed_at", never.clone()),
        ];
        is(shown(&record, None), unrenewed);

        record.renewals = renewal(&record, since + Duration::from_secs(20));
        assert_eq!(record.renewals, 20_000);
        // Numbers grow, even if the clock was set back.
        assert_eq!(renewal(&record, since), 20_001);
        for left in [Duration::from_secs(9), Duration::ZERO] {
            record.remaining = Some(left);
            let renewed = [
                ("created_at", began.clone()),
                ("renewed_at", json!("2001-09-09T01:47:00Z")),
                ("expires_at", json!("2001-09-09T01:47:30Z")),
                ("released_at", never.clone()),
            ];
            is(shown(&record, None), renewed);
        }
        assert!(has_run_out(&record) && !is_active(&record));

        (record.released, record.remaining) = (true, None);
        assert!(!has_run_out(&record) && !is_active(&record));
        let ended = json!("2001-09-09T01:47:10Z");
        let released = [
            ("renewed_at", json!("2001-09-09T01:47:00Z")),
            ("released_at", ended.clone()),
            ("releasedAt", ended.clone()),
            ("expires_at", ended),
        ];
        is(shown(&record, Some(since + LEASE)), released);

        // Another interface counts its renewals.
        (record.released, record.data) = (false, None);
        let other = [
            ("id", never.clone()),
            ("created_at", began),
            ("renewed_at", never.clone()),
            ("expires_at", never),
        ];
        is(shown(&record, None), other);
    }
}
