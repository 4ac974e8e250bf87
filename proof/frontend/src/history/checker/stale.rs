//! I9: the acts that a stale or released term may not perform.

use uuid::Uuid;

use super::{
    Findings, ROUNDING,
    facts::{At, Belief, Call, Facts, NameFacts, TermFacts},
};
use crate::history::{
    Invariant,
    line::{Cause, CommitKind, Outcome},
};

pub(super) fn check(facts: &Facts<'_>, findings: &mut Findings<'_>) {
    for (name, of_name) in &facts.names {
        for (uuid, term) in of_name.terms() {
            released_is_over(facts, name, term, findings);
            stale_is_refused(facts, name, of_name, uuid, term, findings);
            released_on_the_stores_word(facts, name, of_name, term, findings);
            handed_over_is_not_released(name, term, findings);
            valid_lease_is_not_released(name, term, findings);
        }
        if facts.has_calls {
            only_its_own_calls(name, of_name, findings);
        }
        if facts.header.commits {
            release_is_idempotent(name, of_name, findings);
        }
    }
}

/// From its release on, a lease is not valid, not credited, and not renewed (V7).
fn released_is_over(
    facts: &Facts<'_>,
    name: &str,
    term: &TermFacts<'_>,
    findings: &mut Findings<'_>,
) {
    let Some(began) = term.release_began else {
        return;
    };
    findings.judge(Invariant::I9);
    let mut say = |at: At, what: &str| {
        let says = format!("{} {what} after its release had begun", term.process);
        findings.broken(Invariant::I9, name, &[began, at], says);
    };
    for (look, valid) in &term.looks {
        if *valid && look.t > began.t {
            say(*look, "got the answer \"valid\"");
        }
    }
    for belief in &term.beliefs {
        if belief.at.t > began.t {
            say(belief.at, "credited a success");
        }
    }
    // One renewal may have been drawn before, and sent by another thread at the same time: the next is drawn only when
    // it has been answered.
    let under_way =
        |call: &Call| call.sent.t <= began.t && call.answered.is_none_or(|(at, _)| at.t > began.t);
    let drawn = !facts.header.single_thread && !term.renews.iter().any(under_way);
    let after = term
        .renews
        .iter()
        .filter(|call| call.sent.t > began.t + ROUNDING);
    for call in after.skip(usize::from(drawn)) {
        say(call.sent, "sent a renewal");
    }
}

/// R3, L3: a larger token was known when this call was sent, so the record belonged to another term. The exception: a
/// late copy of the term's own acquire took the record again, which makes it an orphan (I11) and not a holder.
fn stale_is_refused(
    facts: &Facts<'_>,
    name: &str,
    of_name: &NameFacts<'_>,
    uuid: Uuid,
    term: &TermFacts<'_>,
    findings: &mut Findings<'_>,
) {
    // The last of its leases' tokens, all of which are the term's.
    let Some(token) = term.shown() else { return };
    // A term that began with a smaller token than was known before breaks I4, and does not count as a successor.
    let before = term.acquires.first().and_then(|call| call.known);
    let stale = |known: u64| known > token && before.is_none_or(|(_, before)| before < known);
    for (call, what) in calls(&term.renews, "renewed").chain(calls(&term.releases, "released")) {
        if let (Some((known_at, known)), Some((answered, Outcome::Ok))) =
            (call.known, call.answered)
            && stale(known)
            && !may_be_an_orphan(facts, of_name, uuid, term, token, answered)
        {
            let says = format!("token {token} was {what} although token {known} was known before");
            findings.broken(Invariant::I9, name, &[known_at, call.sent, answered], says);
        }
    }
}

/// Whether a late copy of this term's acquire took the record before this instant: according to the store's log, or
/// because a copy without a definite answer may still have been in flight.
fn may_be_an_orphan(
    facts: &Facts<'_>,
    of_name: &NameFacts<'_>,
    uuid: Uuid,
    term: &TermFacts<'_>,
    token: u64,
    by: At,
) -> bool {
    if facts.header.commits {
        return of_name.commits.iter().any(|(at, commit)| {
            let anew = commit.kind == CommitKind::Take && commit.token > token;
            anew && commit.uuid == uuid && at.t <= by.t
        });
    }
    term.acquires.iter().any(|call| {
        let settled = call.answered.is_some_and(|(_, outcome)| {
            matches!(outcome, Outcome::Ok | Outcome::Held | Outcome::Spent)
        });
        call.sent.t < by.t && !settled
    })
}

fn calls<'a>(
    calls: &'a [Call],
    what: &'static str,
) -> impl Iterator<Item = (&'a Call, &'static str)> {
    calls.iter().map(move |call| (call, what))
}

