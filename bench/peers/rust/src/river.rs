//! riverqueue: River in Rust. Its pause between two fetches is the shortest that it allows, since with the one that it
//! has by default (100 ms) it can run no more than its concurrency ten times a second.

use std::{future::Future, sync::OnceLock, time::Duration};

use anyhow::Result;
use riverqueue::{
    BoxError, Client, Job, JobArgs, QueueConfig, WorkContext, WorkOutcome, Workers,
    migrate::PostgresMigrator,
    sqlx::{PgPool, postgres::PgPoolOptions},
};
use serde::{Deserialize, Serialize};

use crate::driver::{Queue, Stamp, tally};

#[derive(Clone, Debug, Deserialize, Serialize, JobArgs)]
#[river(kind = "noop")]
struct Noop {
    at: u64,
}

async fn noop(_: WorkContext, job: Job<Noop>) -> Result<WorkOutcome, BoxError> {
    tally().ran(Stamp { at: job.args.at });
    Ok(WorkOutcome::Complete)
}

pub(crate) struct River {
    pool: PgPool,
    /// The one that enqueues.
    producer: OnceLock<Client>,
}

impl River {
    pub(crate) async fn open(url: &str, pool: u32) -> Result<Self> {
        let pool = PgPoolOptions::new()
            .max_connections(pool)
            .connect(url)
            .await?;
        let producer = OnceLock::new();
        Ok(Self { pool, producer })
    }

    fn client(&self, concurrency: usize) -> Result<Client> {
        let mut workers = Workers::new();
        workers.add_fn(noop)?;
        let cooldown = Duration::from_millis(1);
        Ok(Client::builder(self.pool.clone())
            .workers(workers)
            .fetch_cooldown(cooldown)
            .queue("default", QueueConfig::new(concurrency))
            .build()?)
    }
}

impl Queue for River {
    async fn setup(&self) -> Result<()> {
        PostgresMigrator::new(self.pool.clone())
            .migrate_up()
            .await?;
        Ok(())
    }

    async fn enqueue(&self, tasks: usize, stamp: Stamp) -> Result<()> {
        let jobs = (0..tasks).map(|_| Noop { at: stamp.at });
        let producer = match self.producer.get() {
            Some(producer) => producer,
            None => {
                let client = self.client(1)?;
                self.producer.get_or_init(|| client)
            }
        };
        producer.insert_many(jobs).await?;
        Ok(())
    }

    async fn work(
        &self,
        concurrency: usize,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<()> {
        let mut run = self.client(concurrency)?.start_with_graceful_stop(stop)?;
        run.wait().await?;
        Ok(())
    }
}
