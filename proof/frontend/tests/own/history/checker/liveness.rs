//! I10, I15, I17: in time, and not too early.

use dlock_core::provider::Discipline;
use dlock_proof::history::{
    Invariant::{I10, I15, I17},
    What,
    line::{Cause, CommitKind, Outcome},
};

use super::super::{
    checker::{A, B, excused},
    story::Story,
};

#[test]
fn i10_orphan_blocks_who_waits() {
    // A's request was applied and its reply lost; it gave up. B waits.
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

/// A dies holding; B waits and has the name at `taken`.
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

/// A process that was paused asks for its release when another has taken over.
#[test]
fn late_release_does_not_hide_a_takeover() {
    for commits in [true, false] {
        let mut story = if commits {
            Story::new()
        } else {
            Story::without_commits()
        };
        story
            .granted(A, 1, 100, 1.0)
            .fault("pause", A, 2.0, 15.0)
            .granted(B, 2, 101, 12.0)
            .release(A, 1, 15.5, Some((15.6, Outcome::Lost)))
            .released(B, 2, 101, 16.0)
            .granted(A, 3, 102, 17.0);
        assert_eq!(story.passes().counts.takeovers, 1, "commits: {commits}");
    }
}

#[test]
fn i15_takeover_that_never_comes() {
    let mut story = Story::new();
    story
        .granted(A, 1, 100, 1.0)
        .fault("kill", A, 2.0, 2.0)
        .waited(B, 1, 3.0, None);
    // The history ends before the time is up.
    story.passes();
    story.acquire(B, 2, 30.0, Some((30.1, Outcome::Held, None)));
    story.breaks(&[I15]);
}

#[test]
fn i15_is_not_judged_under_faults_or_without_answers() {
    let mut cut_off = dead_holder(Discipline::StoreClock, true, 15.5);
    cut_off.fault("partition", B, 12.0, 15.0);
    assert_eq!(excused(&cut_off.passes(), I15), [("partition", 1)]);

    // Nobody knows when the last renewal was applied.
    let mut unknown = dead_holder(Discipline::StoreClock, false, 15.5);
    unknown.renew(A, 1, 2, 4.9, None);
    assert_eq!(excused(&unknown.passes(), I15), [("no answer", 1)]);

    // Nobody waited so long.
    let mut gone = Story::new();
    gone.granted(A, 1, 100, 1.0)
        .fault("kill", A, 2.0, 2.0)
        .waited(B, 1, 3.0, Some((6.0, None)))
        .acquire(B, 2, 30.0, Some((30.1, Outcome::Held, None)));
    assert_eq!(gone.passes().counts.bounds(I15), 0);
}

/// What strikes another process, or another lock, delays nobody here.
#[test]
fn i15_is_judged_under_faults_of_others() {
    let late = || dead_holder(Discipline::StoreClock, true, 15.5);
    for other in [A, "C", "B#2", "BB"] {
        late().fault("partition", other, 12.0, 15.0).breaks(&[I15]);
    }
    late().fault_of("purge", "gate", 12.0, 15.0).breaks(&[I15]);
    late().fault_of("purge", "door", 12.0, 15.0).passes();
    // What strikes B's machine strikes all its lives.
    late().fault("partition", "B#", 12.0, 15.0).passes();
}

/// Without the store's log: A is cut off while it asks, and gives up; B waits.
#[test]
fn i10_try_without_an_answer_blocks_who_waits() {
    let orphan = |taken: f64, outcome| {
        let mut story = Story::without_commits();
        story
            .tried(A, 1, 1.0)
            .acquire(A, 1, 1.0, Some((2.6, outcome, None)))
            .waited(B, 1, 2.0, Some((taken + 0.1, Some(2))))
            .granted(B, 2, 101, taken - 0.1);
        story
    };
    let early = orphan(13.6, Outcome::Unknown).passes();
    assert_eq!(early.counts.bounds(I10), 1);
    orphan(15.0, Outcome::Unknown).breaks(&[I10]);
    // It was refused: it has left nothing, and why B waits is no question of A's.
    assert_eq!(orphan(15.0, Outcome::Held).passes().counts.bounds(I10), 0);
    // What holds up A's request may deliver it later; what holds up C's does not.
    orphan(15.0, Outcome::Unknown)
        .fault("partition", A, 0.5, 5.0)
        .passes();
    orphan(15.0, Outcome::Unknown)
        .fault("partition", "C", 0.5, 5.0)
        .breaks(&[I10]);
    // Somebody else keeps the lock.
    let mut kept = orphan(15.0, Outcome::Unknown);
    kept.granted("C", 3, 100, 0.2)
        .renewed("C", 3, 100, 1, 4.0)
        .renewed("C", 3, 100, 2, 8.0)
        .released("C", 3, 100, 14.0);
    assert_eq!(kept.passes().counts.bounds(I10), 0);
}

/// A lease that renews itself, whose renewals fail from 3.3 s on, and whose outage is over at `over`.
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

/// The faults of others excuse no loss, and an outage that was ridden out is counted.
#[test]
fn i17_is_judged_under_faults_of_others() {
    outage(5.0).fault("partition", B, 3.0, 9.0).breaks(&[I17]);
    outage(5.0).fault("partition", A, 3.0, 9.0).passes();
    outage(5.0)
        .fault_of("revoke", "gate", 3.0, 9.0)
        .breaks(&[I17]);

    let ridden = |from: f64, over: f64, lost: bool| {
        let mut story = Story::new();
        story
            .granted(A, 1, 100, 1.0)
            .kept(A, 1, 1.2)
            .fault("outage", "", from, over);
        if lost {
            story.renew(A, 1, 1, 4.3, Some((5.9, Outcome::Unknown)));
        }
        story.renewed(A, 1, 100, 2, 8.0);
        story.passes()
    };
    // The last chance is from 6.87 s on.
    assert_eq!(ridden(3.0, 6.0, true).counts.bounds(I17), 1);
    assert_eq!(ridden(3.0, 6.0, false).counts.bounds(I17), 1);
    assert_eq!(ridden(0.5, 0.8, true).counts.bounds(I17), 1);
    assert_eq!(ridden(0.5, 0.8, false).counts.bounds(I17), 0, "no trouble");
    assert_eq!(excused(&ridden(3.0, 7.5, true), I17), [("outage", 1)]);
}

#[test]
fn i17_lease_that_nobody_renews_may_run_out() {
    let mut story = Story::new();
    story
        .granted(A, 1, 100, 1.0)
        .ended(A, 1, 9.0, Cause::Expired)
        .told(A, 1, 9.0);
    story.passes();
}

#[test]
fn i17_store_refuses_what_it_still_has() {
    let mut story = Story::new();
    story
        .granted(A, 1, 100, 1.0)
        .renew(A, 1, 1, 4.0, Some((4.2, Outcome::Lost)))
        .ended(A, 1, 4.2, Cause::Refused);
    story.breaks(&[I17]);
    // Revoked, it is right to.
    let mut revoked = Story::new();
    revoked
        .granted(A, 1, 100, 1.0)
        .commit(3.0, CommitKind::Revoke, 9, 0, 100)
        .renew(A, 1, 1, 4.0, Some((4.2, Outcome::Lost)))
        .ended(A, 1, 4.2, Cause::Refused);
    revoked.passes();
}

#[test]
fn i15_is_no_question_of_a_lease_that_was_given_back() {
    // The hand-off came late, by a lost hint and a slow poll say: that is I16's affair.
    let mut story = Story::new();
    story
        .granted(A, 1, 100, 1.0)
        .waited(B, 1, 2.0, Some((30.2, Some(2))))
        .released(A, 1, 100, 3.0)
        .granted(B, 2, 101, 30.0);
    assert_eq!(story.passes().counts.bounds(I15), 0);
}

#[test]
fn i15_asks_nothing_of_a_waiter_that_died() {
    let mut story = Story::new();
    story
        .waited(B, 1, 0.2, None)
        .fault("kill", B, 0.5, 0.5)
        .granted(A, 1, 100, 1.0)
        .fault("kill", A, 2.0, 2.0)
        .line(30.0, "C", What::Start { rate: None });
    assert_eq!(story.passes().counts.bounds(I15), 0);
}
