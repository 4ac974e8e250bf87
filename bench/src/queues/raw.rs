//! The fewest statements that do a queue's work on Postgres: claim many, move many to the table of ended ones. No
//! token, no priorities, no retries; a claim ends after half a minute.

use std::{sync::Arc, time::Duration};

use anyhow::Result;
use async_trait::async_trait;
use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, tokio_postgres::NoTls};
use tokio::{sync::oneshot, time::sleep};

use super::{Counter, Queue};
use crate::clock::Moment;

const TABLES: &str = "
CREATE TABLE raw_task (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at bigint NOT NULL, expiry timestamptz)
    WITH (fillfactor = 50);
CREATE TABLE raw_done (id bigint PRIMARY KEY, at bigint NOT NULL, ended timestamptz NOT NULL);";

const ENQUEUE: &str = "INSERT INTO raw_task (at) SELECT $2 FROM generate_series(1, $1::bigint)";

const CLAIM: &str = "
WITH free AS (
    SELECT id FROM raw_task WHERE expiry IS NULL OR expiry <= now() ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED)
UPDATE raw_task AS t SET expiry = now() + interval '30 s' FROM free WHERE t.id = free.id RETURNING t.id, t.at";

const FINISH: &str = "
WITH gone AS (DELETE FROM raw_task WHERE id = ANY ($1) RETURNING id, at)
INSERT INTO raw_done SELECT id, at, now() FROM gone";

/// The pause before the next claim if the last one found nothing.
const IDLE: Duration = Duration::from_millis(100);

pub(super) struct Raw {
    pool: Pool,
}

impl Raw {
    pub(super) fn open(url: &str, connections: usize) -> Result<Self> {
        let recycling_method = RecyclingMethod::Fast;
        let manager = Manager::from_config(url.parse()?, NoTls, ManagerConfig { recycling_method });
        let pool = Pool::builder(manager).max_size(connections).build()?;
        Ok(Self { pool })
    }
}

#[async_trait]
impl Queue for Raw {
    async fn setup(&self) -> Result<()> {
        Ok(self.pool.get().await?.batch_execute(TABLES).await?)
    }

    async fn enqueue(&self, tasks: usize, _lanes: usize, enqueued: Moment) -> Result<()> {
        let client = self.pool.get().await?;
        let statement = client.prepare_cached(ENQUEUE).await?;
        let enqueued = i64::try_from(enqueued.nanoseconds())?;
        client
            .execute(&statement, &[&i64::try_from(tasks)?, &enqueued])
            .await?;
        Ok(())
    }

    async fn work(
        &self,
        concurrency: usize,
        ran: Arc<Counter>,
        mut stop: oneshot::Receiver<()>,
    ) -> Result<()> {
        let most = i64::try_from(concurrency)?;
        let mut ending = tokio::spawn(async { Ok(()) });
        loop {
            let ids = tokio::select! {
                biased;
                _ = &mut stop => break,
                ids = claim(&self.pool, most, &ran) => ids?,
            };
            if ids.is_empty() {
                sleep(IDLE).await;
                continue;
            }
            // One claim is in flight while the tasks of the previous one are ended.
            ending.await??;
            ending = tokio::spawn(finish(self.pool.clone(), ids));
        }
        ending.await?
    }
}

async fn claim(pool: &Pool, most: i64, ran: &Counter) -> Result<Vec<i64>> {
    let client = pool.get().await?;
    let statement = client.prepare_cached(CLAIM).await?;
    let mut ids: Vec<i64> = Vec::new();
    for row in client.query(&statement, &[&most]).await? {
        let enqueued: i64 = row.get(1);
        ran.ran(Moment::at(enqueued.unsigned_abs()));
        ids.push(row.get(0));
    }
    Ok(ids)
}

async fn finish(pool: Pool, ids: Vec<i64>) -> Result<()> {
    let client = pool.get().await?;
    let statement = client.prepare_cached(FINISH).await?;
    client.execute(&statement, &[&ids]).await?;
    Ok(())
}
