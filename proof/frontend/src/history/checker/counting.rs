//! How much of everything a history holds.

use std::collections::BTreeMap;

use super::{
    facts::{Facts, NameFacts, TermFacts},
    report::Counts,
};
use crate::history::{
    Line, Micros, What,
    line::{Cause, CommitKind, Outcome},
};

pub(super) fn count(lines: &[Line], facts: &Facts<'_>) -> Counts {
    let mut counts = Counts {
        lines: lines.len() as u64,
        faults: facts.faults.count.clone(),
        ..Counts::default()
    };
    let times = lines
        .iter()
        .filter(|line| !matches!(line.what, What::Header(_)))
        .map(|line| line.t);
    counts.span = facts.end.saturating_sub(times.min().unwrap_or(facts.end));
    let mut open: BTreeMap<&str, i64> = BTreeMap::new();
    for line in lines {
        let (op, outcome) = match &line.what {
            What::Acquire { outcome, .. } => ("acquire", outcome),
            What::Renew { outcome, .. } => ("renew", outcome),
            What::Release { outcome, .. } => ("release", outcome),
            What::Read { outcome, .. } => ("read", outcome),
            What::AskEnd { outcome, .. } => {
                *counts.asks.entry(word(*outcome).into()).or_default() += 1;
                continue;
            }
            _ => continue,
        };
        let Some(outcome) = outcome else {
            *open.entry(op).or_default() += 1;
            continue;
        };
        *open.entry(op).or_default() -= 1;
        let what = format!("{op} {}", word(*outcome));
        *counts.calls.entry(what).or_default() += 1;
        counts.unknown += u64::from(*outcome == Outcome::Unknown);
    }
    for (op, open) in open {
        if let Ok(open @ 1..) = u64::try_from(open) {
            counts.calls.insert(format!("{op} open"), open);
            counts.unknown += open;
        }
    }
    for of_name in facts.names.values() {
        count_name(facts, of_name, &mut counts);
    }
    counts
}

fn count_name(facts: &Facts<'_>, of_name: &NameFacts<'_>, counts: &mut Counts) {
    for (_, term) in of_name.terms() {
        counts.grants += term.grants.len() as u64;
        let successes = term.beliefs.len() as u64;
        counts.renewals += successes.saturating_sub(term.grants.len() as u64);
        counts.losses += u64::from(matches!(term.end, Some((_, cause)) if !given_away(cause)));
    }
    if facts.header.commits {
        let mut held = false;
        let mut before: Option<&TermFacts<'_>> = None;
        for (at, commit) in &of_name.commits {
            if commit.kind == CommitKind::Take {
                // A name that its holder had given away is handed over, not taken over (H7).
                let given = before.and_then(given_away_at);
                let given = given.is_some_and(|given| given <= at.t);
                counts.takeovers += u64::from(held && !given);
                before = of_name.last(commit.uuid);
            }
            held = match commit.kind {
                CommitKind::Take | CommitKind::Renew | CommitKind::Revoke => true,
                CommitKind::Release
                | CommitKind::Close
                | CommitKind::Delete
                | CommitKind::Forget => false,
                CommitKind::Touch | CommitKind::Undo => held,
            };
        }
        return;
    }
    let mut terms: Vec<_> = of_name
        .terms()
        .filter_map(|(_, term)| {
            let (granted, token) = *term.grants.first()?;
            let released = term.releases.first().map(|call| call.sent.t);
            Some((token, granted.t, given_away_at(term).or(released)))
        })
        .collect();
    terms.sort_unstable();
    // A stale holder may still request its release when another has the lock.
    let taken_over = terms
        .windows(2)
        .filter(|pair| pair[0].2.is_none_or(|released| released > pair[1].1))
        .count();
    counts.takeovers += taken_over as u64;
}

/// When its holder gave it away while it was alive. A lease dropped after its loss was not given away.
fn given_away_at(term: &TermFacts<'_>) -> Option<Micros> {
    let given = term.end.is_some_and(|(_, cause)| given_away(cause));
    term.release_began.filter(|_| given).map(|at| at.t)
}

fn given_away(cause: Cause) -> bool {
    matches!(cause, Cause::Released | Cause::HandedOver)
}

const fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "ok",
        Outcome::Held => "held",
        Outcome::Spent => "spent",
        Outcome::Lost => "lost",
        Outcome::Error => "error",
        Outcome::Fatal => "fatal",
        Outcome::Unknown => "unknown",
        Outcome::Timeout => "timeout",
        Outcome::Closed => "closed",
        Outcome::Dropped => "dropped",
    }
}
