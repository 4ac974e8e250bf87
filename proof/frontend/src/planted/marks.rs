//! Wrong marks (N1 to N3): those that a refusal leaves, and those that a release reports.

use dlock_core::{
    Record,
    provider::{Acquire, ReleaseOutcome},
};
use dlock_testkit::memory::rules::{Decision, Now, Stored, Write, micros};

use super::Flaw;

/// Changes what a refusal leaves and shows.
pub(super) fn left(
    flaw: Flaw,
    (write, shown): (&mut Write, &mut Record),
    stored: &Stored,
    request: &Acquire,
    now: &Now,
) {
    let mut changed = match write {
        Write::Put(marked) => (**marked).clone(),
        Write::Nothing | Write::Delete => stored.clone(),
    };
    let record = &mut changed.record;
    let marks = record.wanted != stored.record.wanted;
    match flaw {
        Flaw::MarkIsLeftOut => record.wanted = stored.record.wanted,
        Flaw::MarkIsAFlag if marks => record.wanted = 1,
        Flaw::MarkIsReplaced if request.marks != 0 => record.wanted = request.marks,
        Flaw::EveryRefusalMarks if record.wanted == 0 => record.wanted = 1,
        Flaw::MarkCounts if marks => record.renewals += 1,
        Flaw::MarkTakesRequestBack if marks => record.asked = false,
        Flaw::MarkExtends if marks => changed.expiry = now.clock + micros(record.duration),
        _ => return,
    }
    *shown = now.shows(&changed);
    *write = Write::Put(Box::new(changed));
}

/// Changes the marks that a grant leaves.
pub(super) fn taken(flaw: Flaw, taken: &mut Record, old: Option<&Record>, request: &Acquire) {
    match flaw {
        Flaw::GrantMarks => taken.wanted = request.marks,
        Flaw::KeepsMark => taken.wanted = old.map_or(0, |old| old.wanted),
        Flaw::ClaimClearsMark => taken.wanted = 0,
        _ => {}
    }
}

/// A try that marks a released record, which is then held again.
pub(super) fn revived(stored: &Stored, request: &Acquire) -> Write {
    let mut stored = stored.clone();
    (stored.record.released, stored.record.wanted) = (false, request.marks);
    Write::Put(Box::new(stored))
}

/// Changes what a release leaves and reports.
pub(super) fn released(
    flaw: Flaw,
    mut decision: Decision<ReleaseOutcome>,
    before: &Record,
    closes: bool,
) -> Decision<ReleaseOutcome> {
    if let Write::Put(written) = &mut decision.write {
        match flaw {
            Flaw::ReleaseClearsMark if !closes => written.record.wanted = 0,
            Flaw::ClosingClearsMark if closes => written.record.wanted = 0,
            _ => {}
        }
    }
    if let Ok(ReleaseOutcome::Released { wanted }) = &mut decision.answer {
        match flaw {
            Flaw::ReleaseIsAlwaysWanted if !closes => *wanted = true,
            Flaw::ReleaseIsNeverWanted => *wanted = false,
            Flaw::RepeatedReleaseIsUnwanted if before.released => *wanted = false,
            Flaw::ClosingIsWanted if closes => *wanted = before.wanted != 0,
            _ => {}
        }
    }
    decision
}
