//! A lease as the sample shows it.

use std::time::SystemTime;

use dlock_core::{FencingToken, Name, Record};
use dlock_http::{Code, Time};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{answer::Row, now, numbers, released};
use crate::{asking::Asking, names::Namespace, problem::Refusal};

/// A lease. Its instants are there in camelCase, too.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = sample::Lease)]
pub(super) struct Lease {
    /// The number of the resource: a later lease of the same resource has it, too.
    pub(super) id: i64,
    pub(super) resource: String,
    pub(super) holder: String,
    /// When this holder got it, by the store's clock.
    created_at: Time,
    /// When it was renewed last; absent if it never was, and of a lease that has run out.
    renewed_at: Option<Time>,
    /// When it was given back by this interface, by the store's clock.
    released_at: Option<Time>,
    /// When it ends, or has ended. Absent of one that was renewed and has run out: the store keeps no more than that.
    expires_at: Option<Time>,
    /// The identity of this term, not the uuid that was drawn for it. A renewal or a release with this `uuid` is about this term
    /// alone, and not about a later one of the same holder.
    uuid: Uuid,
    /// The fencing token of this term.
    #[schema(value_type = u64, minimum = 1, maximum = 9007199254740991_u64)]
    token: FencingToken,
}

impl Lease {
    pub(super) fn new(
        id: i64,
        resource: String,
        record: &Record,
        released_at: Option<SystemTime>,
    ) -> Row<Self> {
        let end = end(record);
        let begins = end.and_then(|end| end.checked_sub(record.duration));
        Row(Self {
            id,
            resource,
            holder: record.owner.clone(),
            created_at: Time(record.since),
            renewed_at: begins.filter(|_| record.renewals > 0).map(Time),
            released_at: released_at.map(Time),
            expires_at: released_at.or(end).map(Time),
            uuid: record.uuid,
            token: record.token,
        })
    }
}

/// When the lease ends, as far as the record tells.
fn end(record: &Record) -> Option<SystemTime> {
    if record.released {
        return None;
    }
    if record.renewals == 0 {
        return record.since.checked_add(record.duration);
    }
    let left = record.remaining.filter(|left| !left.is_zero())?;
    now().checked_add(left)
}

/// The row of this name, as its record is now.
pub(super) async fn row(
    service: &Asking,
    namespace: &Namespace,
    name: &Name,
    record: &Record,
) -> Result<Row<Lease>, Refusal> {
    let id = numbers::of_one(service, name).await?;
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

/// Whether its holder has it, and has it still.
pub(super) fn is_active(record: &Record) -> bool {
    !record.released && !record.is_closed() && !has_run_out(record)
}

/// Whether nobody gave it back, and its time is over.
pub(super) fn has_run_out(record: &Record) -> bool {
    !record.released && record.remaining.is_some_and(|left| left.is_zero())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use serde_json::{Value, json};

    use super::{super::LEASE, *};

    fn shown(record: &Record, released_at: Option<SystemTime>) -> Value {
        serde_json::to_value(Lease::new(7, "door".to_owned(), record, released_at)).unwrap()
    }

    #[test]
    fn instants_are_those_that_the_record_tells() {
        let since = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let token = FencingToken::new(5).unwrap();
        let mut record = Record::new(Uuid::nil(), "anna", since, token, LEASE);
        record.remaining = Some(Duration::from_secs(9));
        let row = shown(&record, None);
        for (name, value) in [
            ("created_at", json!("2001-09-09T01:46:40Z")),
            ("createdAt", json!("2001-09-09T01:46:40Z")),
            ("expires_at", json!("2001-09-09T01:47:10Z")),
            ("renewed_at", Value::Null),
            ("released_at", Value::Null),
            ("releasedAt", Value::Null),
        ] {
            assert_eq!(row[name], value, "{name}");
        }

        record.renewals = 2;
        let row = shown(&record, None);
        let instant = |name: &str| {
            let time: Time = serde_json::from_value(row[name].clone()).unwrap();
            time.0
        };
        let renewed = instant("renewed_at");
        assert_eq!(instant("expires_at"), renewed + LEASE);
        assert!(renewed > since, "{row}");

        record.remaining = Some(Duration::ZERO);
        assert!(has_run_out(&record) && !is_active(&record));
        let row = shown(&record, None);
        assert_eq!(
            (&row["renewed_at"], &row["expires_at"]),
            (&Value::Null, &Value::Null)
        );

        (record.released, record.remaining) = (true, None);
        assert!(!has_run_out(&record) && !is_active(&record));
        let row = shown(&record, Some(since + LEASE));
        assert_eq!(row["released_at"], json!("2001-09-09T01:47:10Z"));
        assert_eq!(row["expires_at"], row["released_at"]);
    }
}
