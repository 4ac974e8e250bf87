//! I9: stale and released terms change nothing.

use dlock_proof::history::{
    Invariant::I9,
    line::{Cause, CommitKind, Outcome},
};

use super::super::{
    checker::{A, B},
    story::Story,
};

#[test]
fn i9_valid_or_renewed_while_it_is_released() {
    let mut story = Story::new();
    story
        .granted(A, 1, 100, 1.0)
        .released(A, 1, 100, 3.0)
        .looked(A, 1, 3.1, true);
    story.breaks(&[I9]);

    let mut story = Story::new();
    story
        .granted(A, 1, 100, 1.0)
        .released(A, 1, 100, 3.0)
        .renew(A, 1, 1, 3.05, Some((3.3, Outcome::Lost)));
    story.clone().single_thread().breaks(&[I9]);
    // Another thread may have drawn it before; the next is drawn when it has been answered.
    story.passes();
    story.renew(A, 1, 2, 3.4, Some((3.5, Outcome::Lost)));
    story.breaks(&[I9]);
    let mut story = Story::new();
    story
        .granted(A, 1, 100, 1.0)
        .renew(A, 1, 1, 2.9, Some((3.3, Outcome::Lost)))
        .released(A, 1, 100, 3.0)
        .renew(A, 1, 2, 3.05, Some((3.3, Outcome::Lost)));
    story.breaks(&[I9]);
}

#[test]
fn i9_stale_holder_releases_its_successor() {
    // The store releases any record.
    let mut story = Story::new();
    story
        .granted(A, 1, 100, 1.0)
        .ended(A, 1, 9.0, Cause::Expired)
        .granted(B, 2, 101, 12.0)
        .release(A, 1, 13.0, Some((13.2, Outcome::Lost)));
    story.passes();
    story.commit(13.1, CommitKind::Release, 2, 0, 101);
    story.breaks(&[I9]);
}

#[test]
fn i9_repeated_release_is_refused() {
    let mut story = Story::new();
    story
        .granted(A, 1, 100, 1.0)
        .released(A, 1, 100, 3.0)
        .release(A, 1, 3.5, Some((3.6, Outcome::Ok)));
    story.passes();
    story.release(A, 1, 4.0, Some((4.1, Outcome::Lost)));
    story.breaks(&[I9]);
}
