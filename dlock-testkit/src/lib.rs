//! What any author of a dlock provider uses to prove it, and what dlock uses itself: the
//! conformance suite, a reference provider in memory, a fault wrapper.
//!
//! # Adopting the suite
//! A fixture says how to start the store and how to make a provider on it; a macro does the rest.
//!
//! ```no_run
//! # // Tests are not run inside of doctests.
//! use dlock_core::{Capabilities, Discipline, Durability};
//! use dlock_testkit::{Fixture, memory::{MemoryProvider, MemoryStore}};
//!
//! struct Memory(MemoryStore);
//!
//! impl Fixture for Memory {
//!     type Provider = MemoryProvider;
//!     const CAPABILITIES: Capabilities = Capabilities::new("memory", Discipline::StoreClock)
//!         .watch(true).batch(true).durability(Durability::Volatile);
//!     async fn start() -> Self { Self(MemoryStore::store_clock()) }
//!     async fn provider(&self) -> MemoryProvider { MemoryProvider::new(&self.0) }
//! }
//!
//! dlock_testkit::conformance!(Memory, without [admin, purge, prefix]);
//! # fn main() {}
//! ```

mod bench;
pub mod cases;
mod conformance;
pub mod faults;
mod fixture;
pub mod memory;
pub mod planted;
pub mod proxy;
#[doc(hidden)]
pub mod runner;
#[cfg(unix)]
pub mod service;
mod subject;

pub use self::{
    bench::Bench,
    cases::{CASES, Case, GROUPS},
    fixture::Fixture,
    subject::{Subject, began, unchanged},
};
