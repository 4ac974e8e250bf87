//! I3, I4, I11: tokens grow, one request gets one.

use dlock_proof::history::{
    Invariant::{I3, I4, I11},
    line::{CommitKind, Outcome},
};

use super::super::{
    checker::{A, B},
    story::Story,
};

#[test]
fn i3_tokens_start_again() {
    let mut story = Story::new();
    story
        .granted(A, 1, 100, 1.0)
        .released(A, 1, 100, 2.0)
        .granted(B, 2, 1, 3.0);
    story.breaks(&[I3, I4]);
}

#[test]
fn i3_two_terms_with_one_token() {
    let mut story = Story::without_commits();
    // Asked for at the same time, so that I4 says nothing.
    story
        .acquire(B, 2, 1.0, None)
        .granted(A, 1, 100, 1.0)
        .released(A, 1, 100, 2.0);
    story
        .acquire(B, 2, 1.1, Some((2.5, Outcome::Ok, Some(100))))
        .believes(B, 2, 100, 1.0, 2.5);
    story.breaks(&[I3]);
}

#[test]
fn i3_renewal_changes_the_token() {
    let mut story = Story::new();
    story.granted(A, 1, 100, 1.0).renewed(A, 1, 101, 1, 4.0);
    story.breaks(&[I3]);
}

#[test]
fn i3_holder_is_told_another_token_than_was_written() {
    let mut story = Story::new();
    story
        .tried(A, 1, 1.0)
        .commit(1.1, CommitKind::Take, 1, 0, 9_007_199_254_740_991)
        .acquire(
            A,
            1,
            1.0,
            Some((1.2, Outcome::Ok, Some(9_007_199_254_740_990))),
        )
        .believes(A, 1, 9_007_199_254_740_990, 1.0, 1.2);
    story.breaks(&[I3]);
}

#[test]
fn i3_record_deleted_on_release() {
    let mut story = Story::new();
    story
        .granted(A, 1, 100, 1.0)
        .released(A, 1, 100, 2.0)
        .commit(2.15, CommitKind::Delete, 1, 0, 100);
    story.breaks(&[I3]);
    // A week after its expiry it may go.
    let mut story = Story::new();
    story
        .granted(A, 1, 100, 1.0)
        .released(A, 1, 100, 2.0)
        .commit(7.0 * 86_400.0 + 12.2, CommitKind::Delete, 1, 0, 100);
    story.passes();
}

#[test]
fn i4_later_grant_has_the_smaller_token() {
    let mut story = Story::without_commits();
    story
        .granted(A, 1, 100, 1.0)
        .released(A, 1, 100, 2.0)
        .granted(B, 2, 99, 3.0);
    story.breaks(&[I4]);
}

#[test]
fn i4_says_nothing_of_grants_that_overlap_in_flight() {
    // B asked before A's grant was known, and was granted first.
    let mut story = Story::without_commits();
    story
        .acquire(B, 2, 0.5, Some((5.0, Outcome::Ok, Some(99))))
        .granted(A, 1, 100, 1.0);
    story.passes();
}

#[test]
fn i11_one_request_is_granted_twice() {
    // Released, and then granted again by a late copy.
    let mut story = Story::new();
    story
        .granted(A, 1, 100, 1.0)
        .released(A, 1, 100, 2.0)
        .commit(3.0, CommitKind::Take, 1, 0, 101);
    story.breaks(&[I11]);

    let mut story = Story::without_commits();
    story
        .granted(A, 1, 100, 1.0)
        .acquire(A, 1, 1.5, Some((1.6, Outcome::Ok, Some(101))));
    story.breaks(&[I11]);
}

#[test]
fn i11_repeat_learns_of_the_same_grant_and_a_late_copy_makes_one_orphan() {
    let mut story = Story::new();
    story
        .granted(A, 1, 100, 1.0)
        .acquire(A, 1, 1.5, Some((1.6, Outcome::Ok, Some(100))))
        .released(A, 1, 100, 2.0)
        .granted(B, 2, 101, 3.0)
        .released(B, 2, 101, 4.0)
        .commit(5.0, CommitKind::Take, 1, 0, 102);
    story.passes();
}

#[test]
fn i11_store_that_lost_its_memory_may_grant_again() {
    let mut story = Story::new();
    story
        .granted(B, 9, 99, 0.1)
        .released(B, 9, 99, 0.5)
        .granted(A, 1, 100, 1.0)
        .commit(1.5, CommitKind::Undo, 9, 0, 99)
        .commit(1.6, CommitKind::Take, 1, 0, 101);
    story.passes();
}

/// The first grant's reply was lost, and then the grant: the repeated try is granted anew.
#[test]
fn i3_try_is_told_what_was_written_after_a_rollback() {
    let told = |lost: bool| {
        let mut story = Story::new();
        story
            .granted(B, 9, 99, 0.1)
            .released(B, 9, 99, 0.5)
            .tried(A, 1, 1.0)
            .acquire(A, 1, 1.0, Some((1.3, Outcome::Unknown, None)))
            .commit(1.1, CommitKind::Take, 1, 0, 100);
        if lost {
            story.commit(1.2, CommitKind::Undo, 9, 0, 99);
        }
        story
            .commit(1.5, CommitKind::Take, 1, 0, 101)
            .acquire(A, 1, 1.4, Some((1.6, Outcome::Ok, Some(101))))
            .believes(A, 1, 101, 1.0, 1.6);
        story
    };
    told(true).passes();
    told(false).breaks(&[I3, I11]);
}
