//! A record as bytes, and back: one JSON object. Anything that is not exactly a record is a [`Flaw`].

use std::{
    ops::RangeInclusive,
    time::{Duration, UNIX_EPOCH},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use dlock_core::{FencingToken, Record};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The only format so far.
const FORMAT: u64 = 1;

/// The range of numbers that are exact in a double, which many readers of JSON use.
const EXACT: RangeInclusive<u64> = 0..=FencingToken::MAX.get();

/// A lease in milliseconds: 100 ms to 24 h.
const DURATIONS: RangeInclusive<u64> = 100..=86_400_000;

/// Why bytes are no record.
pub(crate) type Flaw = String;

/// The first check: whether it is a record at all, and of a known format.
#[derive(Deserialize)]
struct Format {
    dlock: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored<'a> {
    /// The format.
    dlock: u64,
    uuid: Uuid,
    renewals: u64,
    owner: std::borrow::Cow<'a, str>,
    /// Microseconds since 1970.
    since: u64,
    token: u64,
    /// Milliseconds.
    duration: u64,
    released: bool,
    asked: bool,
    #[serde(default, skip_serializing_if = "is_none")]
    wanted: u32,
    /// Base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<String>,
}

/// The bytes of a record.
pub(crate) fn write(record: &Record) -> Vec<u8> {
    let since = record.since.duration_since(UNIX_EPOCH).unwrap_or_default();
    let stored = Stored {
        dlock: FORMAT,
        uuid: record.uuid,
        renewals: record.renewals,
        owner: record.owner.as_str().into(),
        since: whole(since.as_micros()),
        token: record.token.get(),
        duration: whole(record.duration.as_millis()),
        released: record.released,
        asked: record.asked,
        wanted: record.wanted,
        data: record.data.as_ref().map(|data| STANDARD.encode(data)),
    };
    #[expect(
        clippy::expect_used,
        reason = "numbers, text and flags are JSON, and memory does not refuse to be written to"
    )]
    serde_json::to_vec(&stored).expect("a record is JSON")
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "it is how serde asks whether to leave a field out"
)]
fn is_none(mark: &u32) -> bool {
    *mark == 0
}

fn whole(number: u128) -> u64 {
    u64::try_from(number).map_or(*EXACT.end(), |number| number.min(*EXACT.end()))
}

/// Reads bytes. Strict: it does not guess at anything that this crate did not write.
pub(crate) fn read(bytes: &[u8]) -> Result<Record, Flaw> {
    let Format { dlock: format } =
        serde_json::from_slice(bytes).map_err(|error| format!("it is not a lock's: {error}"))?;
    if format != FORMAT {
        return Err(format!(
            "its format is {format}, and this version of dlock knows {FORMAT} only"
        ));
    }
    let stored: Stored<'_> = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let Stored {
        dlock: _,
        uuid,
        renewals,
        owner,
        since,
        token,
        duration,
        released,
        asked,
        wanted,
        data,
    } = stored;
    let token = FencingToken::new(token).ok_or("its token is out of range")?;
    let since = UNIX_EPOCH + Duration::from_micros(within("since", since, EXACT)?);
    let duration = Duration::from_millis(within("duration", duration, DURATIONS)?);
    let mut record = Record::new(uuid, owner, since, token, duration);
    record.renewals = within("renewals", renewals, EXACT)?;
    record.released = released;
    record.asked = asked;
    record.wanted = wanted;
    record.data = data
        .map(|text| STANDARD.decode(text))
        .transpose()
        .map_err(|error| format!("its data is not base64: {error}"))?;
    if record
        .data
        .as_ref()
        .is_some_and(|data| data.len() > Record::MAX_DATA)
    {
        return Err("its data is longer than a lock's can be".into());
    }
    Ok(record)
}

fn within(field: &str, number: u64, range: RangeInclusive<u64>) -> Result<u64, Flaw> {
    if range.contains(&number) {
        return Ok(number);
    }
    let (least, most) = range.into_inner();
    Err(format!("its {field} is {number}, not {least} to {most}"))
}
