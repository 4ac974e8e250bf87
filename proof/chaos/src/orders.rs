//! What the controller tells a worker.

use std::{net::SocketAddr, path::PathBuf};

use dlock_proof::history::Micros;
use serde::{Deserialize, Serialize};

use crate::store::Kind;

/// A worker's orders. They travel as one argument of its command line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    /// What it is called in the history: `worker-1`, and `worker-1#2` in its second life.
    pub(crate) name: String,
    /// What it does.
    pub(crate) load: Load,
    pub(crate) store: Kind,
    /// Where the store is, as the worker sees it: an address or a file.
    pub(crate) place: String,
    /// Where the storage is that it writes to.
    pub(crate) storage: SocketAddr,
    /// The file that it appends its history to.
    pub(crate) history: PathBuf,
    pub(crate) seed: u64,
    /// In milliseconds.
    pub(crate) leases: Vec<u64>,
    /// The names of the locks.
    pub(crate) locks: Vec<String>,
    /// Until when it enqueues tasks, by the clock of the host.
    pub(crate) until: Micros,
}

/// What workers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Load {
    /// They lock, and write under the lock.
    Locks,
    /// They enqueue tasks, and do them.
    Tasks,
}
