//! B4: a name is closed by the holder whose work has ended, and opens to no client before its time.

use super::{
    Findings, ROUNDING, Seconds,
    facts::{At, Facts, NameFacts, TermFacts},
    overlap::scaled,
};
use crate::history::{
    Invariant, Micros,
    line::{Cause, CommitKind},
};

pub(super) fn check(facts: &Facts<'_>, findings: &mut Findings<'_>) {
    for (name, of_name) in &facts.names {
        entered_early(facts, name, of_name, findings);
    }
}

fn entered_early(
    facts: &Facts<'_>,
    name: &str,
    of_name: &NameFacts<'_>,
    findings: &mut Findings<'_>,
) {
    let mut holder = None;
    let mut closed: Option<(At, Micros)> = None;
    for (at, commit) in &of_name.commits {
        match commit.kind {
            CommitKind::Take => {
                let closed = closed.take();
                if closed.is_some() {
                    findings.judge(Invariant::B4);
                }
                if let Some((from, until)) = closed
                    && at.t + ROUNDING < until
                {
                    let says = format!(
                        "the name was closed until {}, and went with token {}",
                        Seconds(until),
                        commit.token
                    );
                    findings.broken_at(Invariant::B4, name, at.t, &[from, *at], says);
                }
                holder = of_name.last(commit.uuid);
            }
            CommitKind::Close => {
                if let Some(says) = holder.and_then(without_work) {
                    findings.broken_at(Invariant::B4, name, at.t, &[*at], says);
                }
                // A client that observes may enter by its own clock, even where the store's clock decides.
                let fastest = 1.0 / (1.0 + facts.header.drift);
                // The remaining time was computed when the release was sent.
                let asked = holder.and_then(|term| term.releases.first());
                let from = asked.map_or(at.t, |release| release.sent.t.min(at.t));
                closed = Some((*at, from + scaled(commit.duration, fastest)));
            }
            CommitKind::Release | CommitKind::Delete | CommitKind::Forget | CommitKind::Undo => {
                (holder, closed) = (None, None);
            }
            CommitKind::Renew | CommitKind::Revoke | CommitKind::Touch => {}
        }
    }
}

/// The reason why a term should have closed nothing.
fn without_work(term: &TermFacts<'_>) -> Option<String> {
    let (process, token) = (term.process, term.token()?);
    if term.delivered.is_none() {
        Some(format!(
            "{process} closed the name with token {token}, which no caller got"
        ))
    } else if let Some((_, Cause::Expired | Cause::Refused | Cause::HeldTooLong)) = term.end {
        Some(format!(
            "{process} closed the name with token {token}, and had lost it"
        ))
    } else {
        None
    }
}
