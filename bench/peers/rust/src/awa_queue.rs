//! awa, with its defaults but for the concurrency; enqueued by COPY, which is its fastest way.

use std::{future::Future, time::Duration};

use anyhow::Result;
use awa::{Client, JobArgs, JobResult, QueueConfig};
use serde::{Deserialize, Serialize};
use sqlx::{PgPool, postgres::PgPoolOptions};

use crate::driver::{Queue, Stamp, tally};

#[derive(Serialize, Deserialize, JobArgs)]
struct Noop {
    at: u64,
}

pub(crate) struct Awa {
    pool: PgPool,
}

impl Awa {
    pub(crate) async fn open(url: &str, pool: u32) -> Result<Self> {
        let pool = PgPoolOptions::new()
            .max_connections(pool)
            .connect(url)
            .await?;
        Ok(Self { pool })
    }
}

impl Queue for Awa {
    async fn setup(&self) -> Result<()> {
        // Its future cannot be sent to another thread.
        let (pool, runtime) = (self.pool.clone(), tokio::runtime::Handle::current());
        let migrate = move || runtime.block_on(awa::migrations::run(&pool));
        Ok(tokio::task::spawn_blocking(migrate).await??)
    }

    async fn enqueue(&self, tasks: usize, stamp: Stamp) -> Result<()> {
        let job = || awa::model::insert::params(&Noop { at: stamp.at });
        let jobs = (0..tasks).map(|_| job()).collect::<Result<Vec<_>, _>>()?;
        awa::insert_many_copy_from_pool(&self.pool, &jobs).await?;
        Ok(())
    }

    async fn work(
        &self,
        concurrency: usize,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<()> {
        let config = QueueConfig {
            max_workers: u32::try_from(concurrency)?,
            ..QueueConfig::default()
        };
        let client = Client::builder(self.pool.clone())
            .queue("default", config)
            .register::<Noop, _, _>(|args, _| async move {
                tally().ran(Stamp { at: args.at });
                Ok(JobResult::Completed)
            })
            .build()?;
        client.start().await?;
        stop.await;
        client.shutdown(Duration::from_secs(10)).await;
        Ok(())
    }
}
