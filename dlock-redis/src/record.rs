//! A lock's record as Redis keeps it: one text, whose words `lua/record.lua` explains. The scripts
//! write and check it; this module reads it, and composes the part that only the holder provides.

#[cfg(test)]
mod tests;

use std::time::{Duration, UNIX_EPOCH};

use dlock_core::{FencingToken, Record};
use uuid::Uuid;

/// The words before the owner's label, the mark included.
const WORDS: usize = 11;

/// The end of a record: the lengths of label and data, and both of them verbatim.
pub(crate) fn end(owner: &str, data: Option<&[u8]>) -> Vec<u8> {
    let length = data.map_or_else(|| "-".to_owned(), |data| data.len().to_string());
    let mut end = format!("{} {length} {owner}", owner.len()).into_bytes();
    end.extend_from_slice(data.unwrap_or_default());
    end
}

/// The record in a text, with the remainder of its lease at `now`, in microseconds on the server's
/// clock. `None` if it is no record; the scripts let no such text through.
pub(crate) fn read(text: &[u8], now: u64) -> Option<Record> {
    let mut parts = text.splitn(WORDS + 1, |byte| *byte == b' ');
    let mut word = || str::from_utf8(parts.next()?).ok();
    if word()? != "dlock1" {
        return None;
    }
    let (released, asked) = match word()? {
        "held" => (false, false),
        "held,asked" => (false, true),
        "released" => (true, false),
        "released,asked" => (true, true),
        _ => return None,
    };
    let uuid = Uuid::try_parse(word()?).ok()?;
    let mut number = || word()?.parse::<u64>().ok();
    let (renewals, extended) = (number()?, number()?);
    let token = FencingToken::new(number()?)?;
    let duration = Duration::from_millis(number()?);
    let since = UNIX_EPOCH.checked_add(Duration::from_micros(number()?))?;
    let wanted = u32::try_from(number()?).ok()?;
    let owner = usize::try_from(number()?).ok()?;
    let data = match word()? {
        "-" => None,
        length => Some(length.parse::<usize>().ok()?),
    };
    let (owner, rest) = parts.next()?.split_at_checked(owner)?;
    if rest.len() != data.unwrap_or(0) {
        return None;
    }
    // Bytes that are not UTF-8 show as �.
    let owner = String::from_utf8_lossy(owner);
    let mut record = Record::new(uuid, owner, since, token, duration);
    record.renewals = renewals;
    record.released = released;
    record.asked = asked;
    record.wanted = wanted;
    record.data = data.map(|_| rest.to_vec());
    record.remaining = (!released).then(|| {
        let gone = Duration::from_micros(now.saturating_sub(extended));
        whole_millis(duration.saturating_sub(gone))
    });
    Some(record)
}

/// Rounded up.
fn whole_millis(span: Duration) -> Duration {
    let micros = u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
    Duration::from_millis(micros.div_ceil(1000))
}
