//! What happened in a run, in numbers, and what must not happen.

use std::{collections::BTreeMap, fmt, time::Duration};

use serde::Serialize;

use crate::history::Invariant;

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The invariant (`I6`) or rule (`V4`) that is broken.
    pub rule: String,
    /// When, since the start of the run.
    pub at: Duration,
    /// What was seen.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, at, what } = self;
        write!(f, "{rule} at {at:?}: {what}")
    }
}

/// What happened in one run or in many.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each is the number of what it is called")]
pub struct Figures {
    pub runs: u64,
    pub virtual_time: Duration,
    pub calls: u64,
    /// Grants by the store, and how many of them ended a term that was not released.
    pub grants: u64,
    pub takeovers: u64,
    /// Leases that reached their callers.
    pub leases: u64,
    pub renewals: u64,
    /// Calls for several renewals, and the renewals in them.
    pub batches: u64,
    pub batched: u64,
    /// Renewals confirmed when the lease was over, and grants that were.
    pub late_renewals: u64,
    pub late_grants: u64,
    pub losses: u64,
    pub refused: u64,
    pub spent: u64,
    /// Leases of a waiter of the same client on a term that went on (S1), and those that left with a ticket (H7).
    pub went_on: u64,
    pub tickets: u64,
    /// Releases that closed a name (B4).
    pub closings: u64,
    pub hints: u64,
    pub cancellations: u64,
    /// Calls whose outcome is unknown.
    pub unknown: u64,
    /// Writes that a fence refused, and updates lost where there was none.
    pub writes: u64,
    pub stale_writes: u64,
    pub lost_updates: u64,
    /// What struck, by kind.
    pub faults: BTreeMap<&'static str, u64>,
    /// Bounds of time that the checker of histories judged.
    pub bounds: BTreeMap<Invariant, u64>,
}

impl Figures {
    pub(super) fn fault(&mut self, kind: &'static str) {
        *self.faults.entry(kind).or_default() += 1;
    }

    /// How much was played and what struck, by kind, in one line: for a document to quote.
    #[must_use]
    pub fn summary(&self) -> String {
        let kinds = self.faults.iter();
        let kinds: Vec<String> = kinds
            .map(|(kind, count)| format!("{kind} {count}"))
            .collect();
        format!(
            "{} runs, {:.1} hours of virtual time, {} calls, {} grants, {} faults of {} kinds: {}",
            self.runs,
            self.virtual_time.as_secs_f64() / 3600.0,
            self.calls,
            self.grants,
            self.faults.values().sum::<u64>(),
            kinds.len(),
            kinds.join(", ")
        )
    }

    /// Adds another run's.
    pub fn add(&mut self, other: &Self) {
        let Self {
            runs,
            virtual_time,
            calls,
            grants,
            takeovers,
            leases,
            renewals,
            batches,
            batched,
            late_renewals,
            late_grants,
            losses,
            refused,
            spent,
            went_on,
            tickets,
            closings,
            hints,
            cancellations,
            unknown,
            writes,
            stale_writes,
            lost_updates,
            faults,
            bounds,
        } = other;
        self.runs += runs;
        self.virtual_time += *virtual_time;
        self.calls += calls;
        self.grants += grants;
        self.takeovers += takeovers;
        self.leases += leases;
        self.renewals += renewals;
        self.batches += batches;
        self.batched += batched;
        self.late_renewals += late_renewals;
        self.late_grants += late_grants;
        self.losses += losses;
        self.refused += refused;
        self.spent += spent;
        self.went_on += went_on;
        self.tickets += tickets;
        self.closings += closings;
        self.hints += hints;
        self.cancellations += cancellations;
        self.unknown += unknown;
        self.writes += writes;
        self.stale_writes += stale_writes;
        self.lost_updates += lost_updates;
        for (kind, count) in faults {
            *self.faults.entry(kind).or_default() += count;
        }
        for (invariant, count) in bounds {
            *self.bounds.entry(*invariant).or_default() += count;
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.summary())?;
        writeln!(
            f,
            "{} grants, {} of them takeovers, {} late, {} spent; {} leases, {} renewals ({} late; {} were sent in {} batches), {} losses, {} refused",
            self.grants,
            self.takeovers,
            self.late_grants,
            self.spent,
            self.leases,
            self.renewals,
            self.late_renewals,
            self.batched,
            self.batches,
            self.losses,
            self.refused
        )?;
        writeln!(
            f,
            "{} terms went on with a waiter of the same client, {} left with a ticket; {} names closed",
            self.went_on, self.tickets, self.closings
        )?;
        write!(
            f,
            "{} calls of unknown outcome, {} cancellations, {} hints; {} writes, {} refused by the fence, {} updates lost without one",
            self.unknown,
            self.cancellations,
            self.hints,
            self.writes,
            self.stale_writes,
            self.lost_updates
        )?;
        write!(f, "; bounds of time judged:")?;
        for (invariant, bounds) in &self.bounds {
            write!(f, " {invariant} {bounds}")?;
        }
        Ok(())
    }
}
