//! I10, I15, I17: in time, and not too early.

use dlock_core::provider::Discipline;
use dlock_proof::history::{
    Invariant::{I10, I15, I17},
    line::{Cause, CommitKind, Outcome},
};

use super::super::{
    checker::{A, B, excused},
    story::Story,
};

#[test]
fn i10_orphan_blocks_who_waits() {
    // A's request was applied and its reply lost; A abandoned it. B waits.
    let orphan = |taken: f64| {
        let mut story = Story::new();
        story
            .tried(A, 1, 1.0)
            .commit(1.1, CommitKind::Take, 1, 0, 100)
            .acquire(A, 1, 1.0, Some((2.6, Outcome::Unknown, None)))
            .waited(B, 1, 2.0, Some((taken + 0.1, Some(2))))
            .granted(B, 2, 101, taken - 0.1);
        story
    };
    assert_eq!(orphan(11.2).passes().counts.bounds(I10), 1);
    orphan(14.0).breaks(&[I10]);
}

/// A dies while it holds the lock; B waits and gets the name at `taken`.
fn dead_holder(discipline: Discipline, commits: bool, taken: f64) -> Story {
    let mut story = Story::with(discipline, commits);
    story
        .granted(A, 1, 100, 1.0)
        .renewed(A, 1, 100, 1, 4.0)
        .fault("kill", A, 5.0, 5.0)
        .waited(B, 1, 3.0, Some((taken + 0.1, Some(2))))
        .granted(B, 2, 101, taken - 0.1);
    story
}

#[test]
fn i15_takeover_comes_too_late() {
    for commits in [true, false] {
        let early = dead_holder(Discipline::StoreClock, commits, 14.2).passes();
        assert_eq!((early.counts.bounds(I15), early.counts.takeovers), (1, 1));
        dead_holder(Discipline::StoreClock, commits, 15.5).breaks(&[I15]);
        // An observer waits for D on a clock that may lose 10 %, and a poll.
        dead_holder(Discipline::Observer, commits, 15.5).passes();
        dead_holder(Discipline::Observer, commits, 17.5).breaks(&[I15]);
    }
}

/// A is stopped; it requests a release only after B has its lock, or early enough for B.
#[test]
fn i15_is_judged_where_a_stopped_holder_releases_too_late() {
    let woken = |taken, at: f64| {
        let mut story = dead_holder(Discipline::StoreClock, false, taken);
        story.release(A, 1, at, Some((at + 0.1, Outcome::Lost)));
        story
    };
    assert_eq!(woken(14.2, 16.0).passes().counts.bounds(I15), 1);
    woken(15.5, 16.0).breaks(&[I15]);
    assert_eq!(woken(15.5, 15.0).passes().counts.bounds(I15), 0);
}

#[test]
fn i15_is_not_judged_under_faults_or_without_answers() {
    let mut cut_off = dead_holder(Discipline::StoreClock, true, 15.5);
    cut_off.fault("partition", B, 12.0, 15.0);
    assert_eq!(excused(&cut_off.passes(), I15), [("partition", 1)]);

    // It is unknown when the last renewal was applied.
    let mut unknown = dead_holder(Discipline::StoreClock, false, 15.5);
    unknown.renew(A, 1, 2, 4.9, None);
    assert_eq!(excused(&unknown.passes(), I15), [("no answer", 1)]);

    // No caller waited for that long.
    let mut gone = Story::new();
    gone.granted(A, 1, 100, 1.0)
        .fault("kill", A, 2.0, 2.0)
        .waited(B, 1, 3.0, Some((6.0, None)))
        .acquire(B, 2, 30.0, Some((30.1, Outcome::Held, None)));
    assert_eq!(gone.passes().counts.bounds(I15), 0);
}

/// A lease that renews itself, whose renewals fail from 3.3 s on, and whose outage ends at `over`.
fn outage(over: f64) -> Story {
    let mut story = Story::new();
    story
        .granted(A, 1, 100, 1.0)
        .kept(A, 1, 1.2)
        .fault("outage", "", 3.0, over)
        .renew(A, 1, 1, 4.3, Some((5.9, Outcome::Unknown)))
        .ended(A, 1, 9.0, Cause::Expired)
        .told(A, 1, 9.0);
    story
}

#[test]
fn i17_short_outage_loses_the_lease() {
    outage(5.0).breaks(&[I17]);
    let long = outage(8.0).passes();
    assert_eq!(long.counts.losses, 1);
    assert_eq!(excused(&long, I17), [("outage", 1)]);
}

#[test]
fn i17_store_refuses_what_it_still_has() {
    let mut story = Story::new();
    story
        .granted(A, 1, 100, 1.0)
        .renew(A, 1, 1, 4.0, Some((4.2, Outcome::Lost)))
        .ended(A, 1, 4.2, Cause::Refused);
    story.breaks(&[I17]);
    // If the term was revoked, the refusal is right.
    let mut revoked = Story::new();
    revoked
        .granted(A, 1, 100, 1.0)
        .commit(3.0, CommitKind::Revoke, 9, 0, 100)
        .renew(A, 1, 1, 4.0, Some((4.2, Outcome::Lost)))
        .ended(A, 1, 4.2, Cause::Refused);
    revoked.passes();
}
