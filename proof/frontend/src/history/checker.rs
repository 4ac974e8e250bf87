//! The checker: it takes a history, and returns the invariants that it breaks. One sort by time, then linear.
//!
//! Safety is judged on the *events* (when requests were sent, when replies came, which writes the store committed) as
//! far as the history knows them, and on the *beliefs* of holders. Without the store's own log of commits, the checker
//! asks weaker questions:
//!
//! | | checked | with a commit log also |
//! |---|---|---|
//! | I1, I12 | the intervals from grant to the first of the last deadline, the end that the holder knew, the release and the process's death are disjoint per name; I12 if both are of one process | |
//! | I2 | a deadline is at most the sending of the request it rests on + D (on an observer's store + D on the fastest clock) | and at most the newest expiry of its own commits; no lease is believed past the commit that gave the name away |
//! | I3 | two terms never have one token; a holder learns one token only | every take writes a token above all earlier ones, nothing else changes it, holders learn the token that was written; no record is deleted within a week of its expiry |
//! | I4 | a grant's token is above every token that any client had learnt before it was first asked for | |
//! | I5 | no fenced resource accepts a token below one it accepted before. Lost updates are counted, not judged | |
//! | I6 | a deadline is at most `sent` + D x (1 - margin) on the holder's clock, and that `sent` is not after the departure of the request | |
//! | I7 | no credit after the end, or for a reply after the deadline; no deadline before the one it replaces | |
//! | I8 | no answer "valid" after the deadline, and no hand-out of a grant that was known after it; a holder that waits for the loss is notified within 50 ms | |
//! | I9 | from the start of its release a lease is not valid, credited or renewed (but for one renewal that was drawn before); a term older than what was known when it asked is not renewed or released; "released" is said only on the store's word, or where the term continues with another lease (S1); a term handed over by ticket is not released | only calls of a term renew or release it; a repeated release is no refusal |
//! | I10, I15 | while a caller waits, a term that was not released is followed by another within the bound; I10 if no caller ever got it. Without a log I15 only where every call of the term was answered, and I10 from when a call without an answer can have been applied at the latest | from the newest commit |
//! | I11 | one uuid is granted once, with one token | one uuid takes once, unless another term, a revocation or a loss of the record came between |
//! | I17 | no lease that renews itself expires while nothing was wrong for the last D/6, a pause and a round trip; counted are those that a fault struck before | and none is refused while the record is still its own and unexpired |
//! | B4 | | no client takes a closed name before its time; and it was closed by a lease that a caller got and that was not lost |
//!
//! Bounds of time (I8's 50 ms, I10, I15, I17) have the header's slack, and are judged only where no fault was in
//! progress: none of the process that the bound is about, none of that lock, and none everywhere. Nothing else has any
//! slack; a process may stand still between a decision and its line, so an event that is known to precede the decision
//! is judged instead. [`Counts::judgements`] says how often each was judged, and how often not, for which kind of
//! fault. A history cannot answer I13, I14, I16 and I18.

mod belief;
mod closing;
mod counting;
pub(crate) mod facts;
pub(crate) mod faults;
mod outage;
mod overlap;
mod report;
mod resource;
mod shape;
mod stale;
mod takeover;
mod tokens;

use self::facts::{At, Facts};
pub(crate) use self::report::Seconds;
pub use self::report::{Counts, Judgements, Report, Violation, Writes};
use super::{Invariant, Line, Micros};

/// Readings are rounded down to the microsecond when they are mapped to the axis, and rates are not exact.
const ROUNDING: Micros = 2;

/// Judges a history.
#[must_use]
pub fn check(lines: &[Line]) -> Report {
    let Some(facts) = Facts::new(lines) else {
        let mut report = Report::default();
        report.violations.push(Violation {
            invariant: Invariant::Shape,
            name: String::new(),
            t: 0,
            since: 0,
            lines: Vec::new(),
            says: "there is no header line".into(),
        });
        return report;
    };
    let mut findings = Findings {
        lines,
        facts: &facts,
        report: Report::default(),
    };
    findings.report.counts = counting::count(lines, &facts);
    shape::check(&facts, &mut findings);
    overlap::check(&facts, &mut findings);
    tokens::check(&facts, &mut findings);
    resource::check(&facts, &mut findings);
    belief::check(&facts, &mut findings);
    stale::check(&facts, &mut findings);
    takeover::check(&facts, &mut findings);
    outage::check(&facts, &mut findings);
    closing::check(&facts, &mut findings);
    let mut report = findings.report;
    for found in [&mut report.violations, &mut report.excused] {
        found.sort_by(|one, other| {
            (one.t, one.invariant, &one.lines).cmp(&(other.t, other.invariant, &other.lines))
        });
    }
    report
}

/// The groups of invariants report to this.
struct Findings<'a> {
    lines: &'a [Line],
    facts: &'a Facts<'a>,
    report: Report,
}

impl<'a> Findings<'a> {
    /// Reports a broken invariant, at the last of these lines.
    fn broken(&mut self, invariant: Invariant, name: &str, shown: &[At], says: String) {
        let t = shown.iter().map(|at| at.t).max().unwrap_or_default();
        self.broken_at(invariant, name, t, shown, says);
    }

    /// Reports a broken invariant, at an instant that has no line.
    fn broken_at(
        &mut self,
        invariant: Invariant,
        name: &str,
        t: Micros,
        shown: &[At],
        says: String,
    ) {
        let since = shown.iter().map(|at| at.t).min().unwrap_or(t).min(t);
        let last = shown.iter().map(|at| at.t).max().unwrap_or(t).max(t);
        let violation = Violation {
            invariant,
            name: name.to_owned(),
            t,
            since,
            lines: shown.iter().map(|at| at.line).collect(),
            says,
        };
        let processes: Vec<&str> = shown.iter().map(|at| self.process(name, *at)).collect();
        let facts = self.facts;
        match facts
            .faults
            .excuse(invariant, &processes, name, (since, last))
        {
            Some(kind) => {
                self.report.counts.excuse(invariant, kind);
                self.report.excused.push(violation);
            }
            None => self.report.violations.push(violation),
        }
    }

    /// Counts a judgement of an invariant.
    fn judge(&mut self, invariant: Invariant) {
        let judgements = &mut self.report.counts.judgements;
        judgements.entry(invariant).or_default().made += 1;
    }

    /// Counts a judgement of a bound of time, unless a fault was in progress: `excuse` is its kind.
    fn bound(&mut self, invariant: Invariant, excuse: Option<&str>) -> bool {
        if let Some(kind) = excuse {
            self.report.counts.excuse(invariant, kind);
            return false;
        }
        self.judge(invariant);
        let judgements = &mut self.report.counts.judgements;
        judgements.entry(invariant).or_default().bounds += 1;
        true
    }

    /// The process of a line: for a write of the store, the process of its term.
    fn process(&self, name: &str, at: At) -> &'a str {
        let line = &self.lines[at.line];
        if !line.process.is_empty() {
            return &line.process;
        }
        let of_name = self.facts.names.get(name);
        line.uuid()
            .and_then(|uuid| of_name?.first(uuid))
            .map_or("", |term| term.process)
    }
}
