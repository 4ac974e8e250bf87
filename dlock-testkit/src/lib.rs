//! The tools with which the author of a dlock provider proves it.
//!
//! - [`conformance!`] turns a [`Fixture`] into one test per case of the suite ([`CASES`]).
//! - [`memory`] is the reference provider, in both disciplines; a test can step its clocks and lose its writes.
//! - [`faults`] loses, delays, repeats and refuses the calls of any provider by script, and records
//!   them.
//! - [`machine`] is a simulated machine, with its clocks, that a simulation can bring to a standstill.
//! - [`storage`] proves storage that checks fencing tokens.
//! - `wire` and `proxy` (feature `wire`) do to the connections between a driver and its server what networks do: lost
//!   replies, resets, silence, delays, by script or by seed.
//! - `compare_and_set` (feature `cas`) checks the conditional delete of stores of `dlock-cas`.
//! - `tasks` (feature `tasks`) is the suite for task stores, `dlock_tasks::TaskStore`, with an in-memory store for
//!   tests of code that uses a queue.
//!
//! # Adopting the suite
//! A fixture says how to start the store and how to make a provider on it; a macro does the rest. `tests/adoption.rs`
//! of this crate is a complete provider, with its tests, on one page.
//!
//! ```no_run
//! // Tests inside a doctest do not run.
//! use dlock_core::provider::{Capabilities, Discipline, Durability};
//! use dlock_testkit::{Fixture, memory::{MemoryProvider, MemoryStore}};
//!
//! struct Memory(MemoryStore);
//!
//! impl Fixture for Memory {
//!     type Provider = MemoryProvider;
//!     const CAPABILITIES: Capabilities = Capabilities::new("memory", Discipline::StoreClock)
//!         .watch(true).batch(true).closing(true).marks(true).durability(Durability::Volatile);
//!     async fn start() -> Self { Self(MemoryStore::store_clock()) }
//!     async fn provider(&self) -> MemoryProvider { MemoryProvider::new(&self.0) }
//! }
//!
//! dlock_testkit::conformance!(Memory, without [admin, purge, prefix]);
//! # fn main() {}
//! ```
//!
//! Leave out the groups of cases for the capabilities that a provider lacks; they show as ignored tests. Leaving out a
//! group that the provider supports, or keeping one that it does not, fails a test. Most cases wait for a lease to end,
//! so run many at a time: `RUST_TEST_THREADS=16 cargo test`.
//!
//! # Too slow, and wrong
//! A busy machine or store makes things late, but does nothing worse. So a case that was only too late (it missed an
//! upper bound of time, or saw a lease end that should have been kept) is repeated with three times the lease, up to 27
//! times the fixture's ([`Fixture::LEASE`]); each repeat is reported on standard error, and more than 48 repeats in one
//! test program fail. A store that is always too late fails in the last round. Any other failure ends the test at once,
//! however slow the machine is: two holders, a token that does not grow, a stale write, a wrong answer. No measurement
//! of the machine excuses one of those.
//!
//! The suite does not show how a store behaves under failover or loss of power, what a second machine with another
//! clock sees, or whether a call blocks the thread that polls it.

mod answers;
mod bench;
pub mod cases;
#[cfg(feature = "cas")]
pub mod compare_and_set;
mod conformance;
pub mod faults;
mod fixture;
pub mod machine;
#[cfg(feature = "wire")]
pub mod proxy;
/// Runs the cases; used by the macros, and by the tests of the suite itself.
#[doc(hidden)]
pub mod runner;
#[doc(hidden)]
pub mod slow;
pub mod storage;
mod subject;
#[cfg(feature = "tasks")]
pub mod tasks;
#[cfg(feature = "wire")]
pub mod wire;

#[doc(inline)]
pub use dlock_memory as memory;

pub use self::{
    bench::Bench,
    cases::{CASES, Case, GROUPS},
    fixture::Fixture,
    subject::{Subject, began, unchanged},
};
