//! I17: leases that were lost although nothing had been wrong for long enough.

use std::cmp::Ordering;

use super::{
    Findings, ROUNDING, Seconds,
    facts::{At, Facts, NameFacts, TermFacts},
    overlap::scaled,
};
use crate::history::{
    Invariant, Micros,
    line::{Cause, CommitKind, Outcome},
};

pub(super) fn check(facts: &Facts<'_>, findings: &mut Findings<'_>) {
    for (name, of_name) in &facts.names {
        for (uuid, term) in of_name.terms() {
            ran_out(facts, name, term, findings);
            if facts.header.commits {
                refused(facts, name, of_name, (uuid, term), findings);
            }
        }
    }
}

/// A lease that renews itself expired.
fn ran_out(facts: &Facts<'_>, name: &str, term: &TermFacts<'_>, findings: &mut Findings<'_>) {
    let Some(keep) = term.keep else {
        return;
    };
    let duration = facts.duration(term);
    let pause = (duration / 60).clamp(2_000, 500_000) * 3 / 2;
    let needed = duration / 6 + pause;
    let needed = scaled(needed, 1.0 / (1.0 - facts.header.drift))
        + facts.header.round_trip
        + facts.header.slack;
    let ends = [term.release_began, term.end.map(|(at, _)| at)];
    let given_up = ends.into_iter().flatten().map(|at| at.t).min();
    let died = facts.faults.killed(term.process);
    for (index, belief) in term.beliefs.iter().enumerate() {
        let since = belief.valid_until.saturating_sub(needed);
        let renewed = term.beliefs[index + 1..]
            .iter()
            .find(|next| next.valid_until > belief.valid_until)
            .map(|next| next.at.t);
        let over = given_up
            .into_iter()
            .chain(died)
            .min()
            .unwrap_or(Micros::MAX);
        // A lease that was not renewed until its time had nearly ended had no chance.
        if keep.t > since || over <= since.min(renewed.unwrap_or(since)) {
            continue;
        }
        let disturbed = |to| match since.cmp(&to) {
            Ordering::Less => facts.faults.striking(term.process, name, since, to),
            _ => None,
        };
        if let Some(renewed) = renewed {
            let to = since.min(renewed);
            let struck = facts.faults.striking(term.process, name, belief.sent, to);
            if struck.is_some() || has_failed(term, belief.sent, renewed) {
                findings.bound(Invariant::I17, disturbed(renewed.min(belief.valid_until)));
            }
            continue;
        }
        if let Some(end) = expired(term, belief.valid_until)
            && findings.bound(Invariant::I17, disturbed(belief.valid_until))
        {
            let says = format!(
                "{} lost its lease at {} though nothing was wrong since {}",
                term.process,
                Seconds(belief.valid_until),
                Seconds(since)
            );
            findings.broken(Invariant::I17, name, &[belief.at, end], says);
        }
    }
}

/// Whether a renewal attempt that was sent in this span got no answer.
fn has_failed(term: &TermFacts<'_>, from: Micros, to: Micros) -> bool {
    let first = term.renews.partition_point(|call| call.sent.t < from);
    let mut sent = term.renews[first..]
        .iter()
        .take_while(|call| call.sent.t < to);
    sent.any(|call| {
        call.answered
            .is_none_or(|(_, outcome)| matches!(outcome, Outcome::Unknown | Outcome::Error))
    })
}

/// When it was known that the lease had ended at its deadline.
fn expired(term: &TermFacts<'_>, deadline: Micros) -> Option<At> {
    let seen = term.told.first().map(|at| (*at, Cause::Expired));
    let Some((end, Cause::Expired)) = term.end.or(seen) else {
        return None;
    };
    let released = term.release_began.is_some_and(|at| at.t < deadline);
    (end.t + ROUNDING >= deadline && !released).then_some(end)
}

/// The store refused a renewal of a term that it still held.
fn refused(
    facts: &Facts<'_>,
    name: &str,
    of_name: &NameFacts<'_>,
    (uuid, term): (uuid::Uuid, &TermFacts<'_>),
    findings: &mut Findings<'_>,
) {
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
    let disturbed = facts.faults.during(term.process, name, at.t, end.t);
    if alive && findings.bound(Invariant::I17, disturbed) {
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
