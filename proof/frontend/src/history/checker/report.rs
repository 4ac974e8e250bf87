//! The findings of a check.

use std::{collections::BTreeMap, fmt};

use crate::history::{Invariant, Micros};

/// The findings of a check, and the amount of material that it checked.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// The broken invariants, in the order of time.
    pub violations: Vec<Violation>,
    /// Broken invariants that a fault breaks by design.
    pub excused: Vec<Violation>,
    /// The counts of everything in the history.
    pub counts: Counts,
}

/// One broken invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The invariant.
    pub invariant: Invariant,
    /// The lock.
    pub name: String,
    /// When it is broken.
    pub t: Micros,
    /// The earliest instant of the events that it rests on.
    pub since: Micros,
    /// The lines that show it: indices into the lines that were checked.
    pub lines: Vec<usize>,
    /// The violation, in one sentence.
    pub says: String,
}

/// The counts of everything in a history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Lines.
    pub lines: u64,
    /// From the first line to the last, the header not counted.
    pub span: Micros,
    /// Calls to the store by operation and outcome (`acquire ok`); `open` was never answered.
    pub calls: BTreeMap<String, u64>,
    /// Calls whose effect their client never learnt: `unknown` and `open` ones together.
    pub unknown: u64,
    /// Requests of callers for the lock, by outcome.
    pub asks: BTreeMap<String, u64>,
    /// Grants that a frontend believed in.
    pub grants: u64,
    /// Renewals that a frontend believed in.
    pub renewals: u64,
    /// Terms that began while the one before had not been released.
    pub takeovers: u64,
    /// Leases that ended against the will of their holders.
    pub losses: u64,
    /// Faults by kind.
    pub faults: BTreeMap<String, u64>,
    /// Writes that resources applied and refused: with a check of tokens, and without.
    pub fenced: Writes,
    /// The same for resources that check no tokens.
    pub unfenced: Writes,
    /// How often each invariant was judged, and how often it was not.
    pub judgements: BTreeMap<Invariant, Judgements>,
}

/// How often an invariant was judged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Judgements {
    /// How often it was judged.
    pub made: u64,
    /// Of these, bounds of time (I8's notice, I10, I15, I17).
    pub bounds: u64,
    /// Bounds of time that were not judged because a fault was in progress, and violations that are excused because a
    /// fault breaks the invariant by design: by kind of fault.
    pub excused: BTreeMap<String, u64>,
}

/// Writes to resources of one sort.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Writes {
    /// Applied.
    pub accepted: u64,
    /// Refused.
    pub refused: u64,
    /// Applied although a larger token had been accepted before.
    pub stale: u64,
    /// Applied on top of a value that had changed since its writer read it.
    pub lost_updates: u64,
}

impl Counts {
    /// How many bounds of time of an invariant were judged.
    #[must_use]
    pub fn bounds(&self, invariant: Invariant) -> u64 {
        let judgements = self.judgements.get(&invariant);
        judgements.map_or(0, |judgements| judgements.bounds)
    }

    pub(super) fn excuse(&mut self, invariant: Invariant, kind: &str) {
        let judgements = self.judgements.entry(invariant).or_default();
        *judgements.excused.entry(kind.to_owned()).or_default() += 1;
    }
}

impl Report {
    /// Whether no invariant is broken.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.violations.is_empty()
    }

    /// Whether this invariant is broken somewhere.
    #[must_use]
    pub fn breaks(&self, invariant: Invariant) -> bool {
        self.violations
            .iter()
            .any(|violation| violation.invariant == invariant)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            invariant,
            name,
            t,
            lines,
            says,
            ..
        } = self;
        write!(f, "{invariant} ({}): ", invariant.says())?;
        if !name.is_empty() {
            write!(f, "{name:?}: ")?;
        }
        write!(f, "{says}; at {}, lines", Seconds(*t))?;
        for (index, line) in lines.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma} {}", line + 1)?;
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    /// The violations, at most ten of them, and the counts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = 10;
        for violation in self.violations.iter().take(shown) {
            writeln!(f, "VIOLATION {violation}")?;
        }
        if self.violations.len() > shown {
            writeln!(f, "... and {} more", self.violations.len() - shown)?;
        }
        let (violations, excused) = (self.violations.len(), self.excused.len());
        write!(
            f,
            "{violations} violations, {excused} excused by faults that break them by design, in {:#?}",
            self.counts
        )
    }
}

/// An instant or a span for people.
pub(crate) struct Seconds(pub(crate) Micros);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / 1_000_000, self.0 % 1_000_000);
        if rest.is_multiple_of(1000) {
            write!(f, "{whole}.{:03} s", rest / 1000)
        } else {
            write!(f, "{whole}.{rest:06} s")
        }
    }
}
