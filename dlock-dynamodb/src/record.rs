//! A record as an item of a table, and back. Anything that is not exactly a record is a [`Flaw`].

use std::{
    collections::HashMap,
    ops::RangeInclusive,
    time::{Duration, UNIX_EPOCH},
};

use aws_sdk_dynamodb::types::AttributeValue;
use dlock_core::{FencingToken, Record};
use uuid::Uuid;

pub(crate) type Item = HashMap<String, AttributeValue>;

/// The attributes of every record in addition to its key, and the aliases that expressions use:
/// several are reserved words.
pub(crate) const ATTRIBUTES: [(&str, &str); 10] = [
    ("#u", "uuid"),
    ("#n", "renewals"),
    ("#o", "owner"),
    ("#s", "since"),
    ("#t", "token"),
    ("#d", "duration"),
    ("#r", "released"),
    ("#a", "asked"),
    ("#w", "wanted"),
    ("#x", "data"),
];

/// The greatest number that is exact in a double, which many tools that read the table use.
pub(crate) const MAX_EXACT: u64 = FencingToken::MAX.get();

/// A lease in milliseconds: 100 ms to 24 h.
pub(crate) const DURATIONS: RangeInclusive<u64> = 100..=86_400_000;

/// The reason why an item is no record.
pub(crate) type Flaw = String;

/// Reads an item. Strict: it does not guess at items that this crate did not write.
pub(crate) fn read(item: &Item) -> Result<Record, Flaw> {
    let uuid = match item.get("uuid") {
        None => return Err("it has no uuid, so it is not a lock's".into()),
        // Exactly as it was written, in no other spelling: conditions compare the text.
        Some(AttributeValue::S(text)) => Uuid::try_parse(text)
            .ok()
            .filter(|uuid| uuid.hyphenated().to_string() == *text)
            .ok_or("its uuid is none")?,
        Some(other) => return Err(unexpected("uuid", Some(other), "a string")),
    };
    let owner = match item.get("owner") {
        Some(AttributeValue::S(text)) => text,
        other => return Err(unexpected("owner", other, "a string")),
    };
    let token = number(item, "token", 1..=MAX_EXACT)?;
    let mut record = Record::new(
        uuid,
        owner,
        UNIX_EPOCH + Duration::from_micros(number(item, "since", 0..=MAX_EXACT)?),
        FencingToken::new(token).ok_or("its token is out of range")?,
        Duration::from_millis(number(item, "duration", DURATIONS)?),
    );
    record.renewals = number(item, "renewals", 0..=MAX_EXACT)?;
    record.released = flag(item, "released")?;
    record.asked = flag(item, "asked")?;
    if item.contains_key("wanted") {
        let wanted = number(item, "wanted", 0..=u32::MAX.into())?;
        record.wanted = u32::try_from(wanted).unwrap_or(u32::MAX);
    }
    record.data = match item.get("data") {
        None => None,
        Some(AttributeValue::B(blob)) if blob.as_ref().len() <= Record::MAX_DATA => {
            Some(blob.as_ref().to_vec())
        }
        other => return Err(unexpected("data", other, "binary of at most 4096 bytes")),
    };
    Ok(record)
}

fn number(item: &Item, attribute: &str, range: RangeInclusive<u64>) -> Result<u64, Flaw> {
    let expected = || format!("a whole number from {} to {}", range.start(), range.end());
    match item.get(attribute) {
        Some(AttributeValue::N(text)) => text
            .parse()
            .ok()
            .filter(|number| range.contains(number))
            .ok_or_else(|| format!("its {attribute} is {text}, not {}", expected())),
        other => Err(unexpected(attribute, other, &expected())),
    }
}

fn flag(item: &Item, attribute: &str) -> Result<bool, Flaw> {
    match item.get(attribute) {
        Some(AttributeValue::Bool(flag)) => Ok(*flag),
        other => Err(unexpected(attribute, other, "a boolean")),
    }
}

/// Names the type, not the value: the value may be anything, and may belong to another application.
fn unexpected(attribute: &str, found: Option<&AttributeValue>, expected: &str) -> Flaw {
    let found = match found {
        None => "missing",
        Some(AttributeValue::S(_)) => "a string",
        Some(AttributeValue::N(_)) => "a number",
        Some(AttributeValue::B(_)) => "binary",
        Some(AttributeValue::Bool(_)) => "a boolean",
        Some(AttributeValue::Null(_)) => "null",
        Some(_) => "a set, a list or a map",
    };
    format!("its {attribute} is {found}, not {expected}")
}
