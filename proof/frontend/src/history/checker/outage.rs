//! I17: leases that were lost though nothing was wrong for long enough.

use super::{
    Findings, ROUNDING, Seconds,
    facts::{Facts, NameFacts, TermFacts},
    overlap::scaled,
};
use crate::history::{
    Invariant, Micros,
    line::{Cause, CommitKind},
};

pub(super) fn check(facts: &Facts<'_>, findings: &mut Findings<'_>) {
    for (name, of_name) in &facts.names {
        for (uuid, term) in of_name.terms() {
            ran_out(facts, name, term, findings);
            if facts.header.commits {
                refused(facts, name, of_name, uuid, findings);
            }
        }
    }
}

/// A lease that renews itself ran out.
fn ran_out(facts: &Facts<'_>, name: &str, term: &TermFacts<'_>, findings: &mut Findings<'_>) {
    let (Some(keep), Some(last)) = (term.keep, term.beliefs.last()) else {
        return;
    };
    let seen = term.told.first().map(|at| (*at, Cause::Expired));
    let Some((end, Cause::Expired)) = term.end.or(seen) else {
        return;
    };
    if end.t + ROUNDING < last.valid_until
        || term.release_began.is_some_and(|at| at.t < last.valid_until)
    {
        return;
    }
    let duration = facts.duration(term);
    let pause = (duration / 60).clamp(2_000, 500_000) * 3 / 2;
    let needed = duration / 6 + pause;
    let needed = scaled(needed, 1.0 / (1.0 - facts.header.drift))
        + facts.header.round_trip
        + facts.header.slack;
    let since = last.valid_until.saturating_sub(needed);
    // A lease that nobody renewed before its time was nearly over had no chance.
    let late = keep.t > since;
    let disturbed = facts.faults.during(term.process, since, last.valid_until);
    if findings.bound(late || disturbed) {
        let says = format!(
            "{} lost its lease at {} though nothing was wrong since {}",
            term.process,
            Seconds(last.valid_until),
            Seconds(since)
        );
        findings.broken(Invariant::I17, name, &[last.at, end], says);
    }
}

/// The store refused a renewal of a term that it still had.
fn refused(
    facts: &Facts<'_>,
    name: &str,
    of_name: &NameFacts<'_>,
    uuid: uuid::Uuid,
    findings: &mut Findings<'_>,
) {
    let Some(term) = of_name.terms.get(&uuid) else {
        return;
    };
    let Some((end, Cause::Refused)) = term.end else {
        return;
    };
    let before = of_name.commits.partition_point(|(at, _)| at.t <= end.t);
    let Some((at, commit)) = of_name.commits[..before].last() else {
        return;
    };
    let alive = commit.uuid == uuid
        && matches!(
            commit.kind,
            CommitKind::Take | CommitKind::Renew | CommitKind::Touch
        )
        && commit.expiry.is_none_or(|expiry| end.t < expiry);
    if alive && !facts.faults.during(term.process, at.t, end.t) {
        let until = commit.expiry.unwrap_or(Micros::MAX);
        let until = if until == Micros::MAX {
            String::new()
        } else {
            format!(" until {}", Seconds(until))
        };
        let says = format!(
            "{} was refused a renewal of a term it still had{until}",
            term.process
        );
        findings.broken(Invariant::I17, name, &[*at, end], says);
    }
}
