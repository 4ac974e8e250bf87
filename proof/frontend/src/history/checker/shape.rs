//! Histories that are impossible: replies without calls, beliefs without replies.

use super::{
    Findings,
    facts::{Facts, TermFacts},
};
use crate::history::{Header, Invariant};

pub(super) fn check(facts: &Facts<'_>, findings: &mut Findings<'_>) {
    if facts.header.format != Header::VERSION {
        let says = format!(
            "the history has format {}, this checker reads {}",
            facts.header.format,
            Header::VERSION
        );
        findings.broken(Invariant::Shape, "", &[], says);
    }
    for (at, says) in &facts.misfits {
        findings.broken(Invariant::Shape, "", &[*at], (*says).to_owned());
    }
    for (name, of_name) in &facts.names {
        for (_, term) in of_name.terms() {
            founded(facts, name, term, findings);
        }
    }
}

/// Every belief rests on a reply that came before it.
fn founded(facts: &Facts<'_>, name: &str, term: &TermFacts<'_>, findings: &mut Findings<'_>) {
    for belief in &term.beliefs {
        let founded = term
            .confirmed
            .get(&belief.n)
            .is_some_and(|at| at.t <= belief.at.t);
        let what = if belief.n == 0 { "grant" } else { "renewal" };
        if facts.has_calls && !founded {
            let says = format!(
                "{} believes in a {what} that the store did not give",
                term.process
            );
            findings.broken(Invariant::Shape, name, &[belief.at], says);
        }
        if belief.n > 0 && term.grants.is_empty() {
            let says = format!("{} renewed a lease that was not granted", term.process);
            findings.broken(Invariant::Shape, name, &[belief.at], says);
        }
    }
    if let (Some(delivered), true) = (term.delivered, term.grants.is_empty()) {
        let says = format!("{} was handed a lease that was not granted", term.process);
        findings.broken(Invariant::Shape, name, &[delivered], says);
    }
}
