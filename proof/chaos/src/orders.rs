//! What the controller tells a worker.

use std::{net::SocketAddr, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::store::Kind;

/// A worker's orders. They travel as one argument of its command line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    /// What it is called in the history: `worker-1`, and `worker-1#2` in its second life.
    pub(crate) name: String,
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
}
