//! A record as the wire delivers it. A person or another program may have put anything into the
//! table, so every column is checked before it is used.

use std::{
    error::Error as StdError,
    ops::RangeInclusive,
    time::{Duration, UNIX_EPOCH},
};

use deadpool_postgres::tokio_postgres;
use dlock_core::{FencingToken, Record};
use tokio_postgres::{
    Row,
    types::{FromSql, Type},
};
use uuid::Uuid;

/// The positions of the columns in an answer; `read.sql`, `list.sql` and `call.sql` begin alike.
const UUID: usize = 0;
const RENEWALS: usize = 1;
const OWNER: usize = 2;
const SINCE: usize = 3;
const TOKEN: usize = 4;
const DURATION: usize = 5;
const RELEASED: usize = 6;
const ASKED: usize = 7;
const DATA: usize = 8;
const EXPIRY: usize = 9;
const CLOCK: usize = 10;
/// The function's verdict.
pub(crate) const VERDICT: usize = 11;
/// The name of a listed record.
pub(crate) const NAME: usize = 11;
/// The place of an answer in a batch.
pub(crate) const PLACE: usize = 12;

/// The longest lease, 24 h, and the shortest, in milliseconds.
const DURATIONS: RangeInclusive<i64> = 100..=86_400_000;
/// Numbers below 2^53, which a double holds exactly (T2).
const MAX_EXACT: i64 = (1 << 53) - 1;
/// The same as an instant in whole seconds, here in microseconds.
const SINCE_MOST: u64 = 9_007_199_254_000_000;

/// The reason why a row is no record, in words.
pub(crate) type Flaw = String;

/// The record of a lock.
pub(crate) fn of_lock(row: &Row) -> Result<Record, Flaw> {
    let mut record = read(row)?;
    record.wanted = wanted(row)?;
    Ok(record)
}

/// The mark of a lock's term (N1): the last column of a lock's row.
pub(crate) fn wanted(row: &Row) -> Result<u32, Flaw> {
    let mark: i64 = value(row, "wanted", row.len().saturating_sub(1))?;
    u32::try_from(mark).map_err(|_| format!("its wanted is {mark}, not from 0 to {}", u32::MAX))
}

/// The record that a row shows, without a mark: a task has none.
pub(crate) fn read(row: &Row) -> Result<Record, Flaw> {
    let duration = integer(row, "duration", DURATION, DURATIONS)?;
    let since = instant(row, "since", SINCE)?;
    let (expiry, clock) = (
        instant(row, "expiry", EXPIRY)?,
        instant(row, "clock", CLOCK)?,
    );
    let mut record = Record::new(
        value::<Uuid>(row, "uuid", UUID)?,
        text(row, "owner", OWNER, Record::MAX_OWNER)?,
        u64::try_from(since)
            .ok()
            .filter(|micros| *micros <= SINCE_MOST)
            .map(|micros| UNIX_EPOCH + Duration::from_micros(micros))
            .ok_or("its since is not from 1970 to 2255")?,
        token(row)?,
        Duration::from_millis(duration),
    );
    record.renewals = integer(row, "renewals", RENEWALS, 0..=MAX_EXACT)?;
    record.released = value(row, "released", RELEASED)?;
    record.asked = value(row, "asked", ASKED)?;
    record.data = optional::<Vec<u8>>(row, "data", DATA)?;
    if let Some(data) = record
        .data
        .as_ref()
        .filter(|data| data.len() > Record::MAX_DATA)
    {
        return Err(format!(
            "its data has {} bytes, and at most {} are possible",
            data.len(),
            Record::MAX_DATA
        ));
    }
    record.remaining = (!record.released).then(|| {
        let left = u64::try_from(expiry.saturating_sub(clock)).unwrap_or(0);
        Duration::from_millis(left.div_ceil(1000)).min(record.duration)
    });
    Ok(record)
}

/// The token alone: all that a grant's answer shows.
pub(crate) fn token(row: &Row) -> Result<FencingToken, Flaw> {
    FencingToken::new(integer(row, "token", TOKEN, 1..=MAX_EXACT)?)
        .ok_or_else(|| "its token is out of range".into())
}

/// Whether a client asked for the lock: all that a renewal's answer shows.
pub(crate) fn asked(row: &Row) -> Result<bool, Flaw> {
    value(row, "asked", ASKED)
}

/// A column that must be there.
pub(crate) fn value<'r, T: FromSql<'r>>(row: &'r Row, column: &str, at: usize) -> Result<T, Flaw> {
    optional(row, column, at)?.ok_or_else(|| format!("its {column} is null"))
}

/// A column that may be null.
pub(crate) fn optional<'r, T: FromSql<'r>>(
    row: &'r Row,
    column: &str,
    at: usize,
) -> Result<Option<T>, Flaw> {
    row.try_get(at).map_err(|error| {
        let cause = error
            .source()
            .map_or_else(|| error.to_string(), ToString::to_string);
        format!("its {column} cannot be read: {cause}")
    })
}

/// A number in this range; none of the ranges has negative numbers.
fn integer(row: &Row, column: &str, at: usize, range: RangeInclusive<i64>) -> Result<u64, Flaw> {
    let number: i64 = value(row, column, at)?;
    if range.contains(&number) {
        return Ok(number.unsigned_abs());
    }
    let (least, most) = range.into_inner();
    Err(format!(
        "its {column} is {number}, not from {least} to {most}"
    ))
}

/// Microseconds since 1970.
pub(crate) fn instant(row: &Row, column: &str, at: usize) -> Result<i64, Flaw> {
    match value(row, column, at)? {
        Instant::At(micros) => Ok(micros),
        Instant::Infinite => Err(format!("its {column} is infinite")),
    }
}

fn text<'r>(row: &'r Row, column: &str, at: usize, most: usize) -> Result<&'r str, Flaw> {
    let text: &str = value(row, column, at)?;
    if text.len() <= most {
        return Ok(text);
    }
    Err(format!(
        "its {column} has {} bytes, and at most {most} are possible",
        text.len()
    ))
}

/// The value of a `timestamptz`. The driver's own conversion does not support infinity, and
/// overflows with it on some systems.
#[derive(Clone, Copy, Debug)]
enum Instant {
    /// Microseconds since 1970.
    At(i64),
    Infinite,
}

/// From 1970 to 2000, the server's epoch, in microseconds.
const EPOCH: i64 = 946_684_800_000_000;

impl FromSql<'_> for Instant {
    fn from_sql(_: &Type, raw: &[u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(match i64::from_be_bytes(raw.try_into()?) {
            i64::MIN | i64::MAX => Self::Infinite,
            since_2000 => Self::At(since_2000.saturating_add(EPOCH)),
        })
    }

    fn accepts(of: &Type) -> bool {
        *of == Type::TIMESTAMPTZ
    }
}
