//! I6, I7, I8: how long holders believe in their leases, and whether they are notified.

use super::{
    Findings, ROUNDING, Seconds,
    facts::{At, Facts, TermFacts},
    overlap::scaled,
};
use crate::history::{Invariant, Micros, line::Cause};

/// How soon after its loss a lease's watchers are notified (I8).
const NOTICE: Micros = 50_000;

pub(super) fn check(facts: &Facts<'_>, findings: &mut Findings<'_>) {
    for (name, of_name) in &facts.names {
        for (_, term) in of_name.terms() {
            counted_from_departure(facts, name, term, findings);
            never_revived(facts, name, term, findings);
            never_late(facts, name, term, findings);
            handed_out_in_time(facts, name, term, findings);
            told_at_once(facts, name, term, findings);
        }
    }
}

/// I6.
fn counted_from_departure(
    facts: &Facts<'_>,
    name: &str,
    term: &TermFacts<'_>,
    findings: &mut Findings<'_>,
) {
    let belief = scaled(facts.duration(term), 1.0 - facts.header.margin);
    let slowest = 1.0 - facts.header.drift;
    let rate = facts.rates.get(term.process).copied().unwrap_or(slowest);
    let longest = scaled(belief, 1.0 / rate) + ROUNDING;
    let mut deadline = 0;
    for success in &term.beliefs {
        findings.judge(Invariant::I6);
        let span = success.valid_until.saturating_sub(success.sent);
        // An older attempt may be answered after a newer one; the deadline stays with the newer.
        let moved = success.valid_until > deadline;
        deadline = deadline.max(success.valid_until);
        if moved && span > longest {
            let says = format!(
                "{} believes for {} from its request on; the margin leaves {}",
                term.process,
                Seconds(span),
                Seconds(longest - ROUNDING)
            );
            findings.broken(Invariant::I6, name, &[success.at], says);
        }
        if let Some(left) = term.departures.get(&success.n).copied()
            && success.sent > left.t + ROUNDING
        {
            let says = format!(
                "{} counts from {}, but its request had left at {}",
                term.process,
                Seconds(success.sent),
                Seconds(left.t)
            );
            findings.broken(Invariant::I6, name, &[left, success.at], says);
        }
    }
}

/// I7.
fn never_revived(facts: &Facts<'_>, name: &str, term: &TermFacts<'_>, findings: &mut Findings<'_>) {
    for pair in term.beliefs.windows(2) {
        let [before, after] = pair else { continue };
        findings.judge(Invariant::I7);
        if after.valid_until + ROUNDING < before.valid_until {
            let says = format!(
                "the deadline moved back from {} to {}",
                Seconds(before.valid_until),
                Seconds(after.valid_until)
            );
            findings.broken(Invariant::I7, name, &[before.at, after.at], says);
        }
        // The line of a reply is written before the decision on it, that of a credit after the decision: on one thread
        // at the same instant.
        let known = term.confirmed.get(&after.n).copied();
        let exact = facts.header.single_thread
            && facts
                .faults
                .paused(term.process, before.valid_until, after.at.t)
                .is_none();
        let known = known.filter(|_| !exact).unwrap_or(after.at);
        if (exact || facts.has_calls) && known.t > before.valid_until + ROUNDING {
            let says = format!(
                "a reply at {} extended a lease that had ended at {}",
                Seconds(known.t),
                Seconds(before.valid_until)
            );
            findings.broken(Invariant::I7, name, &[before.at, after.at], says);
        }
        if let Some((end, _)) = term.end
            && after.at.t > end.t
        {
            let says = "a reply extended a lease whose end was known".to_owned();
            findings.broken(Invariant::I7, name, &[end, after.at], says);
        }
    }
}

