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
fn i3_record_deleted_on_release() {
    let mut story = Story::new();
    story
        .granted(A, 1, 100, 1.0)
        .released(A, 1, 100, 2.0)
        .commit(2.15, CommitKind::Delete, 1, 0, 100);
    story.breaks(&[I3]);
    // A week after its expiry it may be deleted.
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
