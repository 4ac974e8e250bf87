//! I10, I15: a name whose holder is gone, or whose grant no caller ever got, goes to a waiter.

mod orphans;

use super::{
    Findings, ROUNDING, Seconds,
    facts::{At, Call, Facts, NameFacts, TermFacts},
    overlap::scaled,
};
use crate::history::{
    Invariant, Micros,
    line::{CommitKind, Outcome},
};

/// The reason why a term with a call without a definite answer is not judged.
const UNANSWERED: &str = "no answer";

/// Jitter at an expiry or the end of an observation (W2).
const JITTER: Micros = 50_000;

/// A term that was not released, and when it ended for others.
struct Blocking<'f, 'a> {
    term: Option<&'f TermFacts<'a>>,
    /// The newest write that kept others out.
    newest: At,
    duration: Micros,
    /// `None` if no client learnt it.
    token: Option<u64>,
    /// When the next term began, if one did.
    next: Option<At>,
}

pub(super) fn check(facts: &Facts<'_>, findings: &mut Findings<'_>) {
    for (name, of_name) in &facts.names {
        if of_name.asks.is_empty() {
            continue;
        }
        let mut blocking = if facts.header.commits {
            by_commits(of_name)
        } else {
            let mut blocking = by_replies(facts, of_name, findings);
            blocking.extend(orphans::by_calls(facts, name, of_name));
            blocking
        };
        blocking.sort_by_key(|blocking| blocking.newest.t);
        let mut waiters = Waiters::new(facts, name, of_name);
        for blocking in blocking {
            judge(facts, name, &blocking, &mut waiters, findings);
        }
    }
}

/// The terms of a name as the store wrote them.
fn by_commits<'f, 'a>(of_name: &'f NameFacts<'a>) -> Vec<Blocking<'f, 'a>> {
    let mut all = Vec::new();
    let mut current: Option<Blocking<'f, 'a>> = None;
    for (at, commit) in &of_name.commits {
        match commit.kind {
            CommitKind::Take => {
                if let Some(mut ended) = current.take() {
                    ended.next = Some(*at);
                    all.push(ended);
                }
                current = Some(Blocking {
                    term: of_name.first(commit.uuid),
                    newest: *at,
                    duration: commit.duration,
                    token: Some(commit.token),
                    next: None,
                });
            }
            CommitKind::Renew | CommitKind::Revoke => {
                if let Some(current) = &mut current {
                    current.newest = *at;
                }
            }
            CommitKind::Touch => {}
            // Free, closed or deleted; and a store that lost its memory promises nothing.
            CommitKind::Release
            | CommitKind::Close
            | CommitKind::Delete
            | CommitKind::Forget
            | CommitKind::Undo => current = None,
        }
    }
    all.extend(current);
    all
}

/// The same from replies: only terms whose every call was answered, and that requested no release before another had
/// the name. A holder that was stopped for a while requests its release too late.
fn by_replies<'f, 'a>(
    facts: &Facts<'_>,
    of_name: &'f NameFacts<'a>,
    findings: &mut Findings<'_>,
) -> Vec<Blocking<'f, 'a>> {
    let mut terms: Vec<_> = of_name
        .terms()
        .filter_map(|(uuid, term)| Some((term.token()?, uuid, term)))
        .collect();
    terms.sort_by_key(|(token, ..)| *token);
    let answered = |call: &Call| {
        call.answered
            .is_some_and(|(_, outcome)| outcome != Outcome::Unknown)
    };
    let applied = |call: &Call| {
        let (at, outcome) = call.answered?;
        (outcome == Outcome::Ok).then_some(at)
    };
    let mut all = Vec::new();
    for (index, (token, uuid, term)) in terms.iter().enumerate() {
        let leases = || of_name.leases(*uuid);
        let calls = || leases().flat_map(|lease| lease.acquires.iter().chain(&lease.renews));
        // Once for each term.
        let first = of_name
            .first(*uuid)
            .is_some_and(|first| std::ptr::eq(first, *term));
        let (true, Some(newest)) = (first, calls().filter_map(applied).max_by_key(|at| at.t))
        else {
            continue;
        };
        let next = terms
            .get(index + 1..)
            .and_then(|later| later.iter().find(|(_, next, _)| next != uuid))
            .and_then(|(.., next)| next.acquires.iter().find_map(applied));
        let released = leases().flat_map(|lease| &lease.releases);
        let released = released.map(|call| call.sent.t).min();
        // If a stopped holder read an answer only afterwards, that does not say when it was given.
        let too_late = |released| next.is_some_and(|at| newest.t < at.t && at.t < released);
        if released.is_some_and(|released| !too_late(released)) {
            continue;
        }
        if !calls().all(answered) {
            findings.bound(of_whom(Some(term)).0, Some(UNANSWERED));
            continue;
        }
        all.push(Blocking {
            term: Some(term),
            newest,
            duration: facts.duration(term),
            token: Some(*token),
            next,
        });
    }
    all
}

