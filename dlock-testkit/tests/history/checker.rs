//! The checker finds what is wrong, and nothing else: hand-made histories, at least one bad one for
//! each invariant, and the good ones that come nearest to it.

use dlock_core::Discipline;
use dlock_testkit::history::{
    Invariant::{I1, I2, I3, I4, I5, I6, I7, I8, I9, I10, I11, I12, I15, I17, Shape},
    What,
    line::{Cause, CommitKind, Outcome},
};

use crate::story::{BELIEF, LEASE, Story, at, id};

const A: &str = "A";
const B: &str = "B";

/// A takes, renews and releases; B, who waits, takes; and so on. With faults that break nothing.
fn ordinary(commits: bool) -> Story {
    let mut story = if commits {
        Story::new()
    } else {
        Story::without_commits()
    };
    story
        .waited(A, 1, 1.0, Some((1.2, Some(1))))
        .granted(A, 1, 100, 1.0)
        .kept(A, 1, 1.2)
        .waited(B, 1, 2.0, Some((9.3, Some(2))))
        .acquire(B, 20, 2.0, Some((2.1, Outcome::Held, None)))
        .fault("lose reply", A, 4.0, 4.2)
        .renew(A, 1, 1, 4.0, Some((4.2, Outcome::Unknown)))
        .commit(4.1, CommitKind::Renew, 1, 1, 100)
        .renewed(A, 1, 100, 2, 5.0)
        .looked(A, 1, 8.0, true)
        .released(A, 1, 100, 9.0)
        .looked(A, 1, 9.1, false)
        .granted(B, 2, 101, 9.1);
    story
}

#[test]
fn good_history_passes_and_is_counted() {
    for commits in [true, false] {
        let report = ordinary(commits).passes();
        let counts = report.counts;
        assert_eq!(counts.grants, 2);
        assert_eq!(counts.renewals, 1);
        assert_eq!(counts.takeovers, 0);
        assert_eq!(counts.losses, 0);
        assert_eq!(counts.unknown, 1);
        assert_eq!(counts.calls["renew unknown"], 1);
        assert_eq!(counts.calls["acquire held"], 1);
        assert_eq!(counts.asks["ok"], 2);
        assert_eq!(counts.faults["lose reply"], 1);
    }
}

#[test]
fn order_of_the_lines_does_not_matter() {
    let mut story = ordinary(true);
    let counts = story.passes().counts;
    story.lines.reverse();
    assert_eq!(story.passes().counts, counts);
}

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
    // It excuses nothing that was over before.
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
    late.fault("pause", A, 3.0, 9.4);
    assert_eq!(late.passes().counts.not_judged, 1);
}

#[test]
fn i8_dead_grant_is_handed_out() {
    let mut story = Story::without_commits();
    story
        .waited(A, 1, 1.0, Some((9.5, Some(1))))
        .granted(A, 1, 100, 1.0);
    story.breaks(&[I8]);
}

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

#[test]
fn i9_released_without_the_stores_word() {
    let mut story = Story::without_commits();
    let ended = What::ReleaseEnded {
        uuid: id(1),
        outcome: Outcome::Ok,
    };
    story
        .granted(A, 1, 100, 1.0)
        .line(9.5, A, What::ReleaseBegan { uuid: id(1) })
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

#[test]
fn i10_ghost_blocks_who_waits() {
    // A's request was applied and its reply lost; it gave up. B waits.
    let ghost = |taken: f64| {
        let mut story = Story::new();
        story
            .tried(A, 1, 1.0)
            .commit(1.1, CommitKind::Take, 1, 0, 100)
            .acquire(A, 1, 1.0, Some((2.6, Outcome::Unknown, None)))
            .waited(B, 1, 2.0, Some((taken + 0.1, Some(2))))
            .granted(B, 2, 101, taken - 0.1);
        story
    };
    assert_eq!(ghost(11.2).passes().counts.judged, 1);
    ghost(14.0).breaks(&[I10]);
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
fn i11_repeat_learns_of_the_same_grant_and_a_late_copy_makes_one_ghost() {
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

/// The credit's stamp comes late: a thread that was put aside between its decision and its line.
#[test]
fn i8_look_between_a_renewal_and_its_line_is_no_late_one() {
    let story = |slack, answered, looked| {
        let mut story = Story::without_commits();
        story
            .slack(slack)
            .granted(A, 1, 100, 1.0)
            .renew(A, 1, 1, 6.0, Some((answered, Outcome::Ok)))
            .looked(A, 1, looked, true)
            .credited(A, 1, 1, 6.0, 9.4);
        story
    };
    assert!((1.0 + BELIEF - 9.0).abs() < 1e-9);
    story(0.5, 8.9, 9.1).passes();
    // Nobody had answered yet; it was not in the middle; a clock that is exact has no middle.
    story(0.5, 9.2, 9.1).breaks(&[I8]);
    story(0.3, 8.9, 9.05).breaks(&[I7, I8]);
    story(0.0, 8.9, 9.1).breaks(&[I7, I8]);
}

#[test]
fn i12_one_process_believes_twice() {
    let mut story = Story::without_commits();
    story.granted(A, 1, 100, 1.0).granted(A, 2, 101, 5.0);
    story.breaks(&[I12]);
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
        assert_eq!((early.counts.judged, early.counts.takeovers), (1, 1));
        dead_holder(Discipline::StoreClock, commits, 15.5).breaks(&[I15]);
        // An observer waits for D on a clock that may lose 10 %, and a poll.
        dead_holder(Discipline::Observer, commits, 15.5).passes();
        dead_holder(Discipline::Observer, commits, 17.5).breaks(&[I15]);
    }
}

/// Who was paused asks for its release when another has taken over.
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
    assert_eq!(cut_off.passes().counts.not_judged, 1);

    // Nobody knows when the last renewal was applied.
    let mut unknown = dead_holder(Discipline::StoreClock, false, 15.5);
    unknown.renew(A, 1, 2, 4.9, None);
    assert_eq!(unknown.passes().counts.not_judged, 1);

    // Nobody waited so long.
    let mut gone = Story::new();
    gone.granted(A, 1, 100, 1.0)
        .fault("kill", A, 2.0, 2.0)
        .waited(B, 1, 3.0, Some((6.0, None)))
        .acquire(B, 2, 30.0, Some((30.1, Outcome::Held, None)));
    assert_eq!(gone.passes().counts.judged, 0);
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
    assert_eq!((long.counts.losses, long.counts.not_judged), (1, 1));
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
fn shape_belief_without_a_reply() {
    let mut story = Story::without_commits();
    story
        .acquire(A, 1, 1.0, Some((1.2, Outcome::Unknown, None)))
        .believes(A, 1, 100, 1.0, 1.2);
    story.breaks(&[Shape]);

    let mut story = Story::without_commits();
    story
        .granted(A, 1, 100, 1.0)
        .renew(A, 1, 1, 4.0, Some((4.2, Outcome::Error)))
        .credited(A, 1, 1, 4.0, 4.2);
    story.breaks(&[Shape]);
}

#[test]
fn shape_history_without_a_header() {
    let mut story = ordinary(true);
    story.lines.remove(0);
    assert!(story.check().breaks(Shape));
}

#[test]
fn unknown_outcomes_are_counted_apart() {
    let mut story = ordinary(true);
    story
        .acquire(A, 7, 20.0, None)
        .acquire(A, 8, 20.0, Some((21.0, Outcome::Unknown, None)));
    let counts = story.passes().counts;
    assert_eq!(counts.unknown, 3);
    assert_eq!(counts.calls["acquire open"], 1);
    assert_eq!(counts.calls["acquire unknown"], 1);
}
