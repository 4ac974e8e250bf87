//! What any author of a dlock provider uses to prove it, and what dlock uses itself.
//!
//! - [`conformance!`] turns a [`Fixture`] into one test per case of the suite ([`CASES`]).
//! - [`memory`] is the reference provider, in both disciplines; its clocks can be stepped, its writes
//!   lost.
//! - [`faults`] loses, delays, repeats and refuses the calls of any provider by script, and records
//!   them.
//! - [`cancelling`] drops every future at every poll, and shows that nothing is left behind.
//! - [`history`] writes down what clients of any provider believe and do, judges it, draws it.
//! - [`proxy`] does to the wire between a driver and its server what networks do: lost replies,
//!   resets, silence, delays, by script or by seed; it counts round trips.
//! - `metrics` and `traces` (a feature, `metrics`) keep what a program tells its recorder and its
//!   subscriber.
//! - [`election`] tells stories of elections on a real store: leaders that crash, are cut off, slow,
//!   or put out of office.
//! - [`overhead`] measures what the frontend adds to a provider's calls.
//! - [`scale`] holds a crowd of leases and measures what that costs.
//! - [`simulation`] plays the frontend with several clients, drifting clocks and every fault of a
//!   process and a network, in virtual time and repeatably.
//! - [`service`] starts real servers for tests and never leaves one behind.
//! - [`storage`] proves storage that checks fencing tokens.
//! - [`planted`] proves the suite itself: providers with a bug, and which cases catch it.
//!
//! # Adopting the suite
//! A fixture says how to start the store and how to make a provider on it; a macro does the rest.
//! `tests/adoption.rs` of this crate is a whole provider with its tests on a page.
//!
//! ```no_run
//! // Tests inside of a doctest are not run.
//! use dlock_core::{Capabilities, Discipline, Durability};
//! use dlock_testkit::{Fixture, memory::{MemoryProvider, MemoryStore}};
//!
//! struct Memory(MemoryStore);
//!
//! impl Fixture for Memory {
//!     type Provider = MemoryProvider;
//!     const CAPABILITIES: Capabilities = Capabilities::new("memory", Discipline::StoreClock)
//!         .watch(true).batch(true).closing(true).durability(Durability::Volatile);
//!     async fn start() -> Self { Self(MemoryStore::store_clock()) }
//!     async fn provider(&self) -> MemoryProvider { MemoryProvider::new(&self.0) }
//! }
//!
//! dlock_testkit::conformance!(Memory, without [admin, purge, prefix]);
//! # fn main() {}
//! ```
//!
//! What a provider lacks is left out by group, and shows as ignored tests; leaving out what it has,
//! or keeping what it lacks, fails a test. Most cases wait for a lease to end, so run many at a
//! time: `RUST_TEST_THREADS=16 cargo test`.
//!
//! What the suite does not show: how a store behaves under failover or loss of power, what a second
//! machine with another clock sees, and whether a call blocks the thread that polls it.

mod bench;
pub mod cancelling;
pub mod cases;
mod conformance;
pub mod election;
pub mod faults;
mod fixture;
pub mod history;
pub mod memory;
#[cfg(feature = "metrics")]
pub mod metrics;
pub mod outage;
pub mod overhead;
pub mod planted;
pub mod proxy;
#[doc(hidden)]
pub mod runner;
pub mod scale;
#[cfg(unix)]
pub mod service;
pub mod simulation;
mod stall;
pub mod storage;
mod subject;
#[cfg(feature = "metrics")]
pub mod traces;
pub mod wire;

pub use self::{
    bench::Bench,
    cases::{CASES, Case, GROUPS},
    fixture::Fixture,
    subject::{Subject, began, unchanged},
};
