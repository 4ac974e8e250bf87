//! The remains of tries that no caller got an answer to, as far as replies show them.

use super::Blocking;
use crate::history::{
    Micros,
    checker::facts::{At, Call, Facts, NameFacts, TermFacts},
    line::Outcome,
};
use uuid::Uuid;

/// A call that may have written for its term.
struct Written {
    uuid: Uuid,
    sent: Micros,
    ended: Micros,
    /// The store granted it.
    granted: Option<At>,
}

/// Tries that may have been applied, but whose grant no caller ever got. No other term may have written between the
/// instant at which they can have been applied at the latest and the next grant: otherwise another term keeps the lock,
/// and the remains of the try block no client.
pub(super) fn by_calls<'f, 'a>(
    facts: &Facts<'_>,
    name: &str,
    of_name: &'f NameFacts<'a>,
) -> Vec<Blocking<'f, 'a>> {
    let ended = |term: &TermFacts<'_>, call: &Call| match call.answered {
        Some((at, _)) => at.t,
        None => facts.faults.killed(term.process).unwrap_or(Micros::MAX),
    };
    let mut writes: Vec<Written> = Vec::new();
    for (uuid, term) in of_name.terms() {
        let acquires = term.acquires.iter().map(|call| (call, true));
        let renews = term.renews.iter().map(|call| (call, false));
        for (call, acquires) in acquires.chain(renews).filter(|(call, _)| may_write(call)) {
            writes.push(Written {
                uuid,
                sent: call.sent.t,
                ended: ended(term, call),
                granted: call
                    .answered
                    .filter(|(_, outcome)| acquires && *outcome == Outcome::Ok)
                    .map(|(at, _)| at),
            });
        }
    }
    let mut all = Vec::new();
    for (uuid, term) in of_name.terms() {
        let tries = || term.acquires.iter().filter(|call| may_write(call));
        let (Some(first), Some(last)) = (tries().next(), tries().next_back()) else {
            continue;
        };
        if !term.grants.is_empty() {
            continue;
        }
        let ended = tries().map(|call| ended(term, call)).max().unwrap_or(0);
        let newest = facts
            .faults
            .held_up(term.process, name, first.sent.t, ended);
        let others = || writes.iter().filter(|write| write.uuid != uuid);
        let next = others()
            .filter_map(|write| write.granted)
            .filter(|at| at.t > newest)
            .min_by_key(|at| at.t);
        let until = next.map_or(facts.end, |at| at.t);
        let kept = others().any(|write| {
            let is_next = write.granted.is_some_and(|at| at.t == until);
            !is_next && write.sent < until && write.ended > newest
        });
        if newest < facts.end && !kept {
            all.push(Blocking {
                term: Some(term),
                newest: At {
                    line: last.sent.line,
                    t: newest,
                },
                // Another term may have been the last to write before.
                duration: facts.header.duration.max(facts.duration(term)),
                token: term.token(),
                next,
            });
        }
    }
    all
}

/// Whether its answer leaves open that it was applied.
fn may_write(call: &Call) -> bool {
    let refused = |(_, outcome)| matches!(outcome, Outcome::Held | Outcome::Spent | Outcome::Lost);
    !call.answered.is_some_and(refused)
}
