//! The queues under measurement: ours, and the raw statements that do the same work on Postgres.

mod ours;
mod raw;

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::{Result, bail};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::{sync::oneshot, task::JoinHandle};

use crate::{
    bench::Whose,
    clock::Moment,
    statistics::millis,
    systems::{Kind, OURS, Store},
};

/// A queue, connected.
#[async_trait]
pub(crate) trait Queue: Send + Sync {
    /// Makes its tables.
    async fn setup(&self) -> Result<()>;

    /// Enqueues tasks that do nothing, in one call: spread in turn over that many lanes, or without a lane.
    async fn enqueue(&self, tasks: usize, lanes: usize, enqueued: Moment) -> Result<()>;

    /// Sets how many tasks may run at a time.
    async fn limit(&self, _most: u32) -> Result<()> {
        bail!("this queue has no limits");
    }

    /// Claims one task, and keeps it.
    async fn claim(&self) -> Result<()> {
        bail!("this queue has no lanes");
    }

    /// Runs tasks, that many at a time, until `stop`.
    async fn work(
        &self,
        concurrency: usize,
        ran: Arc<Counter>,
        stop: oneshot::Receiver<()>,
    ) -> Result<()>;
}

/// All queues. The order is that of the tables.
pub(crate) const QUEUES: [Whose; 3] = [
    Whose {
        store: Store::Postgres,
        system: OURS,
        kind: Kind::Ours,
    },
    Whose {
        store: Store::Postgres,
        system: "raw statements",
        kind: Kind::Raw,
    },
    Whose {
        store: Store::SQLite,
        system: OURS,
        kind: Kind::Ours,
    },
];

/// Where a queue keeps its tables.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Database {
    /// Its address.
    Postgres(String),
    File(PathBuf),
}

/// Connects to a queue, with that many connections.
pub(crate) fn open(kind: Kind, database: &Database, connections: usize) -> Result<Arc<dyn Queue>> {
    Ok(match (kind, database) {
        (Kind::Ours, Database::Postgres(url)) => Arc::new(ours::postgres(url, connections)?),
        (Kind::Ours, Database::File(file)) => Arc::new(ours::sqlite(file)?),
        (Kind::Raw, Database::Postgres(url)) => Arc::new(raw::Raw::open(url, connections)?),
        _ => bail!("no such queue on {database:?}"),
    })
}

/// Counts the tasks that ran.
#[derive(Debug)]
pub(crate) struct Counter {
    begin: Moment,
    end: Moment,
    inside: AtomicU64,
    all: AtomicU64,
    waits: Option<Mutex<Vec<f64>>>,
}

impl Counter {
    /// A task begins.
    fn ran(&self, enqueued: Moment) {
        let now = Moment::now();
        self.all.fetch_add(1, Ordering::Relaxed);
        if self.begin <= now && now < self.end {
            self.inside.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(waits) = &self.waits
            && enqueued >= self.begin
        {
            let mut waits = waits.lock().unwrap_or_else(PoisonError::into_inner);
            waits.push(millis(now.since(enqueued)));
        }
    }
}

/// The orders of a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Work {
    pub(crate) kind: Kind,
    pub(crate) database: Database,
    pub(crate) concurrency: usize,
    pub(crate) connections: usize,
    /// Tasks that begin between these are counted.
    pub(crate) begin: Moment,
    pub(crate) end: Moment,
    /// Keep the waiting time of each task that was enqueued since the beginning.
    pub(crate) keeps_waits: bool,
}

/// Work in progress.
pub(crate) struct Working {
    counter: Arc<Counter>,
    stop: oneshot::Sender<()>,
    work: JoinHandle<Result<()>>,
}

/// The tasks that a worker ran.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Tally {
    /// Those that ran in the time that counts.
    pub(crate) inside: u64,
    pub(crate) all: u64,
    /// From the call that enqueued a task to its beginning, in milliseconds.
    pub(crate) waits: Vec<f64>,
}

impl Work {
    pub(crate) fn begin(self) -> Result<Working> {
        let queue = open(self.kind, &self.database, self.connections)?;
        let counter = Arc::new(Counter {
            begin: self.begin,
            end: self.end,
            inside: AtomicU64::new(0),
            all: AtomicU64::new(0),
            waits: self.keeps_waits.then(Mutex::default),
        });
        let (stop, stopped) = oneshot::channel();
        let ran = Arc::clone(&counter);
        let work = tokio::spawn(async move { queue.work(self.concurrency, ran, stopped).await });
        Ok(Working {
            counter,
            stop,
            work,
        })
    }
}

impl Working {
    pub(crate) async fn stop(self) -> Result<Tally> {
        let Self {
            counter,
            stop,
            work,
        } = self;
        drop(stop);
        work.await??;
        let waits = counter.waits.as_ref().map(|waits| {
            let mut waits = waits.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *waits)
        });
        Ok(Tally {
            inside: counter.inside.load(Ordering::Relaxed),
            all: counter.all.load(Ordering::Relaxed),
            waits: waits.unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn worker_runs_and_counts_what_was_enqueued() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let database = Database::File(folder.path().join("queue.db"));
        let begin = Moment::now();
        let queue = open(Kind::Ours, &database, 1)?;
        queue.setup().await?;
        queue.enqueue(5, 0, begin).await?;
        let work = Work {
            kind: Kind::Ours,
            database,
            concurrency: 2,
            connections: 1,
            begin,
            end: begin.after(Duration::from_secs(3_600)),
            keeps_waits: true,
        };
        let working = work.begin()?;
        while working.counter.all.load(Ordering::Relaxed) < 5 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let tally = working.stop().await?;
        assert_eq!((tally.inside, tally.all, tally.waits.len()), (5, 5, 5));
        Ok(())
    }
}
