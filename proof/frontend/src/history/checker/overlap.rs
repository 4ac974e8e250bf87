//! I1, I2, I12: which lease is valid when, compared with the store.

use std::collections::HashMap;

use super::{
    Findings, ROUNDING, Seconds,
    facts::{At, Facts, NameFacts, TermFacts},
};
use crate::history::{Invariant, Micros, line::CommitKind};

/// A lease while it was valid.
struct Valid<'a> {
    process: &'a str,
    token: u64,
    from: At,
    until: Micros,
}

pub(super) fn check(facts: &Facts<'_>, findings: &mut Findings<'_>) {
    for (name, name_facts) in &facts.names {
        overlaps(facts, name, name_facts, findings);
        deadlines(facts, name, name_facts, findings);
        given_away(facts, name, name_facts, findings);
    }
}

/// I1, I12.
fn overlaps(facts: &Facts<'_>, name: &str, of_name: &NameFacts<'_>, findings: &mut Findings<'_>) {
    let mut leases: Vec<_> = of_name
        .terms()
        .filter_map(|(_, term)| {
            let (from, until) = term.valid(&facts.faults)?;
            Some(Valid {
                process: term.process,
                token: term.token()?,
                from,
                until,
            })
        })
        .filter(|lease| lease.until > lease.from.t)
        .collect();
    leases.sort_by_key(|lease| (lease.from.t, lease.from.line));
    let mut longest: Option<Valid<'_>> = None;
    for lease in leases {
        findings.judge(Invariant::I1);
        if longest
            .as_ref()
            .is_some_and(|before| before.process == lease.process)
        {
            findings.judge(Invariant::I12);
        }
        if let Some(before) = &longest
            && before.until > lease.from.t + ROUNDING
        {
            let same = before.process == lease.process;
            let invariant = if same { Invariant::I12 } else { Invariant::I1 };
            let says = format!(
                "{} holds token {} until {} while {} holds token {} from {} on",
                before.process,
                before.token,
                Seconds(before.until),
                lease.process,
                lease.token,
                Seconds(lease.from.t)
            );
            findings.broken(invariant, name, &[before.from, lease.from], says);
        }
        if longest
            .as_ref()
            .is_none_or(|before| lease.until > before.until)
        {
            longest = Some(lease);
        }
    }
}

/// I2: compares each deadline with the store's promises by then.
fn deadlines(facts: &Facts<'_>, name: &str, of_name: &NameFacts<'_>, findings: &mut Findings<'_>) {
    // For each term, its own commits in order: when, and until when no other client can get the name.
    let mut kept: HashMap<_, Vec<(At, Micros)>> = HashMap::new();
    for (at, commit) in &of_name.commits {
        if matches!(commit.kind, CommitKind::Take | CommitKind::Renew) {
            let until = commit
                .expiry
                .unwrap_or_else(|| at.t + shortest(facts, commit.duration));
            kept.entry(commit.uuid).or_default().push((*at, until));
        }
    }
    for (uuid, term) in of_name.terms() {
        let mut deadline = 0;
        for belief in &term.beliefs {
            // A belief that did not move the deadline supports nothing.
            if belief.valid_until <= deadline {
                continue;
            }
            deadline = belief.valid_until;
            findings.judge(Invariant::I2);
            let promised = if facts.header.commits {
                kept.get(&uuid).and_then(|kept| {
                    let after = kept.partition_point(|(at, _)| at.t <= belief.at.t);
                    Some(kept[after.checked_sub(1)?])
                })
            } else {
                term.departures
                    .get(&belief.n)
                    .map(|sent| (*sent, sent.t + shortest(facts, facts.duration(term))))
            };
            if let Some((shown, until)) = promised
                && belief.valid_until > until + ROUNDING
            {
                let says = format!(
                    "{} believes until {}, but the store keeps others out only until {}",
                    term.process,
                    Seconds(belief.valid_until),
                    Seconds(until)
                );
                findings.broken(Invariant::I2, name, &[shown, belief.at], says);
            }
        }
    }
}

/// I2: no lease outlives the commit that gave its name to another.
fn given_away(facts: &Facts<'_>, name: &str, of_name: &NameFacts<'_>, findings: &mut Findings<'_>) {
    // The lease that was believed in the longest among the terms committed so far.
    let mut longest: Option<(uuid::Uuid, &TermFacts<'_>, At, Micros)> = None;
    for (at, commit) in &of_name.commits {
        if commit.kind != CommitKind::Take {
            continue;
        }
        if let Some((uuid, before, from, until)) = longest
            && until > at.t + ROUNDING
            && uuid != commit.uuid
        {
            let says = format!(
                "the store gave the name away with token {} while {} held token {} until {}",
                commit.token,
                before.process,
                before.token().unwrap_or_default(),
                Seconds(until)
            );
            findings.broken_at(Invariant::I2, name, at.t, &[from, *at], says);
        }
        for taken in of_name.leases(commit.uuid) {
            if let Some((from, until)) = taken.valid(&facts.faults)
                && longest.is_none_or(|(.., longest)| until > longest)
            {
                longest = Some((commit.uuid, taken, from, until));
            }
        }
    }
}

/// The least that D can be on the global axis for a contender that waits for its end.
fn shortest(facts: &Facts<'_>, duration: Micros) -> Micros {
    if facts.header.store_clock {
        duration
    } else {
        scaled(duration, 1.0 / (1.0 + facts.header.drift))
    }
}

/// A span times a factor.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "spans are far below 2^53 microseconds, 285 years; factors are positive"
)]
pub(super) fn scaled(span: Micros, by: f64) -> Micros {
    (span as f64 * by) as Micros
}
