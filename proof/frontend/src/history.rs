//! Histories: a record of the events of a run, so that it can be judged afterwards.
//!
//! - [`Log`] collects [`Line`]s in memory or in a file; a [`Process`] of it records what a client
//! - A line is JSON; a history is a file of lines. [`mod@line`] explains each, [`Header`] the facts that a checker must
//!   know beforehand.
//!   must know beforehand.
//! - [`checker::check`] judges the lines, and defines exactly what each invariant requires.
//! - [`keep`] keeps a history that failed, [`shrink`] finds the faults that a failure needs.
//!
//! # Recording
//! ```
//! # use std::time::Duration;
//! # use dlock_core::{DLock, provider::Discipline};
//! # use dlock_proof::history::{Header, Log, checker};
//! # use dlock_testkit::memory::{MemoryProvider, MemoryStore};
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
//! let report = checker::check(&log.lines());
//! assert!(report.is_clean() && report.counts.grants == 1);
//! # Ok(()) }
//! ```

mod axis;
pub mod checker;
mod commits;
mod header;
mod invariant;
mod keep;
pub mod line;
mod log;
mod process;
mod read;
mod recorded;
mod shrink;

pub use self::{
    axis::Axis,
    commits::{kind_of_write, log_commits},
    header::Header,
    invariant::Invariant,
    keep::{Kept, folder, keep, write},
    line::{CommitKind, Line, Micros, What},
    log::{Log, OpenFault},
    process::Process,
    read::{ReadError, read, read_all},
    recorded::Recorded,
    shrink::shrink,
};