/// The waiters for a name.
struct Waiters<'f, 'a> {
    facts: &'f Facts<'a>,
    name: &'f str,
    /// In the order in which they began.
    coming: std::vec::IntoIter<Waiter<'a>>,
    /// The waiters that may be waiting now.
    present: Vec<Waiter<'a>>,
}

#[derive(Clone, Copy)]
struct Waiter<'a> {
    process: &'a str,
    began: At,
    ended: Micros,
}

/// A waiter that waited for the whole bound, and the end of that bound.
struct Waited<'f, 'a> {
    waiter: Waiter<'a>,
    by: Micros,
    disturbed: Option<&'f str>,
}

impl<'f, 'a> Waiters<'f, 'a> {
    fn new(facts: &'f Facts<'a>, name: &'f str, of_name: &NameFacts<'a>) -> Self {
        let coming: Vec<_> = of_name
            .asks
            .iter()
            .filter(|ask| ask.waits)
            .map(|ask| Waiter {
                process: ask.process,
                began: ask.began,
                ended: ask.ended.map_or(facts.end, |at| at.t),
            })
            .collect();
        Self {
            facts,
            name,
            coming: coming.into_iter(),
            present: Vec::new(),
        }
    }

    /// A waiter that waited until the name was taken or should have been: preferably one that no fault disturbed.
    fn waited(
        &mut self,
        newest: Micros,
        taken: Option<Micros>,
        bound: impl Fn(Micros) -> Micros,
    ) -> Option<Waited<'f, 'a>> {
        let Self {
            facts,
            name,
            coming,
            present,
        } = self;
        let taken = taken.unwrap_or(Micros::MAX);
        while coming
            .as_slice()
            .first()
            .is_some_and(|next| next.began.t < taken)
        {
            present.extend(coming.next());
        }
        present.retain(|waiter| waiter.ended > newest);
        let mut found = None;
        for waiter in present.iter().filter(|waiter| waiter.began.t < taken) {
            let by = bound(waiter.began.t);
            if waiter.ended < by.min(taken) {
                continue;
            }
            // A fault that begins when the name is taken delayed nothing.
            let from = newest.max(waiter.began.t);
            let to = by.min(taken - 1);
            let disturbed = facts.faults.during(waiter.process, name, from, to);
            found = Some(Waited {
                waiter: *waiter,
                by,
                disturbed,
            });
            if disturbed.is_none() {
                break;
            }
        }
        found
    }
}

fn judge(
    facts: &Facts<'_>,
    name: &str,
    blocking: &Blocking<'_, '_>,
    waiters: &mut Waiters<'_, '_>,
    findings: &mut Findings<'_>,
) {
    let newest = blocking.newest.t;
    let taken = blocking.next.map(|at| at.t);
    let bound = |began: Micros| by(facts, newest, blocking.duration, began);
    let Some(Waited {
        waiter,
        by,
        disturbed,
    }) = waiters.waited(newest, taken, bound)
    else {
        return;
    };
    let (invariant, what) = of_whom(blocking.term);
    if !findings.bound(invariant, disturbed) || taken.is_some_and(|taken| taken <= by) {
        return;
    }
    let got = taken.map_or("had not to the end".into(), |taken| {
        format!("had it at {}", Seconds(taken))
    });
    let token = blocking.token.map_or("unknown".into(), |it| it.to_string());
    let says = format!(
        "{what}, token {token}, wrote last at {}; {} waits and should have the name by {}, but {got}",
        Seconds(newest),
        waiter.process,
        Seconds(by),
    );
    let mut shown = vec![blocking.newest, waiter.began];
    shown.extend(blocking.next);
    findings.broken_at(invariant, name, by, &shown, says);
}

/// The invariant that a term without a release is judged by, and a description of the term.
fn of_whom(term: Option<&TermFacts<'_>>) -> (Invariant, &'static str) {
    if term.is_none_or(|term| term.grants.is_empty()) {
        (Invariant::I10, "a try that no caller got")
    } else {
        (Invariant::I15, "a holder")
    }
}

/// When a process that has waited since `began` gets the name at the latest (book/src/design/time.md, "How long things take",
/// with the error of the waiter's own timers, and the machine's slack).
fn by(facts: &Facts<'_>, newest: Micros, duration: Micros, began: Micros) -> Micros {
    let header = facts.header;
    let slow = 1.0 / (1.0 - header.drift);
    let poll = header.poll + header.poll / 5;
    let trips = 3 * header.round_trip + header.slack + ROUNDING;
    if header.store_clock {
        // Its last sleep was meant to end at the expiry.
        let nap = scaled(poll, slow - 1.0) + scaled(JITTER, slow);
        // On a store's clock that may be as slow as any.
        (newest + scaled(duration, slow)).max(began) + nap + trips
    } else {
        newest.max(began) + scaled(duration + poll + JITTER, slow) + trips
    }
}