/// "Released" needs a reply to the release that says so; or its term has continued with another lease (S1). A reply that the term has ended also suffices, if that may be the effect of an
/// earlier attempt of the release of a valid lease (V7), or of a try of the same process that claimed it. "Not held"
/// needs a reply to the first attempt.
fn released_on_the_stores_word(
    facts: &Facts<'_>,
    name: &str,
    of_name: &NameFacts<'_>,
    term: &TermFacts<'_>,
    findings: &mut Findings<'_>,
) {
    let answered = |wanted| {
        let mut answers = term.releases.iter().filter_map(|call| call.answered);
        answers.any(|(_, outcome)| outcome == wanted)
    };
    // As far as was known by then.
    let no = |call: &Call, by: At| {
        let answered = call.answered.filter(|(at, _)| at.t < by.t);
        call.sent.t > by.t || answered.is_some_and(|(_, answer)| answer == Outcome::Held)
    };
    let may_be_granted = |claim: &Uuid, by: At| {
        let term = of_name.first(*claim);
        term.is_some_and(|term| !term.acquires.iter().all(|call| no(call, by)))
    };
    let began = term.release_began.map_or(0, |at| at.t);
    let ran_out = |belief: Belief| belief.valid_until + ROUNDING < began;
    let protected = !term.deadline_at(began).is_none_or(ran_out)
        && term.end.is_none_or(|(_, cause)| cause == Cause::Released);
    for (at, outcome) in &term.release_ended {
        let attempts = term.releases.iter().filter(|call| call.sent.t <= at.t);
        let repeated = attempts.count() > 1;
        let told = answered(Outcome::Ok);
        let handed_over = term.succeeded.is_some_and(|succeeded| succeeded.t <= at.t)
            || answered(Outcome::Lost)
                && (protected && repeated
                    || term.claims.iter().any(|claim| may_be_granted(claim, *at)));
        if facts.has_calls && *outcome == Outcome::Ok && !told && !handed_over {
            let says = format!(
                "{} got the answer \"released\", the store did not say so",
                term.process
            );
            findings.broken(Invariant::I9, name, &[*at], says);
        }
        // The outcome of an abandoned try is reported to no caller.
        let held = !term.grants.is_empty();
        if facts.has_calls && *outcome == Outcome::Lost && repeated && held {
            let says = format!(
                "{} got the answer \"not held\", and an earlier attempt of its release may be the reason",
                term.process
            );
            findings.broken(Invariant::I9, name, &[*at], says);
        }
    }
}

/// H7: a holder that has given a ticket away releases nothing: the term belongs to the redeemer.
fn handed_over_is_not_released(name: &str, term: &TermFacts<'_>, findings: &mut Findings<'_>) {
    if let Some((end, Cause::HandedOver)) = term.end
        && let Some(call) = term.releases.iter().find(|call| call.sent.t >= end.t)
    {
        let says = format!("{} released what it had handed over", term.process);
        findings.broken(Invariant::I9, name, &[end, call.sent], says);
    }
}

/// A release names the term alone: that of a lease which has ended would end the lease that followed it.
fn valid_lease_is_not_released(name: &str, term: &TermFacts<'_>, findings: &mut Findings<'_>) {
    let Some((granted, _)) = term.grants.first().copied() else {
        return;
    };
    let Some(began) = term.release_began else {
        return;
    };
    let early = |call: &&Call| (granted.t + 1..began.t).contains(&call.sent.t);
    if let Some(call) = term.releases.iter().find(early) {
        let says = format!(
            "{}'s lease was released before its own release began",
            term.process
        );
        findings.broken(Invariant::I9, name, &[granted, call.sent], says);
    }
}

/// A renewal or a release that no lease of that term had requested.
fn only_its_own_calls(name: &str, of_name: &NameFacts<'_>, findings: &mut Findings<'_>) {
    for (at, commit) in &of_name.commits {
        let mut leases = of_name.leases(commit.uuid);
        let (sent, what) = match commit.kind {
            CommitKind::Renew => (
                leases.find_map(|term| term.departures.get(&commit.n).copied()),
                "renewed",
            ),
            CommitKind::Release => (
                leases.find_map(|term| Some(term.releases.first()?.sent)),
                "released",
            ),
            _ => continue,
        };
        let asked = sent.is_some_and(|sent| sent.t <= at.t);
        if !asked {
            let token = commit.token;
            let says =
                format!("the term with token {token} was {what} without its holder's asking");
            findings.broken(Invariant::I9, name, &[*at], says);
        }
    }
}

/// L2: repeating a release while the record still belongs to the term succeeds.
fn release_is_idempotent(name: &str, of_name: &NameFacts<'_>, findings: &mut Findings<'_>) {
    // The terms that the record belonged to, each with its beginning.
    let mut owners: Vec<(At, Option<Uuid>)> = Vec::new();
    for (at, commit) in &of_name.commits {
        let owner = match commit.kind {
            CommitKind::Delete | CommitKind::Forget => None,
            _ => Some(commit.uuid),
        };
        if owners.last().is_none_or(|(_, last)| *last != owner) {
            owners.push((*at, owner));
        }
    }
    let owner_at = |t| {
        let index = owners.partition_point(|(at, _)| at.t <= t);
        index.checked_sub(1).map(|index| (index, owners[index].1))
    };
    for (uuid, term) in of_name.terms() {
        for call in &term.releases {
            if let Some((answered, Outcome::Lost)) = call.answered
                && let Some((index, Some(owner))) = owner_at(call.sent.t)
                && owner == uuid
                && owner_at(answered.t).is_some_and(|(later, _)| later == index)
            {
                let says = format!("{} was refused the release of its own term", term.process);
                findings.broken(Invariant::I9, name, &[owners[index].0, answered], says);
            }
        }
    }
}
