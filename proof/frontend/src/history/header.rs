//! The facts that a checker has to know about a history before it can judge it.

use std::{collections::BTreeMap, time::Duration};

use dlock_core::provider::Discipline;
use serde::{Deserialize, Serialize};

use super::line::{Micros, micros};

/// The first line of a history: its origin, how to repeat it, and the settings and allowances that its checker works
/// with. For a history made with dlock's defaults, [`Header::new`] sets all of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Header {
    /// The version of this format: [`Header::VERSION`].
    pub format: u32,
    /// The program that made it, for people: `simulation`, `chaos on postgres`.
    #[serde(default)]
    pub title: String,
    /// The seed that repeats it, where one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The command that repeats it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
    /// The versions of the programs that took part, for people.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub versions: BTreeMap<String, String>,
    /// The store's clock decides when a lease ended.
    pub store_clock: bool,
    /// D, for a try that does not state its own.
    pub duration: Micros,
    /// The safety margin as a fraction of D.
    pub margin: f64,
    /// How often a lease is renewed; 0: D/3.
    #[serde(default)]
    pub renew_every: Micros,
    /// The longest pause between two tries of a waiter (P of the bounds).
    pub poll: Micros,
    /// The longest time that a call to the store takes while nothing is wrong (R of the bounds).
    pub round_trip: Micros,
    /// How far from true time the rate of any clock is at most: 0.1 is 10 %.
    pub drift: f64,
    /// The longest time that a working machine delays a task that is due, while no pause of it is recorded: 0 in
    /// simulations. It relaxes bounds of time and nothing else.
    #[serde(default)]
    pub slack: Micros,
    /// Everything ran on one thread, so that nothing comes between a decision and its line.
    #[serde(default)]
    pub single_thread: bool,
    /// The history has a line for each write of the store, in the order in which they were applied.
    #[serde(default)]
    pub commits: bool,
}

impl Header {
    /// The version of the format that this crate writes.
    pub const VERSION: u32 = 1;

    /// A history of locks with this lease and dlock's defaults, on clocks that may be 10 % wrong and a store that
    /// answers at once. The fields are public: change those that differ.
    #[must_use]
    pub fn new(title: impl Into<String>, discipline: Discipline, duration: Duration) -> Self {
        let poll = (duration / 10).clamp(Duration::from_millis(100), Duration::from_secs(1));
        Self {
            format: Self::VERSION,
            title: title.into(),
            seed: None,
            command: String::new(),
            versions: BTreeMap::new(),
            store_clock: discipline == Discipline::StoreClock,
            duration: micros(duration),
            margin: 0.2,
            renew_every: 0,
            poll: micros(poll),
            round_trip: 0,
            drift: 0.1,
            slack: 0,
            single_thread: false,
            commits: false,
        }
    }
}
