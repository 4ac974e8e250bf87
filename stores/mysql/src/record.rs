//! A record as the wire delivers it. A person or another program may have put anything into the table, so every column
//! is checked before it is used.

use std::{
    ops::RangeInclusive,
    str::{self, FromStr},
    time::{Duration, UNIX_EPOCH},
};

use dlock_core::{FencingToken, Record};
use mysql_async::{Row, Value};
use uuid::Uuid;

/// The positions of the columns in an answer; `answer.sql` and `list.sql` begin alike.
const UUID: usize = 0;
const RENEWALS: usize = 1;
const OWNER: usize = 2;
const SINCE: usize = 3;
const TOKEN: usize = 4;
const DURATION: usize = 5;
const RELEASED: usize = 6;
const ASKED: usize = 7;
const WANTED: usize = 8;
const DATA: usize = 9;
const EXPIRY: usize = 10;
const CLOCK: usize = 11;
/// The procedure's verdict.
pub(crate) const VERDICT: usize = 12;
/// The name of a listed record.
pub(crate) const NAME: usize = 12;

/// The longest lease, 24 h, and the shortest, in milliseconds.
const DURATIONS: RangeInclusive<u64> = 100..=86_400_000;
/// Numbers below 2^53, which a double holds exactly (T2).
const MAX_EXACT: u64 = (1 << 53) - 1;
/// The same as an instant in whole seconds, here in microseconds.
const SINCE_MOST: u64 = 9_007_199_254_000_000;
/// The greatest number that a column of the table can hold, where nothing else limits it.
const MAX_BIGINT: u64 = i64::MAX.unsigned_abs();

/// The reason why a row is no record, in words.
pub(crate) type Flaw = String;

/// The record that a row shows.
pub(crate) fn read(row: &Row) -> Result<Record, Flaw> {
    let owner = text(row, "owner", OWNER)?;
    let uuid = Uuid::from_slice(bytes(row, "uuid", UUID)?)
        .map_err(|_| "its uuid is not 16 bytes".to_owned())?;
    let duration = number(row, "duration", DURATION, DURATIONS)?;
    let since = number(row, "since", SINCE, 0..=SINCE_MOST)?;
    let expiry = number(row, "expiry", EXPIRY, 0..=MAX_BIGINT)?;
    let clock = number(row, "clock", CLOCK, 0..=MAX_BIGINT)?;
    within("owner", owner.as_bytes(), Record::MAX_OWNER)?;
    let mut record = Record::new(
        uuid,
        owner,
        UNIX_EPOCH + Duration::from_micros(since),
        token(row)?,
        Duration::from_millis(duration),
    );
    record.renewals = number(row, "renewals", RENEWALS, 0..=MAX_EXACT)?;
    record.released = flag(row, "released", RELEASED)?;
    record.asked = asked(row)?;
    record.wanted = wanted(row)?;
    if let Some(data) = optional(row, DATA) {
        within("data", data, Record::MAX_DATA)?;
        record.data = Some(data.to_vec());
    }
    record.remaining = (!record.released).then(|| {
        let left = expiry.saturating_sub(clock);
        Duration::from_millis(left.div_ceil(1000)).min(record.duration)
    });
    Ok(record)
}

/// The token alone: all that a grant's answer shows.
pub(crate) fn token(row: &Row) -> Result<FencingToken, Flaw> {
    FencingToken::new(number(row, "token", TOKEN, 1..=MAX_EXACT)?)
        .ok_or_else(|| "its token is out of range".into())
}

/// Whether a client asked for the lock: all that a renewal's answer shows.
pub(crate) fn asked(row: &Row) -> Result<bool, Flaw> {
    flag(row, "asked", ASKED)
}

/// The mark of a waiter (N1): all that a release's answer shows.
pub(crate) fn wanted(row: &Row) -> Result<u32, Flaw> {
    let mark = number(row, "wanted", WANTED, 0..=u32::MAX.into())?;
    Ok(u32::try_from(mark).unwrap_or(u32::MAX))
}

/// A text that must be there.
pub(crate) fn text<'r>(row: &'r Row, column: &str, at: usize) -> Result<&'r str, Flaw> {
    str::from_utf8(bytes(row, column, at)?).map_err(|_| format!("its {column} is not UTF-8"))
}

/// A number in this range. The server writes numbers as text.
pub(crate) fn number(
    row: &Row,
    column: &str,
    at: usize,
    range: RangeInclusive<u64>,
) -> Result<u64, Flaw> {
    let digits = text(row, column, at)?;
    u64::from_str(digits)
        .ok()
        .filter(|number| range.contains(number))
        .ok_or_else(|| {
            let (least, most) = range.into_inner();
            format!("its {column} is {digits}, not from {least} to {most}")
        })
}

fn flag(row: &Row, column: &str, at: usize) -> Result<bool, Flaw> {
    number(row, column, at, 0..=1).map(|number| number == 1)
}

fn within(column: &str, bytes: &[u8], most: usize) -> Result<(), Flaw> {
    if bytes.len() <= most {
        return Ok(());
    }
    Err(format!(
        "its {column} has {} bytes, and at most {most} are possible",
        bytes.len()
    ))
}

/// A column that must be there.
fn bytes<'r>(row: &'r Row, column: &str, at: usize) -> Result<&'r [u8], Flaw> {
    optional(row, at).ok_or_else(|| format!("its {column} is null"))
}

/// A column that may be null.
fn optional(row: &Row, at: usize) -> Option<&[u8]> {
    match row.as_ref(at) {
        Some(Value::Bytes(bytes)) => Some(bytes),
        _ => None,
    }
}
