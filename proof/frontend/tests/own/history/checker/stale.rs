//! I9: what is stale or released changes nothing.

use dlock_proof::history::{
    Invariant::{I3, I4, I9},
    What,
    line::{Cause, CommitKind, Outcome},
};

use super::super::{
    checker::{A, B},
    story::{Story, id},
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
fn i9_renewal_in_flight_when_the_release_begins() {
    let mut story = Story::new();
    story
        .granted(A, 1, 100, 1.0)
        .renew(A, 1, 1, 2.9, Some((3.3, Outcome::Lost)))
        .released(A, 1, 100, 3.0);
    story.passes();
}

#[test]
fn i9_stale_holder_releases_its_successor() {
    // The store releases whatever there is.
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
fn i9_stale_holder_is_told_that_it_renewed_or_released() {
    for renews in [true, false] {
        let mut story = Story::without_commits();
        story
            .granted(A, 1, 100, 1.0)
            .ended(A, 1, 9.0, Cause::Expired)
            .granted(B, 2, 101, 12.0);
        if renews {
            story.renew(A, 1, 1, 13.0, Some((13.2, Outcome::Ok)));
        } else {
            story.release(A, 1, 13.0, Some((13.2, Outcome::Ok)));
        }
        story.breaks(&[I9]);
    }
}

/// A copy of A's acquire arrives when B has released: it takes the lock for nobody (I11), and A's
/// release, which is still repeated, finds the record its own again.
#[test]
fn i9_late_copy_of_an_acquire_is_released_by_its_own_term() {
    let story = |commits: bool, lost_copy: bool| {
        let mut story = if commits {
            Story::new()
        } else {
            Story::without_commits()
        };
        if lost_copy {
            story.acquire(A, 1, 1.05, Some((1.1, Outcome::Unknown, None)));
        }
        story
            .granted(A, 1, 100, 1.0)
            .ended(A, 1, 9.0, Cause::Expired)
            .granted(B, 2, 101, 12.0)
            .released(B, 2, 101, 13.0);
        story
    };
    let mut log = story(true, true);
    log.release(A, 1, 14.0, Some((14.2, Outcome::Ok)));
    log.breaks(&[I9]);
    log.commit(13.5, CommitKind::Take, 1, 0, 102).passes();
    let mut told = story(false, true);
    told.release(A, 1, 14.0, Some((14.2, Outcome::Ok))).passes();
    let mut told = story(false, false);
    told.release(A, 1, 14.0, Some((14.2, Outcome::Ok)));
    told.breaks(&[I9]);
}

/// A purge, and a clock that is behind: the next grant's token is too small (I4), but the record is
/// its own.
#[test]
fn i9_term_that_began_below_a_known_token_releases_its_own_record() {
    let mut story = Story::new();
    story
        .granted(A, 1, 100, 1.0)
        .released(A, 1, 100, 2.0)
        .commit(2.5, CommitKind::Forget, 1, 0, 100)
        .granted(B, 2, 90, 3.0)
        .released(B, 2, 90, 4.0);
    story.breaks(&[I3, I4]);

    // Somebody else had it since.
    let mut story = Story::without_commits();
    story
        .granted(A, 1, 100, 1.0)
        .released(A, 1, 100, 2.0)
        .granted(B, 2, 90, 3.0)
        .ended(B, 2, 11.0, Cause::Expired)
        .granted(A, 3, 101, 14.0)
        .release(B, 2, 15.0, Some((15.2, Outcome::Ok)));
    story.breaks(&[I4, I9]);
}

#[test]
fn i9_released_without_the_stores_word() {
    let mut story = Story::without_commits();
    let ended = What::ReleaseEnded {
        uuid: id(1),
        token: None,
        outcome: Outcome::Ok,
    };
    story
        .granted(A, 1, 100, 1.0)
        .line(
            9.5,
            A,
            What::ReleaseBegan {
                uuid: id(1),
                token: None,
            },
        )
        .release(A, 1, 9.5, Some((9.6, Outcome::Lost)))
        .line(9.6, A, ended);
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

/// A try of A's own claims the term while A gives it back (H1), and A's release comes after it.
#[test]
fn i9_released_by_a_try_of_the_same_process() {
    let story = |claim: Option<Option<Outcome>>| {
        let mut story = Story::without_commits();
        story
            .granted(A, 1, 100, 1.0)
            .ended(A, 1, 3.0, Cause::Released)
            .line(
                3.0,
                A,
                What::ReleaseBegan {
                    uuid: id(1),
                    token: None,
                },
            );
        if let Some(answer) = claim {
            let answer = answer.map(|outcome| (3.1, outcome, None));
            story.claim(A, 2, 1, 3.0, answer);
        }
        let what = What::ReleaseEnded {
            uuid: id(1),
            token: None,
            outcome: Outcome::Ok,
        };
        story
            .release(A, 1, 3.2, Some((3.4, Outcome::Lost)))
            .line(3.4, A, what);
        story
    };
    story(Some(None)).passes();
    story(Some(Some(Outcome::Unknown))).passes();
    // A copy of it was applied; and nothing may depend on an error that claims that it was not.
    story(Some(Some(Outcome::Spent))).passes();
    story(Some(Some(Outcome::Error))).passes();
    story(Some(Some(Outcome::Held))).breaks(&[I9]);
    story(None).breaks(&[I9]);
}

/// V7: an attempt without an answer may have let in the stranger whom the next one finds.
#[test]
fn i9_repeated_release_that_finds_a_stranger() {
    let story = |began: f64, first: Option<Outcome>, told: Outcome| {
        let mut story = Story::without_commits();
        let ended = What::ReleaseEnded {
            uuid: id(1),
            token: None,
            outcome: told,
        };
        story.granted(A, 1, 100, 1.0).line(
            began,
            A,
            What::ReleaseBegan {
                uuid: id(1),
                token: None,
            },
        );
        if let Some(outcome) = first {
            story.release(A, 1, began, Some((began + 0.2, outcome)));
        }
        let later = began + 1.0;
        story
            .release(A, 1, later, Some((later + 0.1, Outcome::Lost)))
            .line(later + 0.1, A, ended);
        story
    };
    for first in [Outcome::Unknown, Outcome::Error] {
        story(3.0, Some(first), Outcome::Ok).passes();
        story(3.0, Some(first), Outcome::Lost).breaks(&[I9]);
        story(9.5, Some(first), Outcome::Ok).breaks(&[I9]);
        story(9.5, Some(first), Outcome::Unknown).passes();
    }
    story(3.0, None, Outcome::Lost).passes();
    story(3.0, None, Outcome::Ok).breaks(&[I9]);
}
