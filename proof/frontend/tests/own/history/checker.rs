//! The checker finds what is wrong, and nothing else: hand-made histories, at least one bad one for each invariant, and
//! the good ones that come nearest to it.

mod belief;
mod closing;
mod liveness;
mod overlap;
mod stale;
mod tokens;

use dlock_proof::history::{
    Invariant::{self, Shape},
    checker::Report,
    line::{CommitKind, Outcome},
};

use super::story::Story;

pub(crate) const A: &str = "A";
pub(crate) const B: &str = "B";

/// The kinds of faults that excused an invariant, and how often each did.
pub(crate) fn excused(report: &Report, invariant: Invariant) -> Vec<(&str, u64)> {
    let judgements = report.counts.judgements.get(&invariant);
    let kinds = judgements.into_iter().flat_map(|it| &it.excused);
    kinds.map(|(kind, count)| (kind.as_str(), *count)).collect()
}

/// A takes, renews and releases; B, which waits, takes; and so on. With faults that break nothing.
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
fn shape_history_without_a_header() {
    let mut story = ordinary(true);
    story.lines.remove(0);
    assert!(story.check().breaks(Shape));
}
