//! The fewest statements that do a queue's work on PostgreSQL: claim many, move many to where the ended ones are. No
//! token, no priorities, no retries; a claim is over after half a minute.

use std::{future::Future, pin::pin, time::Duration};

use anyhow::Result;
use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, tokio_postgres::NoTls};
use tokio::time::sleep;

use super::driver::{Queue, Stamp, tally};

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

/// When to ask again, if there was nothing.
const IDLE: Duration = Duration::from_millis(100);

pub(crate) struct Raw {
    pool: Pool,
}

impl Raw {
    pub(crate) fn open(url: &str, pool: u32) -> Result<Self> {
        let recycling_method = RecyclingMethod::Fast;
        let manager = Manager::from_config(url.parse()?, NoTls, ManagerConfig { recycling_method });
        let pool = Pool::builder(manager).max_size(pool as usize).build()?;
        Ok(Self { pool })
    }
}

impl Queue for Raw {
    async fn setup(&self) -> Result<()> {
        Ok(self.pool.get().await?.batch_execute(TABLES).await?)
    }

    async fn enqueue(&self, tasks: usize, stamp: Stamp) -> Result<()> {
        let client = self.pool.get().await?;
        let statement = client.prepare_cached(ENQUEUE).await?;
        let (tasks, at) = (i64::try_from(tasks)?, i64::try_from(stamp.at)?);
        client.execute(&statement, &[&tasks, &at]).await?;
        Ok(())
    }

    async fn work(
        &self,
        concurrency: usize,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<()> {
        let mut stop = pin!(stop);
        let most = i64::try_from(concurrency)?;
        let mut ending = tokio::spawn(async { Ok(()) });
        loop {
            let ids = tokio::select! {
                biased;
                () = &mut stop => break,
                ids = claim(&self.pool, most) => ids?,
            };
            if ids.is_empty() {
                sleep(IDLE).await;
                continue;
            }
            // One claim is under way while the tasks of the one before are ended.
            ending.await??;
            ending = tokio::spawn(finish(self.pool.clone(), ids));
        }
        ending.await?
    }
}

async fn claim(pool: &Pool, most: i64) -> Result<Vec<i64>> {
    let client = pool.get().await?;
    let statement = client.prepare_cached(CLAIM).await?;
    let mut ids: Vec<i64> = Vec::new();
    for row in client.query(&statement, &[&most]).await? {
        let at: i64 = row.get(1);
        tally().ran(Stamp {
            at: at.unsigned_abs(),
        });
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
