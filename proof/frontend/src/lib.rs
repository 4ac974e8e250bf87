//! Searches for what the cases of dlock-core (`dlock-core/tests/cases`) and those of each store (`dlock-testkit`) miss.
//!
//! - [`simulation`] runs the frontend with several clients, drifting clocks and every fault of a process and a network,
//!   in virtual time and repeatably.
//! - [`history`] records the beliefs and acts of the clients of any provider, and judges them.
//! - [`cancelling`] drops every future at every poll, and shows that nothing is left behind.
//! - [`election`] plays stories of elections on a real store: leaders that crash, are cut off, slow, or revoked.
//! - [`outage`] counts how often a store that is down is called; [`stores`] holds the parts that the suites of further
//!   stores share.
//! - [`planted`] proves the suites: providers and task stores with a bug, and the cases that catch it. The bugs of the
//!   frontend are in `proof/mutants`.
//! - `metrics` and `traces` (feature `metrics`) keep what a program reports to its recorder and its subscriber.
//! - [`tasks`] does the same for the queue: its simulation, its cancellation, and the wrappers that interfere with its
//!   store's calls.

use std::{future::Future, pin::Pin};

use tokio::task::JoinHandle;

pub mod cancelling;
pub mod election;
mod figures;
pub mod history;
#[cfg(feature = "metrics")]
pub mod metrics;
pub mod outage;
pub mod planted;
pub mod simulation;
pub mod stores;
pub mod tasks;
#[cfg(feature = "metrics")]
pub mod traces;

/// [`tokio::spawn`] without the future's type: the code that runs a task is compiled once for each kind of result, and
/// not for each of two hundred futures.
fn spawn<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    let future: Pin<Box<dyn Future<Output = T> + Send>> = Box::pin(future);
    tokio::spawn(future)
}

/// For the macros of this crate.
#[doc(hidden)]
pub use dlock_testkit as __testkit;
