//! `graphile_worker`: Graphile Worker in Rust, with its local queue, without which it fetches one job at a time. Each
//! job is completed by itself, as it does by default.

use std::future::Future;

use anyhow::Result;
use graphile_worker::{
    IntoTaskHandlerResult, JobSpec, LocalQueueConfig, TaskHandler, WorkerContext, WorkerOptions,
};
use riverqueue::sqlx::{PgPool, postgres::PgPoolOptions};
use serde::{Deserialize, Serialize};

use crate::driver::{Queue, Stamp, tally};

#[derive(Clone, Deserialize, Serialize)]
struct Noop {
    at: u64,
}

impl TaskHandler for Noop {
    const IDENTIFIER: &'static str = "noop";

    async fn run(self, _: WorkerContext) -> impl IntoTaskHandlerResult {
        tally().ran(Stamp { at: self.at });
    }
}

pub(crate) struct Graphile {
    pool: PgPool,
    utils: tokio::sync::OnceCell<graphile_worker::WorkerUtils>,
}

impl Graphile {
    pub(crate) async fn open(url: &str, pool: u32) -> Result<Self> {
        let pool = PgPoolOptions::new()
            .max_connections(pool)
            .connect(url)
            .await?;
        let utils = tokio::sync::OnceCell::new();
        Ok(Self { pool, utils })
    }

    fn options(&self) -> WorkerOptions {
        WorkerOptions::default()
            .schema("graphile_worker")
            .define_job::<Noop>()
            .listen_os_shutdown_signals(false)
            .pg_pool(self.pool.clone())
    }
}

impl Queue for Graphile {
    async fn setup(&self) -> Result<()> {
        self.options().init().await?;
        Ok(())
    }

    async fn enqueue(&self, tasks: usize, stamp: Stamp) -> Result<()> {
        let utils = async { Ok::<_, anyhow::Error>(self.options().init().await?.create_utils()) };
        let utils = self.utils.get_or_try_init(|| utils).await?;
        let spec = JobSpec::default();
        let jobs: Vec<_> = (0..tasks).map(|_| (Noop { at: stamp.at }, &spec)).collect();
        utils.add_jobs::<Noop>(&jobs).await?;
        Ok(())
    }

    async fn work(
        &self,
        concurrency: usize,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<()> {
        let worker = self
            .options()
            .concurrency(concurrency)
            .local_queue(LocalQueueConfig::builder().size(concurrency + 1).build())
            .shutdown_signal(stop)
            .init()
            .await?;
        worker.run().await?;
        Ok(())
    }
}
