//! I5 to I8: the writes that resources accept, and how long holders believe.

use dlock_proof::history::{
    Invariant::{I5, I6, I7, I8},
    line::{Cause, CommitKind, Outcome},
};

use super::super::{
    checker::{A, B, excused, ordinary},
    story::Story,
};

#[test]
fn i5_fenced_resource_accepts_a_stale_write() {
    let mut story = ordinary(true);
    story
        .wrote(3.0, true, 100, true)
        .wrote(10.0, true, 101, true)
        .wrote(11.0, true, 101, true)
        .wrote(12.0, true, 100, true);
    story.breaks(&[I5]);
}

#[test]
fn i6_deadline_counted_from_the_reply() {
    let mut story = Story::new();
    story
        .tried(A, 1, 1.0)
        .commit(1.1, CommitKind::Take, 1, 0, 100)
        .acquire(A, 1, 1.0, Some((2.0, Outcome::Ok, Some(100))))
        .believes(A, 1, 100, 2.0, 2.0);
    story.breaks(&[I6]);
}

#[test]
fn i7_reply_after_the_loss_revives() {
    let mut story = Story::without_commits();
    story
        .granted(A, 1, 100, 1.0)
        .renew(A, 1, 1, 4.0, Some((4.5, Outcome::Lost)))
        .ended(A, 1, 4.5, Cause::Refused)
        .renew(A, 1, 2, 4.6, Some((4.7, Outcome::Ok)))
        .credited(A, 1, 2, 4.6, 4.7);
    story.breaks(&[I7]);
}

#[test]
fn i7_deadline_moves_back() {
    let mut story = Story::without_commits();
    story
        .granted(A, 1, 100, 1.0)
        .renew(A, 1, 1, 4.0, Some((6.0, Outcome::Ok)))
        .renew(A, 1, 2, 5.0, Some((5.5, Outcome::Ok)))
        .credited(A, 1, 2, 5.0, 5.5)
        .credited(A, 1, 1, 4.0, 6.0);
    story.breaks(&[I7]);
}

#[test]
fn i8_valid_after_the_deadline() {
    let mut story = Story::without_commits();
    story.granted(A, 1, 100, 1.0).looked(A, 1, 9.0, true);
    story.passes();
    story.looked(A, 1, 9.001, true);
    story.breaks(&[I8]);
}

#[test]
fn i8_loss_told_too_late() {
    let mut story = Story::without_commits();
    story
        .granted(A, 1, 100, 1.0)
        .ended(A, 1, 9.0, Cause::Expired)
        .told(A, 1, 9.049);
    story.passes();
    let mut late = Story::without_commits();
    late.granted(A, 1, 100, 1.0)
        .ended(A, 1, 9.4, Cause::Expired)
        .told(A, 1, 9.4);
    late.breaks(&[I8]);
    // A process that stood still could not be notified.
    let mut other = late.clone();
    other.fault("pause", B, 3.0, 9.4).breaks(&[I8]);
    late.fault("pause", A, 3.0, 9.4);
    assert_eq!(excused(&late.passes(), I8), [("pause", 1)]);
}
