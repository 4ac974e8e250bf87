//! The events of a run in numbers, and its violations.

use std::{collections::BTreeMap, fmt, time::Duration};

use crate::{figures::figures, history::Invariant};

/// A deviation from the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The invariant (`I6`) or rule (`V4`) that is broken.
    pub rule: String,
    /// When, since the start of the run.
    pub at: Duration,
    /// A description of it.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, at, what } = self;
        write!(f, "{rule} at {at:?}: {what}")
    }
}

figures! {
    /// The figures of one run or of many.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
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
        /// Renewals that were confirmed only after the lease had ended, and such grants.
        pub late_renewals: u64,
        pub late_grants: u64,
        pub losses: u64,
        pub refused: u64,
        pub spent: u64,
        /// Leases of a waiter of the same client on a term that continued (S1), and those that left with a ticket (H7).
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
        /// The faults that struck, by kind.
        pub faults: BTreeMap<&'static str, u64>,
        /// Bounds of time that the checker of histories judged.
        pub bounds: BTreeMap<Invariant, u64>,
    }
}

impl Figures {
    pub(super) fn fault(&mut self, kind: &'static str) {
        *self.faults.entry(kind).or_default() += 1;
    }
}
