//! A picture says what is broken, and shows it.

use dlock_proof::history::{line::CommitKind, line::Outcome, picture};

use super::story::Story;

/// A holds and cannot renew; the store gives its name to B too early; C, who died, had it before.
pub(crate) fn stolen() -> Story {
    let mut story = Story::new();
    story
        .waited("A", 1, 4.0, Some((12.3, Some(1))))
        .waited("B", 1, 14.0, Some((24.2, Some(2))));
    story
        .granted("C", 9, 99, 2.0)
        .fault("kill", "C", 3.5, 3.5)
        .acquire("A", 10, 4.0, Some((4.2, Outcome::Held, None)))
        .acquire("A", 11, 8.0, Some((8.2, Outcome::Held, None)))
        .granted("A", 1, 100, 12.1)
        .kept("A", 1, 12.3)
        .renewed("A", 1, 100, 1, 15.4)
        .renewed("A", 1, 100, 2, 18.7)
        .fault("partition", "A", 21.0, 25.5)
        .acquire("B", 20, 14.0, Some((14.2, Outcome::Held, None)))
        .acquire("B", 21, 19.0, Some((19.2, Outcome::Held, None)))
        .renew("A", 1, 3, 22.0, Some((23.6, Outcome::Unknown)))
        .commit(24.1, CommitKind::Take, 2, 0, 101)
        .tried("B", 2, 24.0)
        .acquire("B", 2, 24.0, Some((24.2, Outcome::Ok, Some(101))))
        .believes("B", 2, 101, 24.0, 24.2)
        .renew("A", 1, 4, 23.7, Some((25.3, Outcome::Unknown)))
        .wrote(19.0, true, 100, true)
        .wrote(24.6, true, 101, true)
        .wrote(25.8, true, 100, false)
        .wrote(27.0, true, 101, true);
    story
}

#[test]
fn picture_says_and_shows_what_is_broken() {
    let story = stolen();
    let report = story.check();
    assert!(!report.is_clean());
    let svg = picture(&story.lines, &report).unwrap();
    let violation = &report.violations[0];
    let title = format!(
        "{} broken: {}",
        violation.invariant,
        violation.invariant.says()
    );
    for expected in [
        title.as_str(),
        "token 100",
        "token 101",
        "partition",
        ">A</text>",
        ">B</text>",
        ">store</text>",
        ">ledger</text>",
        "seed 42",
    ] {
        assert!(svg.contains(expected), "{expected:?}");
    }
}
