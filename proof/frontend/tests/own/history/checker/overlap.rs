//! I1, I2, I12: who may act.

use dlock_core::provider::Discipline;
use dlock_proof::history::{
    Invariant::{I1, I2, I6, I12},
    What,
    line::{Cause, CommitKind, Outcome},
};

use super::super::{
    checker::{A, B},
    story::{BELIEF, LEASE, Story, at},
};

#[test]
fn i1_two_machines_believe_at_once() {
    // B's request is granted without a look at A's term: A believes until 9.0.
    let mut story = Story::without_commits();
    story.granted(A, 1, 100, 1.0).granted(B, 2, 101, 5.0);
    let report = story.breaks(&[I1]);
    assert!(report.violations[0].says.contains("until 9.000 s"));
    // The store's own log says it twice.
    let mut story = Story::new();
    story.granted(A, 1, 100, 1.0).granted(B, 2, 101, 5.0);
    story.breaks(&[I1, I2]);
}

#[test]
fn i1_touching_leases_do_not_overlap() {
    // A's deadline is the very instant at which B learns of its grant.
    let mut story = Story::without_commits();
    story.granted(A, 1, 100, 1.0).granted(B, 2, 101, 8.8);
    story.passes();
}

#[test]
fn i1_a_lease_ends_with_what_ends_it() {
    let mut released = Story::new();
    released
        .granted(A, 1, 100, 1.0)
        .released(A, 1, 100, 2.0)
        .granted(B, 2, 101, 2.3);
    released.passes();

    let mut killed = Story::without_commits();
    killed
        .granted(A, 1, 100, 1.0)
        .fault("kill", A, 2.0, 2.0)
        .granted(B, 2, 101, 5.0);
    killed.passes();

    let mut refused = Story::without_commits();
    refused
        .granted(A, 1, 100, 1.0)
        .renew(A, 1, 1, 4.0, Some((4.1, Outcome::Lost)))
        .ended(A, 1, 4.1, Cause::Refused)
        .granted(B, 2, 101, 5.0);
    refused.passes();
}

#[test]
fn i1_what_a_fault_breaks_by_design_is_counted_apart() {
    let mut story = Story::without_commits();
    story
        .granted(A, 1, 100, 1.0)
        .excused("store clock forward", "", 4.0, 4.0, &[I1, I2])
        .granted(B, 2, 101, 5.0);
    assert_eq!(story.passes().excused.len(), 1);
    // It excuses nothing of others.
    for (process, breaks) in [(B, false), ("C", true)] {
        let mut story = Story::without_commits();
        story
            .granted(A, 1, 100, 1.0)
            .excused("spent try", process, 4.0, 4.0, &[I1])
            .granted(B, 2, 101, 5.0);
        assert_eq!(story.check().breaks(I1), breaks, "{process}");
    }
    // And nothing that was over before.
    let mut story = Story::without_commits();
    story
        .granted(A, 1, 100, 1.0)
        .granted(B, 2, 101, 5.0)
        .excused("store clock forward", "", 6.0, 6.0, &[I1, I2]);
    story.breaks(&[I1]);
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
fn i2_grant_known_only_after_the_name_was_given_away() {
    let mut story = Story::new();
    story
        .tried(A, 1, 1.0)
        .commit(1.1, CommitKind::Take, 1, 0, 100)
        .granted(B, 2, 101, 3.0)
        .released(B, 2, 101, 4.0)
        .acquire(A, 1, 1.0, Some((5.0, Outcome::Ok, Some(100))))
        .believes(A, 1, 100, 1.0, 5.0);
    story.breaks(&[I2]);
}

#[test]
fn i2_deadline_after_the_records_expiry() {
    // The store keeps a lease of 7 s where one of 10 s was asked for.
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
fn i2_observer_may_take_after_its_own_fast_duration() {
    // D on a clock that gains 10 %, counted from the commit: 9.09 s. A slow holder's 8 s are 8.89 s.
    let mut story = Story::with(Discipline::Observer, true);
    story.line(0.0, A, What::Start { rate: Some(0.9) });
    story.granted(A, 1, 100, 1.0);
    let stretch = |story: &mut Story, until: f64| {
        for line in &mut story.lines {
            if let What::Grant { valid_until, .. } = &mut line.what {
                *valid_until = at(until);
            }
        }
    };
    stretch(&mut story, 1.0 + BELIEF / 0.9);
    story.passes();
    stretch(&mut story, 1.2 + LEASE / 1.1);
    story.breaks(&[I2, I6]);
}

#[test]
fn i12_one_process_believes_twice() {
    let mut story = Story::without_commits();
    story.granted(A, 1, 100, 1.0).granted(A, 2, 101, 5.0);
    story.breaks(&[I12]);
}
