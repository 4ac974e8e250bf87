//! B4: closed names.

use dlock_proof::history::{
    Invariant::B4,
    line::{Cause, CommitKind},
};

use super::super::{
    checker::{A, B},
    story::Story,
};

/// A works from 1.0 on and closes the name at 3.0, for as long as a lease lasts.
fn closed() -> Story {
    let mut story = Story::new();
    story
        .granted(A, 1, 100, 1.0)
        .waited(A, 1, 1.0, Some((1.2, Some(1))))
        .release(A, 1, 2.9, None)
        .ended(A, 1, 2.9, Cause::Released)
        .commit(3.0, CommitKind::Close, 9, 0, 100);
    story
}

#[test]
fn b4_closed_name_is_entered() {
    let mut late = closed();
    late.granted(B, 2, 101, 11.9);
    late.passes();
    let mut early = closed();
    early.granted(B, 2, 101, 11.7);
    early.breaks(&[B4]);
}
