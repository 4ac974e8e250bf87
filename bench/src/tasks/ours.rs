//! Our queue as a program under measurement: a `Worker` with its defaults but for the concurrency, woken by the
//! server.

use std::{future::Future, sync::Arc, time::Duration};

use anyhow::{Context as _, Result};
use deadpool_postgres::{
    Manager, Pool,
    tokio_postgres::{Config, NoTls},
};
use dlock_postgres::tasks::PostgresTasks;
use dlock_sqlite::tasks::SqliteTasks;
use dlock_tasks::{Context, NewTask, Payload, TaskStore, Worker};
use serde::{Deserialize, Serialize};

use super::{
    driver::{Queue, Stamp, now, tally},
    timed::Timed,
};

/// How a database file is named where a server's address could stand.
pub(crate) const SQLITE: &str = "sqlite:";

/// Milliseconds of a lease other than the usual one.
pub(crate) const LEASE: &str = "BENCH_LEASE_MS";
/// Whether handlers say that they began, and then never end.
pub(crate) const HOLD: &str = "BENCH_HOLD";
/// Whether claims are timed.
pub(crate) const CLAIMS: &str = "BENCH_CLAIMS";

#[derive(Serialize, Deserialize)]
struct Noop {
    at: u64,
}

impl Payload for Noop {
    const KIND: &'static str = "noop";
}

/// The queue in either store.
pub(crate) struct Ours {
    store: Arc<dyn TaskStore>,
    postgres: Option<PostgresTasks>,
}

/// A queue on the server at this address.
pub(crate) fn postgres(url: &str, pool: u32) -> Result<PostgresTasks> {
    let database: Config = url.parse()?;
    let manager = Manager::new(database.clone(), NoTls);
    let pool = Pool::builder(manager).max_size(pool as usize).build()?;
    let tasks = PostgresTasks::builder().pool(pool).listen(database, NoTls);
    Ok(tasks.build()?)
}

impl Ours {
    pub(crate) fn open(url: &str, pool: u32) -> Result<Self> {
        Ok(match url.strip_prefix(SQLITE) {
            Some(file) => Self {
                store: Arc::new(SqliteTasks::open(file)?),
                postgres: None,
            },
            None => {
                let tasks = postgres(url, pool)?;
                Self {
                    store: Arc::new(tasks.clone()),
                    postgres: Some(tasks),
                }
            }
        })
    }
}

impl Queue for Ours {
    async fn setup(&self) -> Result<()> {
        if let Some(postgres) = &self.postgres {
            postgres.create_schema().await?;
        }
        Ok(())
    }

    async fn enqueue(&self, tasks: usize, stamp: Stamp) -> Result<()> {
        let task = NewTask::of(&Noop { at: stamp.at })?.build();
        self.store.enqueue(&vec![task; tasks]).await?;
        Ok(())
    }

    async fn work(
        &self,
        concurrency: usize,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<()> {
        let lease = match std::env::var(LEASE) {
            Ok(millis) => Duration::from_millis(millis.parse().context(LEASE)?),
            Err(_) => Duration::from_secs(30),
        };
        let hold = std::env::var_os(HOLD).is_some();
        let store = Timed::new(Arc::clone(&self.store), std::env::var_os(CLAIMS).is_some());
        let worker = Worker::builder()
            .store(store)
            .concurrency(concurrency)
            .lease(lease)
            .grace(Duration::from_secs(2))
            .build()?
            .handle(move |_: Context, task: Noop| async move {
                tally().ran(Stamp { at: task.at });
                if hold {
                    println!("began {}", now());
                    std::future::pending::<()>().await;
                }
                Ok(())
            });
        Ok(worker.run(stop).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::place::pending_in;

    #[tokio::test]
    async fn worker_runs_what_was_enqueued() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("queue.db");
        let queue = Ours::open(&format!("{SQLITE}{}", file.display()), 1)?;
        queue.setup().await?;
        queue.enqueue(5, Stamp { at: now() }).await?;
        let pending = "SELECT count(*) FROM dlock_task";
        assert_eq!(pending_in(&file, pending)?, 5);
        let all_ran = {
            let file = file.clone();
            async move {
                while pending_in(&file, pending).is_ok_and(|left| left > 0) {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
        };
        queue.work(2, all_ran).await?;
        assert_eq!(pending_in(&file, pending)?, 0);
        Ok(())
    }
}
