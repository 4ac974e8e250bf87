//! The checker finds what is wrong, and nothing else: hand-made histories, at least one bad one for
//! each invariant, and the good ones that come nearest to it.

mod belief;
mod closing;
mod liveness;
mod overlap;
mod stale;
mod tokens;

use dlock_proof::history::{
    Invariant::{self, I15, Shape},
    checker::Report,
    line::{CommitKind, Outcome},
};

use super::story::Story;

pub(crate) const A: &str = "A";
pub(crate) const B: &str = "B";

/// How often which faults excused an invariant.
pub(crate) fn excused(report: &Report, invariant: Invariant) -> Vec<(&str, u64)> {
    let judgements = report.counts.judgements.get(&invariant);
    let kinds = judgements.into_iter().flat_map(|it| &it.excused);
    kinds.map(|(kind, count)| (kind.as_str(), *count)).collect()
}

/// A takes, renews and releases; B, who waits, takes; and so on. With faults that break nothing.
pub(crate) fn ordinary(commits: bool) -> Story {
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
fn report_says_what_was_judged_and_what_excused() {
    let mut story = Story::new();
    story
        .granted(A, 1, 100, 1.0)
        .fault("kill", A, 5.0, 5.0)
        .fault("partition", B, 9.0, 13.0)
        .waited(B, 1, 3.0, Some((12.1, Some(2))))
        .granted(B, 2, 101, 11.9);
    let report = story.passes();
    assert_eq!(excused(&report, I15), [("partition", 1)]);
    let says = report.to_string();
    assert!(says.contains("I15 0, excused by partition 1"), "{says}");
    assert!(says.contains("I1 2;") && says.contains("I6 2;"), "{says}");
}

#[test]
fn order_of_the_lines_does_not_matter() {
    let mut story = ordinary(true);
    let counts = story.passes().counts;
    story.lines.reverse();
    assert_eq!(story.passes().counts, counts);
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

/// Quadratic work would take minutes here.
#[test]
fn long_history_takes_linear_time() {
    let mut story = Story::new();
    story.granted(A, 1, 100, 1.0).kept(A, 1, 1.2);
    let mut now = 1.0;
    for n in 1..20_000_u32 {
        now += 4.0;
        story.renewed(A, 1, 100, n.into(), now);
        story.looked(A, 1, now + 0.5, true);
        story.waited(B, n.into(), now, Some((now + 3.0, None)));
        story.fault("lose reply", B, now, now + 0.1);
        story.wrote(now, true, 100, true);
    }
    let clock = dlock_core::Clock::system();
    let started = clock.reading();
    let counts = story.passes().counts;
    assert_eq!(counts.renewals, 19_999);
    let took = clock.reading() - started;
    assert!(took.as_secs() < 20, "{took:?}");
}
