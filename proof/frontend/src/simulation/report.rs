//! What happened in a run, in numbers.

use std::{collections::BTreeMap, fmt, time::Duration};

use serde::Serialize;

use crate::history::Invariant;

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
    /// Refusals by an identity of the client's own that was over (G4).
    pub own_orphans: u64,
    /// Leases that went to a waiter of the same client in one write, that left with a ticket, whose
    /// ticket was redeemed, and whose ticket showed an older number than the record (H1, H7, H8).
    pub handed_over: u64,
    /// Leases of a waiter of the same client on a term that went on (S1).
    pub went_on: u64,
    pub tickets: u64,
    pub redeemed: u64,
    pub other_numbers: u64,
    /// Releases that closed a name (B4).
    pub closings: u64,
    /// Clients that got a name after another one had kept them waiting for it (W8).
    pub let_in: u64,
    pub hints: u64,
    pub cancellations: u64,
    /// Reads of waiters, before they ask again.
    pub looks: u64,
    /// Calls whose outcome nobody knows.
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
            own_orphans,
            handed_over,
            went_on,
            tickets,
            redeemed,
            other_numbers,
            closings,
            let_in,
            hints,
            cancellations,
            looks,
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
        self.own_orphans += own_orphans;
        self.handed_over += handed_over;
        self.went_on += went_on;
        self.tickets += tickets;
        self.redeemed += redeemed;
        self.other_numbers += other_numbers;
        self.closings += closings;
        self.let_in += let_in;
        self.hints += hints;
        self.cancellations += cancellations;
        self.looks += looks;
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
            "{} grants, {} of them takeovers, {} late, {} spent, {} refused by own orphans; {} leases, {} renewals ({} late; {} were sent in {} batches), {} losses, {} refused",
            self.grants,
            self.takeovers,
            self.late_grants,
            self.spent,
            self.own_orphans,
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
            "{} terms went on with a waiter of the same client, {} were handed to one, {} left with a ticket, {} redeemed, {} of them by another number; {} names closed; {} others let in",
            self.went_on,
            self.handed_over,
            self.tickets,
            self.redeemed,
            self.other_numbers,
            self.closings,
            self.let_in
        )?;
        write!(
            f,
            "{} calls of unknown outcome, {} cancellations, {} hints, {} looks; {} writes, {} refused by the fence, {} updates lost without one",
            self.unknown,
            self.cancellations,
            self.hints,
            self.looks,
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
