//! I5 to I8: what resources accept, how long holders believe.

use dlock_proof::history::{
    Invariant::{I5, I6, I7, I8},
    What,
    line::{Cause, CommitKind, Outcome},
};

use super::super::{
    checker::{A, B, excused, ordinary},
    story::{LEASE, Story, at},
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
fn i5_refused_and_unfenced_stale_writes_break_nothing() {
    let mut story = ordinary(true);
    story
        .wrote(3.0, true, 100, true)
        .wrote(10.0, true, 101, true)
        .wrote(12.0, true, 100, false);
    let counts = story.passes().counts;
    assert_eq!((counts.fenced.accepted, counts.fenced.refused), (2, 1));

    let mut story = ordinary(true);
    let update = |story: &mut Story, t, token, read, written| {
        let what = What::Write {
            resource: "notes".into(),
            fenced: false,
            token,
            accepted: true,
            read: Some(read),
            written: Some(written),
        };
        story.line(t, "", what);
    };
    update(&mut story, 3.0, 100, 0, 1);
    update(&mut story, 10.0, 101, 1, 2);
    update(&mut story, 12.0, 100, 1, 2);
    let counts = story.passes().counts.unfenced;
    assert_eq!((counts.stale, counts.lost_updates), (1, 1));
}

#[test]
fn i6_deadline_without_a_margin() {
    let mut story = Story::without_commits();
    story.granted(A, 1, 100, 1.0);
    for line in &mut story.lines {
        if let What::Grant { valid_until, .. } = &mut line.what {
            *valid_until = at(1.0 + LEASE);
        }
    }
    story.breaks(&[I6]);
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
fn i6_renewal_credited_to_a_newer_attempt() {
    let mut story = Story::new();
    story
        .granted(A, 1, 100, 1.0)
        .renew(A, 1, 1, 4.0, Some((6.1, Outcome::Ok)))
        .commit(4.1, CommitKind::Renew, 1, 1, 100)
        .renew(A, 1, 2, 6.0, None)
        .credited(A, 1, 1, 6.0, 6.1);
    story.breaks(&[I6]);
}

#[test]
fn i6_deadline_stays_with_the_newer_of_two_attempts() {
    let mut story = Story::new();
    story
        .granted(A, 1, 100, 1.0)
        .renew(A, 1, 1, 4.0, Some((6.2, Outcome::Ok)))
        .commit(4.1, CommitKind::Renew, 1, 1, 100)
        .renew(A, 1, 2, 5.0, Some((6.1, Outcome::Ok)))
        .commit(5.1, CommitKind::Renew, 1, 2, 100)
        .credited(A, 1, 2, 5.0, 6.1);
    let deadline = story.lines.iter().find_map(|line| match line.what {
        What::Credit { valid_until, .. } => Some(valid_until),
        _ => None,
    });
    story.credited(A, 1, 1, 4.0, 6.2);
    for line in &mut story.lines {
        if let What::Credit {
            n: 1, valid_until, ..
        } = &mut line.what
        {
            *valid_until = deadline.unwrap();
        }
    }
    story.passes();
}

#[test]
fn i6_repeat_counts_from_the_first_copy() {
    let mut story = Story::new();
    // The first reply was lost; the second copy learns of the grant (A2). From the first copy on is
    // right, from the second on is not.
    story
        .tried(A, 1, 1.0)
        .commit(1.1, CommitKind::Take, 1, 0, 100)
        .acquire(A, 1, 1.0, Some((2.0, Outcome::Unknown, None)))
        .acquire(A, 1, 2.1, Some((2.2, Outcome::Ok, Some(100))));
    let mut wrong = story.clone();
    story.believes(A, 1, 100, 1.0, 2.2).passes();
    wrong.believes(A, 1, 100, 2.1, 2.2).breaks(&[I6]);
}

#[test]
fn i7_reply_after_the_deadline_revives() {
    let mut story = Story::without_commits();
    story
        .granted(A, 1, 100, 1.0)
        .renew(A, 1, 1, 8.5, Some((9.5, Outcome::Ok)))
        .credited(A, 1, 1, 8.5, 9.5);
    story.breaks(&[I7]);
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
fn i7_renewal_that_came_too_late_and_was_not_credited() {
    let mut story = Story::without_commits();
    story
        .granted(A, 1, 100, 1.0)
        .renew(A, 1, 1, 8.5, Some((9.5, Outcome::Ok)))
        .ended(A, 1, 9.0, Cause::Expired);
    story.passes();
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

/// The credit's stamp comes late: a thread that was put aside between its decision and its line.
#[test]
fn i8_look_between_a_renewal_and_its_line_is_no_late_one() {
    let story = |answered, looked| {
        let mut story = Story::without_commits();
        story
            .granted(A, 1, 100, 1.0)
            .renew(A, 1, 1, 6.0, Some((answered, Outcome::Ok)))
            .looked(A, 1, looked, true)
            .credited(A, 1, 1, 6.0, 9.4);
        story
    };
    // A believes until 9.0, or 14.0 from the credit on.
    story(8.9, 9.1).passes();
    // Nobody had answered yet; one thread is never in the middle.
    story(9.2, 9.1).breaks(&[I7, I8]);
    story(8.9, 9.1).single_thread().breaks(&[I7, I8]);
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
    // A process that stood still could not be told.
    let mut other = late.clone();
    other.fault("pause", B, 3.0, 9.4).breaks(&[I8]);
    late.fault("pause", A, 3.0, 9.4);
    assert_eq!(excused(&late.passes(), I8), [("pause", 1)]);
}

/// Bounds of time have the header's slack; a credit has none, however late its reply.
#[test]
fn slack_is_for_bounds_of_time() {
    let mut told = Story::without_commits();
    told.slack(1.0)
        .granted(A, 1, 100, 1.0)
        .ended(A, 1, 9.4, Cause::Expired)
        .told(A, 1, 9.4);
    told.passes();
    let mut revived = Story::without_commits();
    revived
        .slack(1.0)
        .granted(A, 1, 100, 1.0)
        .renew(A, 1, 1, 8.5, Some((9.1, Outcome::Ok)))
        .credited(A, 1, 1, 8.5, 9.1);
    revived.breaks(&[I7]);
    let mut dead = Story::without_commits();
    dead.slack(1.0)
        .waited(A, 1, 1.0, Some((9.3, Some(1))))
        .tried(A, 1, 1.0)
        .acquire(A, 1, 1.0, Some((9.1, Outcome::Ok, Some(100))))
        .believes(A, 1, 100, 1.0, 9.2);
    dead.breaks(&[I8]);
}

#[test]
fn i8_dead_grant_is_handed_out() {
    let mut story = Story::without_commits();
    story
        .single_thread()
        .waited(A, 1, 1.0, Some((9.5, Some(1))))
        .granted(A, 1, 100, 1.0);
    story.breaks(&[I8]);
}
