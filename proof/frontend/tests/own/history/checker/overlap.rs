//! I1, I2, I12: which lease is valid when.

use dlock_proof::history::{
    Invariant::{I1, I2, I12},
    What,
    line::{CommitKind, Outcome},
};

use super::super::{
    checker::{A, B},
    story::{Story, at},
};

#[test]
fn i1_two_machines_believe_at_once() {
    // B's request is granted without regard to A's term: A believes until 9.0.
    let mut story = Story::without_commits();
    story.granted(A, 1, 100, 1.0).granted(B, 2, 101, 5.0);
    let report = story.breaks(&[I1]);
    assert!(report.violations[0].says.contains("until 9.000 s"));
    // The store's own log shows it a second time.
    let mut story = Story::new();
    story.granted(A, 1, 100, 1.0).granted(B, 2, 101, 5.0);
    story.breaks(&[I1, I2]);
}

#[test]
fn i2_store_gives_the_name_away_under_its_holder() {
    // B's reply is late, so that the two beliefs do not overlap; but the commit was too early.
    let mut story = Story::new();
    story
        .granted(A, 1, 100, 1.0)
        .tried(B, 2, 8.0)
        .commit(8.5, CommitKind::Take, 2, 0, 101)
        .acquire(B, 2, 8.0, Some((9.5, Outcome::Ok, Some(101))))
        .believes(B, 2, 101, 8.0, 9.5);
    story.breaks(&[I2]);
}

#[test]
fn i2_deadline_after_the_records_expiry() {
    // The store keeps a lease of 7 s where one of 10 s was requested.
    let mut story = Story::new();
    story.granted(A, 1, 100, 1.0);
    for line in &mut story.lines {
        if let What::Commit(commit) = &mut line.what {
            commit.expiry = Some(at(8.1));
        }
    }
    story.breaks(&[I2]);
}

#[test]
fn i12_one_process_believes_twice() {
    let mut story = Story::without_commits();
    story.granted(A, 1, 100, 1.0).granted(A, 2, 101, 5.0);
    story.breaks(&[I12]);
}
