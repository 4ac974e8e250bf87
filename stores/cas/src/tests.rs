//! Tokens and clocks, records and their bytes, the contents of a cache.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dlock_core::{
    ErrorKind, FencingToken, Name, Record,
    provider::{Acquire, AcquireOutcome},
};
use uuid::Uuid;

use crate::{
    cache::{Cache, Seen},
    clock::Wall,
    key::Keys,
    record,
    rules::{self, Step},
};

/// 2026-11-24, about.
const NOW: u64 = 1_795_500_000_000_000;

fn at(micros: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_micros(micros)
}

fn held(token: u64) -> Record {
    let token = FencingToken::new(token).unwrap();
    let lease = Duration::from_secs(15);
    Record::new(Uuid::from_u128(1), "host:4711", at(NOW), token, lease)
}

/// The token of a grant on this record, by a clock that shows this.
fn token(found: Option<&Record>, floor: u64, now: SystemTime) -> Result<u64, ErrorKind> {
    let name = Name::new("door").unwrap();
    let mut request = Acquire::new(name, Uuid::from_u128(2), Duration::from_secs(15)).floor(floor);
    request.prev = found.map(Record::version);
    match rules::acquire(&request, found, Wall::fake(now)) {
        Ok(Step::Write(record, AcquireOutcome::Acquired(tokens))) => {
            assert_eq!(record.token, tokens.last());
            Ok(tokens.last().get())
        }
        Ok(_) => panic!("no holder is in the way"),
        Err(error) => Err(error.kind()),
    }
}

/// T1, also where the record is there: a store that forgot a grant does not hand out its token again.
#[test]
fn tokens_follow_last_token_floor_and_clock_in_every_take() {
    let last = held(NOW - 5);
    let mut released = last.clone();
    released.released = true;
    for found in [&last, &released] {
        assert_eq!(token(Some(found), 0, at(NOW)), Ok(NOW));
        assert_eq!(token(Some(found), NOW + 7, at(NOW)), Ok(NOW + 7));
        assert_eq!(token(Some(found), 0, at(NOW - 9)), Ok(NOW - 4));
    }
    assert_eq!(token(None, 0, at(NOW)), Ok(NOW));
    assert_eq!(token(None, NOW + 7, at(NOW)), Ok(NOW + 7));
}

#[test]
fn clock_that_cannot_be_right_gives_no_token() {
    let first = 1_704_067_200_000_000;
    let last = 4_102_444_800_000_000;
    for wrong in [
        UNIX_EPOCH - Duration::from_secs(1),
        UNIX_EPOCH,
        at(first - 1),
        at(last),
        UNIX_EPOCH + Duration::from_secs(1 << 40),
    ] {
        assert_eq!(token(None, NOW, wrong), Err(ErrorKind::Fatal), "{wrong:?}");
        assert_eq!(token(Some(&held(NOW)), 0, wrong), Ok(NOW + 1), "{wrong:?}");
    }
    assert_eq!(token(None, 0, at(first)), Ok(first));
    assert_eq!(token(None, 0, at(last - 1)), Ok(last - 1));
}

#[test]
fn tokens_end_and_nothing_wraps() {
    let most = FencingToken::MAX.get();
    assert_eq!(token(Some(&held(most - 1)), 0, at(NOW)), Ok(most));
    assert_eq!(token(Some(&held(most)), 0, at(NOW)), Err(ErrorKind::Fatal));
}

#[test]
fn record_is_read_as_it_was_written() {
    let mut full = held(FencingToken::MAX.get());
    full.renewals = FencingToken::MAX.get();
    full.owner = "\u{1f512} \"\\\n\0".repeat(50);
    full.duration = Record::LONGEST;
    full.released = true;
    full.asked = true;
    full.wanted = u32::MAX;
    for data in [None, Some(vec![]), Some(vec![0xff; Record::MAX_DATA])] {
        full.data = data;
        for record in [&full, &held(1)] {
            let bytes = record::write(record);
            assert!(bytes.len() < 8 * 1024, "{} bytes", bytes.len());
            assert_eq!(record::read(&bytes).as_ref(), Ok(record));
        }
    }
    full.data = Some(vec![0; Record::MAX_DATA + 1]);
    assert!(record::read(&record::write(&full)).is_err());
}

/// The bytes that other programs read, and that must not change while the format is 1.
#[test]
fn bytes_of_a_record_are_these() {
    let mut record = held(NOW);
    record.data = Some(vec![1, 2, 3]);
    let text = String::from_utf8(record::write(&record)).unwrap();
    assert_eq!(
        text,
        "{\"dlock\":1,\"uuid\":\"00000000-0000-0000-0000-000000000001\",\"renewals\":0,\"owner\":\"host:4711\",\
         \"since\":1795500000000000,\"token\":1795500000000000,\"duration\":15000,\"released\":false,\"asked\":false,\
         \"data\":\"AQID\"}"
    );
}

#[test]
fn keys_tell_prefixes_and_names_apart() {
    let key = |prefix: &str, name: &str| {
        let keys = Keys::new(prefix).unwrap();
        let name = Name::new(name).unwrap();
        let key = keys.key(&name).unwrap();
        assert_eq!(keys.name(&key), Some(name), "{key}");
        key
    };
    let keys = [
        key("", "a/b/c"),
        key("a", "b/c"),
        key("a/b", "c"),
        key("a%2Fb", "c"),
        key("a", "/b/c"),
        key("a/", "b/c"),
    ];
    for (at, one) in keys.iter().enumerate() {
        assert!(!keys[at + 1..].contains(one), "{keys:?}");
    }
    assert_eq!(keys[2], "a%2Fb/c");
    assert_eq!(Keys::new("a").unwrap().name("b/c"), None);
}

#[test]
fn cache_keeps_what_was_used_last_and_has_an_end() {
    let cache = Cache::new(10);
    let seen = |version: usize| Seen {
        record: held(1),
        version,
    };
    for key in 0..1_000 {
        cache.keep("kept".into(), cache.take("kept").unwrap_or(seen(0)));
        cache.keep(key.to_string(), seen(key));
    }
    assert!(cache.take("kept").is_some());
    let there = (0..1_000).filter(|key| cache.take(&key.to_string()).is_some());
    let there: Vec<usize> = there.collect();
    assert!((9..20).contains(&there.len()), "{there:?}");
    assert!(
        there.is_sorted() && there.contains(&999) && there[0] > 970,
        "{there:?}"
    );
    assert!(cache.take("999").is_none(), "taken is gone");
}
