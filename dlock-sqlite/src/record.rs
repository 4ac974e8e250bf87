//! A record in the table. A person or another program may have put anything there, so every column is checked before it
//! is used; `requests.rs` decides what a good record means.

use std::{
    fmt,
    ops::RangeInclusive,
    time::{Duration, UNIX_EPOCH},
};

use dlock_core::{FencingToken, Record};
use rusqlite::{Row, types::ValueRef};
use uuid::Uuid;

use crate::{
    boot_id::BootId,
    clock::{Now, StoreClock},
};

/// The longest lease, 24 h, and the shortest, in milliseconds.
const DURATIONS: RangeInclusive<i64> = 100..=86_400_000;
/// Numbers below 2^53, which a double holds exactly (T2).
pub(crate) const MAX_EXACT: i64 = (1 << 53) - 1;

/// The reason why a row is no record, in words.
pub(crate) type Flaw = String;

/// The record in a row with the columns of `read.sql`, without its mark, and the remainder of its lease when the clock
/// shows `now`: zero once it has expired, `None` if it is released.
pub(crate) fn read(
    row: &Row<'_>,
    clock: &StoreClock,
    now: Now,
) -> rusqlite::Result<Result<Record, Flaw>> {
    let mut columns = [ValueRef::Null; 11];
    for (index, column) in columns.iter_mut().enumerate() {
        *column = row.get_ref(index)?;
    }
    Ok(check(columns, clock, now))
}

fn check(columns: [ValueRef<'_>; 11], clock: &StoreClock, now: Now) -> Result<Record, Flaw> {
    let [
        uuid,
        renewals,
        owner,
        since,
        token,
        duration,
        released,
        asked,
        data,
        boot,
        expiry,
    ] = columns;
    let mut record = Record::new(
        identity(text("uuid", uuid, 36)?)?,
        text("owner", owner, Record::MAX_OWNER)?,
        UNIX_EPOCH + Duration::from_micros(integer("since", since, 0..=MAX_EXACT)?),
        FencingToken::new(integer("token", token, 1..=MAX_EXACT)?)
            .ok_or("its token is out of range")?,
        Duration::from_millis(integer("duration", duration, DURATIONS)?),
    );
    record.renewals = integer("renewals", renewals, 0..=MAX_EXACT)?;
    record.released = integer("released", released, 0..=1)? == 1;
    record.asked = integer("asked", asked, 0..=1)? == 1;
    record.data = match data {
        ValueRef::Null => None,
        ValueRef::Blob(bytes) if bytes.len() <= Record::MAX_DATA => Some(bytes.to_vec()),
        other => {
            return Err(unexpected(
                "data",
                other,
                format_args!("null or a blob of at most {} bytes", Record::MAX_DATA),
            ));
        }
    };
    let boot = text("boot", boot, 64).and_then(|text| {
        let boot = BootId::parse(text).filter(|boot| boot.to_string() == text);
        boot.ok_or_else(|| "its boot is none".into())
    })?;
    let ValueRef::Integer(expiry) = expiry else {
        return Err(unexpected("expiry", expiry, format_args!("an integer")));
    };
    record.remaining = (!record.released).then(|| clock.left(boot, expiry, record.duration, now));
    Ok(record)
}

/// The mark of a lock's record, the column after the others; tasks have none.
pub(crate) fn wanted(row: &Row<'_>) -> rusqlite::Result<Result<u32, Flaw>> {
    let wanted = integer("wanted", row.get_ref(11)?, 0..=u32::MAX.into());
    Ok(wanted.map(|wanted| u32::try_from(wanted).unwrap_or(u32::MAX)))
}

/// A uuid as this crate writes it. Any other spelling is damage, too.
fn identity(text: &str) -> Result<Uuid, Flaw> {
    Uuid::try_parse(text)
        .ok()
        .filter(|uuid| uuid.to_string() == text)
        .ok_or_else(|| "its uuid is not one in lower case with hyphens".into())
}

/// A number in this range; none of the ranges has negative numbers.
fn integer(column: &str, value: ValueRef<'_>, range: RangeInclusive<i64>) -> Result<u64, Flaw> {
    match value {
        ValueRef::Integer(number) if range.contains(&number) => Ok(number.unsigned_abs()),
        other => {
            let (least, most) = range.into_inner();
            Err(unexpected(
                column,
                other,
                format_args!("an integer from {least} to {most}"),
            ))
        }
    }
}

/// Text of at most `most` bytes.
pub(crate) fn text<'v>(column: &str, value: ValueRef<'v>, most: usize) -> Result<&'v str, Flaw> {
    match value {
        ValueRef::Text(bytes) if bytes.len() <= most => {
            str::from_utf8(bytes).map_err(|_| format!("its {column} is not UTF-8"))
        }
        other => Err(unexpected(
            column,
            other,
            format_args!("text of at most {most} bytes"),
        )),
    }
}

fn unexpected(column: &str, value: ValueRef<'_>, expected: fmt::Arguments<'_>) -> Flaw {
    let found = match value {
        ValueRef::Null => "null".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => format!("{number:?}"),
        ValueRef::Text(bytes) => format!("text of {} bytes", bytes.len()),
        ValueRef::Blob(bytes) => format!("a blob of {} bytes", bytes.len()),
    };
    format!("its {column} is {found}, not {expected}")
}
