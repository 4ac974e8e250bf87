//! Texts that are records, and others.

use super::*;

const UUID: &str = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";

fn text(state: &str, end: &[u8]) -> Vec<u8> {
    let mut text = format!("dlock1 {state} {UUID} 4 7000000 5 30000 6000000 9 ").into_bytes();
    text.extend_from_slice(end);
    text
}

#[test]
fn the_record_that_the_readme_shows_is_one() {
    let (_, shown) = include_str!("../../README.md")
        .split_once("> GET ")
        .unwrap();
    let text = shown.split('"').nth(1).unwrap();
    assert_eq!(read(text.as_bytes(), 0).unwrap().owner, "web-3:4711");
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
    expected.wanted = 9;
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
