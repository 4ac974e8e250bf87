//! Our queue: a `Worker` with its defaults except for the concurrency, woken by the store.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Result, ensure};
use async_trait::async_trait;
use deadpool_postgres::{
    Manager, Pool,
    tokio_postgres::{Config, NoTls},
};
use dlock_postgres::tasks::PostgresTasks;
use dlock_sqlite::tasks::SqliteTasks;
use dlock_tasks::{Claim, Context, NewTask, Payload, TaskStore, Worker};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::{Counter, Queue};
use crate::clock::Moment;

/// The lease of a claim that outlasts the measurement.
const HOUR: Duration = Duration::from_secs(3_600);

#[derive(Serialize, Deserialize)]
struct Noop {
    enqueued: Moment,
}

impl Payload for Noop {
    const KIND: &'static str = "noop";
}

pub(super) struct Ours {
    store: Arc<dyn TaskStore>,
    postgres: Option<PostgresTasks>,
}

pub(super) fn postgres(url: &str, connections: usize) -> Result<Ours> {
    let database: Config = url.parse()?;
    let manager = Manager::new(database.clone(), NoTls);
    let pool = Pool::builder(manager).max_size(connections).build()?;
    let tasks = PostgresTasks::builder().pool(pool).listen(database, NoTls);
    let tasks = tasks.build()?;
    Ok(Ours {
        store: Arc::new(tasks.clone()),
        postgres: Some(tasks),
    })
}

pub(super) fn sqlite(file: &Path) -> Result<Ours> {
    Ok(Ours {
        store: Arc::new(SqliteTasks::open(file)?),
        postgres: None,
    })
}

#[async_trait]
impl Queue for Ours {
    async fn setup(&self) -> Result<()> {
        if let Some(postgres) = &self.postgres {
            postgres.create_schema().await?;
        }
        Ok(())
    }

    async fn enqueue(&self, tasks: usize, lanes: usize, enqueued: Moment) -> Result<()> {
        let task = NewTask::of(&Noop { enqueued })?.build();
        let mut tasks = vec![task; tasks];
        for (number, task) in tasks.iter_mut().enumerate().filter(|_| lanes > 0) {
            task.lane = Some((number % lanes).to_string());
        }
        self.store.enqueue(&tasks).await?;
        Ok(())
    }

    async fn limit(&self, most: u32) -> Result<()> {
        self.store.set_limit(NewTask::QUEUE, Some(most)).await?;
        Ok(())
    }

    async fn claim(&self) -> Result<()> {
        let claim = Claim::new(NewTask::QUEUE, Uuid::new_v4(), HOUR);
        let claimed = self.store.claim(&claim).await?;
        ensure!(claimed.tasks.len() == 1, "there is no task to claim");
        Ok(())
    }

    async fn work(
        &self,
        concurrency: usize,
        ran: Arc<Counter>,
        stop: oneshot::Receiver<()>,
    ) -> Result<()> {
        let worker = Worker::builder()
            .store(Arc::clone(&self.store))
            .concurrency(concurrency)
            .build()?
            .handle(move |_: Context, task: Noop| {
                ran.ran(task.enqueued);
                async { Ok(()) }
            });
        let stop = async {
            // The other end has been dropped.
            drop(stop.await);
        };
        Ok(worker.run(stop).await?)
    }
}
