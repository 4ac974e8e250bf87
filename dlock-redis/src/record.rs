//! A lock's record as Redis keeps it: one text, whose words `lua/record.lua` explains. The scripts
//! write and check it; here it is read, and the part that only the holder says is put together.

use std::time::{Duration, UNIX_EPOCH};

use dlock_core::{FencingToken, Record};
use uuid::Uuid;

/// The words in front of the label of the owner, the mark included.
const WORDS: usize = 10;

/// The end of a record: how long label and data are, and both of them as they are.
pub(crate) fn end(owner: &str, data: Option<&[u8]>) -> Vec<u8> {
    let length = data.map_or_else(|| "-".to_owned(), |data| data.len().to_string());
    let mut end = format!("{} {length} {owner}", owner.len()).into_bytes();
    end.extend_from_slice(data.unwrap_or_default());
    end
}

/// The record that a text is, with what was left of it at `now`, in microseconds on the server's
/// clock. `None` if it is none; the scripts let no such text through.
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

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";

    fn text(state: &str, end: &[u8]) -> Vec<u8> {
        let mut text = format!("dlock1 {state} {UUID} 4 7000000 5 30000 6000000 ").into_bytes();
        text.extend_from_slice(end);
        text
    }

    #[test]
    fn every_word_is_read() {
        let record = read(&text("held,asked", b"5 3 a b:c\0 \xff"), 7_000_001).unwrap();
        let since = UNIX_EPOCH + Duration::from_secs(6);
        let token = FencingToken::new(5).unwrap();
        let thirty = Duration::from_secs(30);
        let mut expected = Record::new(UUID.parse().unwrap(), "a b:c", since, token, thirty);
        expected.renewals = 4;
        expected.asked = true;
        expected.data = Some(b"\0 \xff".to_vec());
        expected.remaining = Some(thirty);
        assert_eq!(record, expected);
    }

    /// Rounded up, and never outside of 0 and the lease, wherever the clock has been set.
    #[test]
    fn what_remains_is_within_the_lease() {
        for (now, remaining) in [
            (0, 30_000),
            (7_000_000, 30_000),
            (7_000_999, 30_000),
            (7_001_000, 29_999),
            (36_999_999, 1),
            (37_000_000, 0),
            (u64::MAX, 0),
        ] {
            let record = read(&text("held", b"1 - x"), now).unwrap();
            assert_eq!(record.remaining, Some(Duration::from_millis(remaining)));
        }
        let released = read(&text("released", b"1 - x"), 0).unwrap();
        assert_eq!(released.remaining, None);
    }

    #[test]
    fn labels_and_data_of_any_bytes_come_back() {
        for owner in ["", " ", "host:1", "5 - x", "ü\0\n"] {
            for data in [
                None,
                Some(b"".as_slice()),
                Some(b" "),
                Some(&[0, 255, b' ']),
            ] {
                let record = read(&text("released,asked", &end(owner, data)), 0).unwrap();
                assert_eq!((&*record.owner, record.data.as_deref()), (owner, data));
                assert!(record.released && record.asked);
            }
        }
    }

    #[test]
    fn other_texts_are_no_records() {
        let sound = text("held", b"1 2 xyz");
        assert!(read(&sound, 0).is_some());
        for length in 0..sound.len() {
            assert_eq!(read(&sound[..length], 0), None, "{length} bytes");
        }
        assert_eq!(read(&[&sound, b"!".as_slice()].concat(), 0), None);
        for end in ["2 2 xyz", "1 - xyz", "1 -1 xyz", "9 - x", "- - ", "1  xyz"] {
            assert_eq!(read(&text("held", end.as_bytes()), 0), None, "{end}");
        }
        assert_eq!(read(&text("free", b"1 - x"), 0), None);
        assert_eq!(read(b"dlock2 held", 0), None);
    }
}
