//! A failure is kept, and read again, torn files included.

use std::fs;

use dlock_proof::history::{Log, ReadError, keep, line::CommitKind, read, read_all, write};
use tempfile::TempDir;

use super::story::Story;

/// The store gives away a name whose holder still believes in its lease.
fn stolen() -> Story {
    let mut story = Story::new();
    story
        .granted("A", 1, 100, 12.1)
        .renewed("A", 1, 100, 1, 15.4)
        .commit(17.1, CommitKind::Take, 2, 0, 101);
    story
}

fn good() -> Story {
    let mut story = Story::new();
    story
        .granted("A", 1, 100, 1.0)
        .released("A", 1, 100, 2.0)
        .granted("B", 2, 101, 3.0);
    story
}

#[test]
fn failure_is_kept_and_found_again() {
    let folder = TempDir::new().unwrap();
    let kept = keep(
        folder.path().join("deep"),
        "run 7/observer",
        &stolen().lines,
    )
    .unwrap();
    let said = kept.to_string();
    for expected in ["seed: 42", "VIOLATION I2", "run-7-observer.jsonl"] {
        assert!(said.contains(expected), "{expected:?}: {said}");
    }
    assert_eq!(read(&kept.history).unwrap(), stolen().lines);
}

#[test]
fn last_line_may_be_torn_and_no_other() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("torn.jsonl");
    let lines = good().lines;
    write(&path, &lines).unwrap();
    let whole = fs::read_to_string(&path).unwrap();
    // Cut at every byte of the last line, except at its end.
    let last = whole.trim_end().rfind('\n').unwrap() + 1;
    for cut in last..whole.len() - 1 {
        fs::write(&path, &whole[..cut]).unwrap();
        let read = read(&path).unwrap();
        assert_eq!(read, lines[..lines.len() - 1], "cut at {cut}");
    }
    fs::write(&path, &whole).unwrap();
    assert_eq!(read(&path).unwrap(), lines);

    let torn = whole.replacen("\"op\"", "", 3);
    fs::write(&path, torn).unwrap();
    assert!(matches!(
        read(&path),
        Err(ReadError::Line { number: 1, .. })
    ));
}

#[test]
fn processes_append_to_files_of_their_own() {
    let folder = TempDir::new().unwrap();
    let (one, two) = (folder.path().join("1"), folder.path().join("2"));
    let (first, second) = (Log::append(&one).unwrap(), Log::append(&two).unwrap());
    drop(second.process("late"));
    drop(first.process("early"));
    second.killed("late");
    // Started again, it continues where it was.
    let again = Log::append(&one).unwrap();
    drop(again.process("early#2"));
    let lines = read_all([&one, &two]).unwrap();
    assert!(lines.is_sorted_by_key(|line| line.t));
    let processes: Vec<_> = lines.iter().map(|line| &*line.process).collect();
    assert_eq!(processes, ["late", "early", "late", "late", "early#2"]);
}
