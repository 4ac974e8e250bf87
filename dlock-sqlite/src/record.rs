//! A record as it lies in the table. A person or another program may have put anything there, so
//! nothing is believed before it was checked; what a good record means is `requests.rs`'s business.

use std::{
    fmt,
    ops::RangeInclusive,
    time::{Duration, UNIX_EPOCH},
};

use dlock_core::{FencingToken, Record};
use rusqlite::{Row, types::ValueRef};
use uuid::Uuid;

use crate::{
    boot::Boot,
    clock::{Now, StoreClock},
};

/// The longest lease, 24 h, and the shortest, in milliseconds.
const DURATIONS: RangeInclusive<i64> = 100..=86_400_000;
/// Below 2^53: what a double holds exactly (T2).
pub(crate) const MAX_EXACT: i64 = (1 << 53) - 1;

/// One checked row.
#[derive(Debug)]
pub(crate) struct Stored {
    /// As it is shown, apart from `remaining`.
    record: Record,
    boot: Boot,
    expiry: i64,
}

/// Why a row is no record, in words.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Flaw(String);

impl Stored {
    /// Checks the columns in the order of `read.sql`.
    pub(crate) fn from_row(row: &Row<'_>) -> rusqlite::Result<Result<Self, Flaw>> {
        let mut columns = [ValueRef::Null; 11];
        for (index, column) in columns.iter_mut().enumerate() {
            *column = row.get_ref(index)?;
        }
        Ok(Self::check(columns))
    }

    fn check(columns: [ValueRef<'_>; 11]) -> Result<Self, Flaw> {
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
                .ok_or_else(|| Flaw("its token is out of range".into()))?,
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
            let boot = Boot::parse(text).filter(|boot| boot.to_string() == text);
            boot.ok_or_else(|| Flaw("its boot is none".into()))
        })?;
        let ValueRef::Integer(expiry) = expiry else {
            return Err(unexpected("expiry", expiry, format_args!("an integer")));
        };
        Ok(Self {
            record,
            boot,
            expiry,
        })
    }

    /// The fields that no clock decides.
    pub(crate) const fn record(&self) -> &Record {
        &self.record
    }

    /// The store's clock is at or past the expiry.
    pub(crate) fn expired(&self, clock: &StoreClock, now: Now) -> bool {
        clock
            .left(self.boot, self.expiry, self.record.duration, now)
            .is_zero()
    }

    /// The record as it is shown: with what was left of it when the clock showed `now`.
    pub(crate) fn show(self, clock: &StoreClock, now: Now) -> Record {
        let Self {
            mut record,
            boot,
            expiry,
        } = self;
        record.remaining =
            (!record.released).then(|| clock.left(boot, expiry, record.duration, now));
        record
    }
}

impl Flaw {
    pub(crate) const fn new(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A uuid as this crate writes it. Any other way to write one is damage, too.
fn identity(text: &str) -> Result<Uuid, Flaw> {
    Uuid::try_parse(text)
        .ok()
        .filter(|uuid| uuid.hyphenated().encode_lower(&mut [0; 36]) == text)
        .ok_or_else(|| Flaw("its uuid is not one in lower case with hyphens".into()))
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

/// Text of at most so many bytes.
pub(crate) fn text<'v>(column: &str, value: ValueRef<'v>, most: usize) -> Result<&'v str, Flaw> {
    match value {
        ValueRef::Text(bytes) if bytes.len() <= most => {
            str::from_utf8(bytes).map_err(|_| Flaw(format!("its {column} is not UTF-8")))
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
    Flaw(format!("its {column} is {found}, not {expected}"))
}