/// I8: no answer "valid" after the end.
fn never_late(facts: &Facts<'_>, name: &str, term: &TermFacts<'_>, findings: &mut Findings<'_>) {
    for (look, valid) in &term.looks {
        let Some(belief) = term.deadline_at(look.t) else {
            continue;
        };
        findings.judge(Invariant::I8);
        if *valid && look.t > belief.valid_until + ROUNDING && !renewed_by_then(facts, term, *look)
        {
            let says = format!(
                "{} got the answer \"valid\" at {}, after its deadline at {}",
                term.process,
                Seconds(look.t),
                Seconds(belief.valid_until)
            );
            findings.broken(Invariant::I8, name, &[belief.at, *look], says);
        }
        if let Some((end, cause)) = term.end
            && *valid
            && look.t > end.t
            && !matches!(cause, Cause::Released | Cause::HandedOver)
        {
            let says = format!("{} got the answer \"valid\" after its loss", term.process);
            findings.broken(Invariant::I8, name, &[end, *look], says);
        }
    }
}

/// A credit is stamped after the decision, in another thread: a look may come in between. The reply came before.
fn renewed_by_then(facts: &Facts<'_>, term: &TermFacts<'_>, look: At) -> bool {
    let after = term.beliefs.partition_point(|belief| belief.at.t <= look.t);
    term.beliefs[after..].iter().any(|belief| {
        let between = !facts.header.single_thread
            || facts
                .faults
                .paused(term.process, look.t, belief.at.t)
                .is_some();
        let answered = term.confirmed.get(&belief.n);
        between
            && answered.is_some_and(|at| at.t <= look.t)
            && look.t <= belief.valid_until + ROUNDING
    })
}

/// I8: a grant that was known too late reaches no caller. The line of its reply is written before the decision on it,
/// that of the hand-out after the decision: on one thread at the same instant.
fn handed_out_in_time(
    facts: &Facts<'_>,
    name: &str,
    term: &TermFacts<'_>,
    findings: &mut Findings<'_>,
) {
    let Some(delivered) = term.delivered else {
        return;
    };
    let Some(belief) = term.deadline_at(delivered.t) else {
        return;
    };
    let stood = facts
        .faults
        .paused(term.process, belief.valid_until, delivered.t);
    let exact = facts.header.single_thread && stood.is_none();
    let known = term.confirmed.get(&belief.n).copied();
    let known = known.filter(|_| !exact).unwrap_or(delivered);
    findings.judge(Invariant::I8);
    if (exact || facts.has_calls) && known.t > belief.valid_until + ROUNDING {
        let says = format!(
            "{} was handed a lease at {} that had ended at {}",
            term.process,
            Seconds(delivered.t),
            Seconds(belief.valid_until)
        );
        findings.broken(Invariant::I8, name, &[belief.at, delivered], says);
    }
}

/// I8: a holder that waits for the loss learns of it. A holder that begins to wait after the end is notified at once;
/// the first to wait is notified on time.
fn told_at_once(facts: &Facts<'_>, name: &str, term: &TermFacts<'_>, findings: &mut Findings<'_>) {
    let Some(told) = term.told.first() else {
        return;
    };
    let Some(belief) = term.deadline_at(told.t) else {
        return;
    };
    let known = term.end.filter(|(_, cause)| *cause != Cause::Expired);
    let lost = known.map_or(belief.valid_until, |(end, _)| end.t.min(belief.valid_until));
    let by = lost + NOTICE + facts.header.slack + ROUNDING;
    let stood = facts.faults.paused(term.process, lost, told.t);
    let judged = if matches!(known, Some((_, Cause::Released | Cause::HandedOver))) {
        // Not a loss, though the holder is notified in the same way.
        findings.judge(Invariant::I8);
        stood.is_none()
    } else {
        findings.bound(Invariant::I8, stood)
    };
    if judged && told.t > by {
        let says = format!(
            "{} was notified at {} of a loss at {}",
            term.process,
            Seconds(told.t),
            Seconds(lost)
        );
        findings.broken(Invariant::I8, name, &[belief.at, *told], says);
    }
}
