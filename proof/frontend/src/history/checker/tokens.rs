//! I3, I4, I11: tokens grow, and one request gets one.

use std::collections::{BTreeMap, HashSet};

use super::{
    Findings, Seconds,
    facts::{At, Facts, NameFacts},
};
use crate::history::{
    Invariant, Micros,
    line::{Commit, CommitKind, Outcome},
};

/// How long after its expiry a record may be deleted (T5).
const WEEK: Micros = 7 * 24 * 3600 * 1_000_000;

pub(super) fn check(facts: &Facts<'_>, findings: &mut Findings<'_>) {
    for (name, of_name) in &facts.names {
        told(name, of_name, findings);
        if facts.header.commits {
            written(name, of_name, findings);
        }
    }
}

/// The tokens that clients learnt: I3, I4, I11.
fn told(name: &str, of_name: &NameFacts<'_>, findings: &mut Findings<'_>) {
    let mut owners = BTreeMap::new();
    for (uuid, term) in of_name.terms() {
        let replies = term.acquires.iter().filter_map(|call| {
            let (at, outcome) = call.answered?;
            Some((at, call.token.filter(|_| outcome == Outcome::Ok)?))
        });
        let mut tokens: Vec<(At, u64)> = replies.chain(term.grants.iter().copied()).collect();
        tokens.sort_by_key(|(at, _)| (at.t, at.line));
        let Some((first, token)) = tokens.first().copied() else {
            continue;
        };
        for invariant in [Invariant::I3, Invariant::I4, Invariant::I11] {
            findings.judge(invariant);
        }
        if let Some((at, other)) = tokens.iter().find(|(_, other)| *other != token) {
            let says = format!("one request was granted with token {token} and with {other}");
            findings.broken(Invariant::I11, name, &[first, *at], says);
        }
        if let [(one, _), (other, _), ..] = term.grants[..] {
            let says = format!("one request, token {token}, was believed to be granted twice");
            findings.broken(Invariant::I11, name, &[one, other], says);
        }
        if let Some((other, at)) = owners.insert(token, (uuid, first))
            && other != uuid
        {
            let says = format!("two terms have token {token}");
            findings.broken(Invariant::I3, name, &[at, first], says);
        }
        // The highest token known when this term was first requested.
        if let Some(first_call) = term.acquires.first()
            && let Some((known_at, known)) = first_call.known
            && token <= known
        {
            let says = format!(
                "token {token} was granted to {} who asked after token {known} was known",
                term.process
            );
            findings.broken(
                Invariant::I4,
                name,
                &[known_at, first_call.sent, first],
                says,
            );
        }
    }
}

/// The tokens that the store wrote: I3, I11.
fn written(name: &str, of_name: &NameFacts<'_>, findings: &mut Findings<'_>) {
    let mut highest: Option<(At, u64)> = None;
    let mut record: Option<(At, u64, Micros)> = None;
    // Terms that took the name, with no write of another since.
    let mut took: Option<(uuid::Uuid, At)> = None;
    let mut reported = HashSet::new();
    for (at, commit) in &of_name.commits {
        let token = commit.token;
        match commit.kind {
            CommitKind::Take => {
                if let Some((before, last)) = highest
                    && token <= last
                {
                    let says = format!("token {token} was minted after token {last}");
                    findings.broken(Invariant::I3, name, &[before, *at], says);
                }
                if let Some((uuid, before)) = took
                    && uuid == commit.uuid
                {
                    let says =
                        format!("one request took the name twice, at last with token {token}");
                    findings.broken(Invariant::I11, name, &[before, *at], says);
                }
                took = Some((commit.uuid, *at));
                let term = of_name.first(commit.uuid);
                let told = term.and_then(|term| Some((term.grants.first()?.0, term.shown()?)));
                // A store that lost this write grants the same try again.
                let lost = |told_at: At| {
                    let undone = |(undone, commit): &(At, &Commit)| {
                        commit.kind == CommitKind::Undo
                            && (at.t, at.line) < (undone.t, undone.line)
                            && undone.t <= told_at.t
                    };
                    of_name.commits.iter().any(undone)
                };
                if let Some((told_at, told)) = told
                    && told != token
                    && told_at.t >= at.t
                    && !lost(told_at)
                    && reported.insert(commit.uuid)
                {
                    let says = format!("the store wrote token {token}, its holder learnt {told}");
                    findings.broken(Invariant::I3, name, &[*at, told_at], says);
                }
            }
            CommitKind::Renew
            | CommitKind::Release
            | CommitKind::Revoke
            | CommitKind::Close
            | CommitKind::Touch => {
                if let Some((before, last, _)) = record
                    && token != last
                {
                    let says =
                        format!("a write that grants nothing changed token {last} to {token}");
                    findings.broken(Invariant::I3, name, &[before, *at], says);
                }
                if matches!(commit.kind, CommitKind::Revoke | CommitKind::Close) {
                    took = None;
                }
            }
            CommitKind::Delete => {
                let early = record.filter(|(_, _, gone)| at.t < gone.saturating_add(WEEK));
                if let Some((before, last, gone)) = early {
                    let says = format!(
                        "the record with token {last} was deleted within a week of {}",
                        Seconds(gone)
                    );
                    findings.broken(Invariant::I3, name, &[before, *at], says);
                }
                (record, took) = (None, None);
                continue;
            }
            CommitKind::Undo => took = None,
            CommitKind::Forget => {
                (record, took) = (None, None);
                continue;
            }
        }
        let gone = commit.expiry.unwrap_or(at.t + commit.duration);
        record = Some((*at, token, gone));
        if highest.is_none_or(|(_, highest)| token > highest) {
            highest = Some((*at, token));
        }
    }
}
