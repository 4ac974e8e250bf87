//! Histories: what happened in a run, written down, so that it can be judged afterwards.
//!
//! - [`Log`] collects [`Line`]s in memory or in a file; a [`Process`] of it records what a client
//!   believes and every call to its provider.
//! - A line is JSON; a history is a file of lines. [`line`] explains each, [`Header`] what a checker
//!   must know beforehand.
//!
//! # Recording
//! ```
//! # use std::time::Duration;
//! # use dlock_core::{DLock, Discipline};
//! # use dlock_testkit::{history::{Header, Log}, memory::{MemoryProvider, MemoryStore}};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let lease = Duration::from_secs(10);
//! let log = Log::memory();
//! log.header(Header::new("an example", Discipline::StoreClock, lease));
//! let store = MemoryStore::store_clock();
//! let worker = log.process_with("worker", log.clock(), 1.0);
//! let client = worker.client(MemoryProvider::new(&store));
//! let lock = DLock::builder().name("door").duration(lease).provider(client).build()?;
//! lock.acquire().await?.release().await?;
//! assert!(log.lines().len() > 8);
//! # Ok(()) }
//! ```

mod axis;
pub mod checker;
mod header;
mod invariant;
pub mod line;
mod log;
mod process;
mod recorded;

pub use self::{
    axis::Axis,
    header::Header,
    invariant::Invariant,
    line::{Line, Micros, What},
    log::{Log, OpenFault},
    process::Process,
    recorded::Recorded,
};
