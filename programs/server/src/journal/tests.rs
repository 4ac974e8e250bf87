use std::time::UNIX_EPOCH;

use super::{line::KEPT, *};

const SECOND: Duration = Duration::from_secs(1);

fn name(number: usize) -> Name {
    Name::new(format!("default/{number}")).unwrap()
}

fn token(number: u64) -> FencingToken {
    FencingToken::new(number).unwrap()
}

/// The record of a term; each term has its own uuid and token.
fn record(term: u64) -> Record {
    let uuid = Uuid::from_u64_pair(0x4000, 0x8000_0000_0000_0000 | term);
    Record::new(uuid, "web-1", UNIX_EPOCH, token(term), 30 * SECOND)
}

fn whats(journal: &Journal) -> Vec<What> {
    let history = journal.of(&name(1));
    history.entries.iter().map(|entry| entry.what).collect()
}

fn found(journal: &Journal, record: &Record) {
    journal.found(journal.sent(), &name(1), record);
}

/// The lines of names that are each found held, one name per second.
fn lines(names: usize, found: impl Fn(usize) -> Record) -> Lines {
    let mut lines = Lines::new();
    for number in 0..names {
        let now = UNIX_EPOCH + SECOND * u32::try_from(number).unwrap();
        let record = found(number);
        let first = || Some(Line::found_first(&record, now));
        lines.note(&name(number), now, first, |_| false);
    }
    lines
}

#[test]
fn what_looks_find_is_told_once_and_in_order() {
    let journal = Journal::new();
    let mut seen = record(1);
    for _ in 0..3 {
        found(&journal, &seen);
    }
    assert_eq!(whats(&journal), [What::Held]);
    // The start is unknown.
    assert_eq!(journal.of(&name(1)).entries[0].within_ms, None);
    for renewals in 1..=3 {
        seen.renewals = 2 * renewals;
        found(&journal, &seen);
    }
    seen.asked = true;
    found(&journal, &seen);
    seen.remaining = Some(Duration::ZERO);
    found(&journal, &seen);
    assert_eq!(
        whats(&journal),
        [What::Held, What::Renewed, What::Asked, What::Expired]
    );
    assert_eq!(journal.of(&name(1)).entries[1].times, Some(6));
    let mut other = record(2);
    other.released = true;
    found(&journal, &other);
    let entries = journal.of(&name(1)).entries;
    assert_eq!(whats(&journal)[4..], [What::Granted, What::Released]);
    assert!(entries[4].within_ms.is_some() && entries[4].token == token(2));
    found(&journal, &other);
    assert_eq!(entries.len(), whats(&journal).len());
}

/// Only its uuid changes then.
#[test]
fn a_term_that_was_taken_away_is_known_until_the_next_one() {
    let journal = Journal::new();
    let mut seen = record(1);
    found(&journal, &seen);
    assert!(!journal.is_revoked(&name(1), &seen));
    seen.uuid = record(7).uuid;
    for _ in 0..2 {
        found(&journal, &seen);
        assert!(journal.is_revoked(&name(1), &seen));
    }
    assert_eq!(whats(&journal), [What::Held, What::Revoked]);
    assert!(!journal.is_revoked(&name(1), &record(1)));
    found(&journal, &record(2));
    assert!(!journal.is_revoked(&name(1), &record(2)));
    let mut closed = record(2);
    closed.uuid = uuid::Builder::from_custom_bytes([9; 16]).into_uuid();
    found(&journal, &closed);
    assert!(!journal.is_revoked(&name(1), &closed));
    assert_eq!(whats(&journal)[2..], [What::Granted, What::Closed]);
}

/// A read was sent before the release, and its answer comes after it.
#[test]
fn an_answer_that_is_older_than_what_is_known_changes_nothing() {
    let journal = Journal::new();
    found(&journal, &record(1));
    let sent = journal.sent();
    journal.done(&name(1), record(1).uuid, What::Released, record(1).uuid);
    journal.found(sent, &name(1), &record(1));
    assert_eq!(whats(&journal), [What::Held, What::Released]);
    journal.found(sent, &name(1), &record(2));
    journal.found(sent, &name(1), &record(1));
    assert_eq!(whats(&journal), [What::Held, What::Released, What::Granted]);
    // A store that was restored from a backup counts its tokens from there.
    found(&journal, &record(1));
    assert_eq!(whats(&journal).len(), 4);
}

#[test]
fn only_the_release_that_the_force_has_made_is_called_so() {
    let journal = Journal::new();
    let (one, two) = (record(1), record(2));
    found(&journal, &one);
    journal.done(&name(1), one.uuid, What::Released, one.uuid);
    // The holder was faster: the store repeats its answer.
    let sent = journal.sent();
    journal.done(&name(1), one.uuid, What::Released, one.uuid);
    journal.forced(sent, &name(1), one.uuid);
    assert_eq!(whats(&journal), [What::Held, What::Released]);
    found(&journal, &two);
    let sent = journal.sent();
    journal.done(&name(1), two.uuid, What::Released, two.uuid);
    journal.forced(sent, &name(1), two.uuid);
    assert_eq!(whats(&journal)[2..], [What::Granted, What::Forced]);
}

#[test]
fn a_name_has_its_newest_hundred_entries() {
    let journal = Journal::new();
    for term in 1..=150 {
        found(&journal, &record(term));
    }
    let entries = journal.of(&name(1)).entries;
    assert_eq!(entries.len(), 100);
    assert_eq!(
        (entries[0].token, entries[99].token),
        (token(51), token(150))
    );
}

#[test]
fn what_is_older_than_a_week_is_forgotten() {
    let start = UNIX_EPOCH;
    let mut lines = Lines::new();
    let mut at = |now: SystemTime, number: usize, term: u64| {
        let seen = record(term);
        let first = || Some(Line::found_first(&seen, now));
        lines.note(&name(number), now, first, |line| line.found(&seen, now));
        let left = |number| lines.of(&name(number)).map(|line| line.since(now).count());
        (left(1), left(2))
    };
    assert_eq!(at(start, 1, 1), (Some(1), None));
    assert_eq!(at(start, 2, 1), (Some(1), Some(1)));
    assert_eq!(at(start + KEPT, 2, 2), (Some(1), Some(2)));
    // A name that was not seen lately is removed as a whole, one that was seen keeps its newer
    // entries.
    assert_eq!(at(start + KEPT + SECOND, 2, 3), (None, Some(2)));
}

#[test]
fn a_journal_takes_no_more_memory_than_it_may() {
    let wordy = |_| {
        let mut record = record(1);
        record.owner = "x".repeat(1_024);
        record
    };
    let lines = lines(20_000, wordy);
    let known = (0..20_000).filter(|number| lines.of(&name(*number)).is_some());
    let known: Vec<_> = known.collect();
    assert!((8_000..20_000).contains(&known.len()), "{}", known.len());
    assert_eq!(known[0], 20_000 - known.len(), "the oldest go first");
    // Each takes at least its label.
    assert!(known.len() * 1_024 <= 16 * 1024 * 1024);
}
