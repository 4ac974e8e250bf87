//! The queue beside raw statements and its peers. Each runs in processes of its own, which all do what `driver` says.

pub(crate) mod check;
pub(crate) mod driver;
pub(crate) mod fleet;
pub(crate) mod ours;
pub(crate) mod peers;
pub(crate) mod place;
mod raw;
pub(crate) mod report;
mod timed;

use anyhow::{Result, bail};

use self::peers::Program;
use crate::systems::{Kind, Store};

/// How a queue acknowledges tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acks {
    /// Each for itself when it has ended, though several may travel in one write.
    Each,
    /// All that were fetched together, or after a pause that the user asked for.
    Together,
}

/// A queue of the comparison.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) store: Store,
    pub(crate) kind: Kind,
    pub(crate) acks: Acks,
    pub(crate) program: Program,
    /// Counts the tasks that have not ended.
    pub(crate) pending: &'static str,
}

/// What people run: so many tasks at a time, and so many connections, in each process.
pub(crate) const CONCURRENCY: usize = 100;
pub(crate) const POOL: usize = 10;

/// Everything that is compared. The order is that of the tables.
pub(crate) const QUEUES: &[Entry] = &[
    Entry {
        name: "dlock",
        store: Store::Postgres,
        kind: Kind::Ours,
        acks: Acks::Each,
        program: Program::Own("dlock"),
        pending: "SELECT count(*) FROM dlock.dlock_task",
    },
    Entry {
        name: "raw statements",
        store: Store::Postgres,
        kind: Kind::Raw,
        acks: Acks::Together,
        program: Program::Own("raw"),
        pending: "SELECT count(*) FROM raw_task",
    },
    Entry {
        name: "pgmq",
        store: Store::Postgres,
        kind: Kind::Peer,
        acks: Acks::Together,
        program: Program::Rust("pgmq"),
        pending: "SELECT count(*) FROM pgmq.q_bench",
    },
    Entry {
        name: "River",
        store: Store::Postgres,
        kind: Kind::Peer,
        acks: Acks::Each,
        program: Program::Go,
        pending: RIVER,
    },
    Entry {
        name: "riverqueue",
        store: Store::Postgres,
        kind: Kind::Peer,
        acks: Acks::Each,
        program: Program::Rust("riverqueue"),
        pending: RIVER,
    },
    Entry {
        name: "graphile-worker",
        store: Store::Postgres,
        kind: Kind::Peer,
        acks: Acks::Each,
        program: Program::Node { batched: false },
        pending: GRAPHILE,
    },
    Entry {
        name: "graphile-worker, batched",
        store: Store::Postgres,
        kind: Kind::Peer,
        acks: Acks::Together,
        program: Program::Node { batched: true },
        pending: GRAPHILE,
    },
    Entry {
        name: "graphile_worker",
        store: Store::Postgres,
        kind: Kind::Peer,
        acks: Acks::Each,
        program: Program::Rust("graphile_worker"),
        pending: GRAPHILE,
    },
    Entry {
        name: "awa",
        store: Store::Postgres,
        kind: Kind::Peer,
        acks: Acks::Each,
        program: Program::Rust("awa"),
        pending: "SELECT count(*) FROM awa.jobs WHERE state <> 'completed'",
    },
    Entry {
        name: "dlock",
        store: Store::SQLite,
        kind: Kind::Ours,
        acks: Acks::Each,
        program: Program::Own("dlock"),
        pending: "SELECT count(*) FROM dlock_task",
    },
];

const RIVER: &str =
    "SELECT count(*) FROM river_job WHERE state IN ('available', 'running', 'retryable')";
const GRAPHILE: &str = "SELECT count(*) FROM graphile_worker._private_jobs";

/// Runs one of our own queues as a process under measurement.
pub(crate) async fn serve(queue: &str, words: &[String]) -> Result<()> {
    let verb = driver::Verb::parse(words)?;
    let (url, pool) = (driver::url()?, verb.pool());
    match queue {
        "dlock" => driver::drive(ours::Ours::open(&url, pool)?, verb).await,
        "raw" => driver::drive(raw::Raw::open(&url, pool)?, verb).await,
        _ => bail!("there is no queue {queue}"),
    }
}
