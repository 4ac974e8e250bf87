//! The controller's orders to a worker.

use std::{net::SocketAddr, path::PathBuf};

use dlock_proof::history::Micros;
use serde::{Deserialize, Serialize};

use crate::store::Kind;

/// A worker's orders. They travel as one argument of its command line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    /// Its name in the history: `worker-1`, and `worker-1#2` in its second life.
    pub(crate) name: String,
    /// Its kind of work.
    pub(crate) load: Load,
    pub(crate) store: Kind,
    /// The store, as the worker reaches it: an address or a file.
    pub(crate) place: String,
    /// The address of the storage that it writes to.
    pub(crate) storage: SocketAddr,
    /// The file that it appends its history to.
    pub(crate) history: PathBuf,
    pub(crate) seed: u64,
    /// In milliseconds.
    pub(crate) leases: Vec<u64>,
    /// The names of the locks.
    pub(crate) locks: Vec<String>,
    /// The instant until which it enqueues tasks, by the clock of the host.
    pub(crate) until: Micros,
}

/// The kinds of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Load {
    /// They lock, and write under the lock.
    Locks,
    /// They enqueue tasks, and do them.
    Tasks,
}
