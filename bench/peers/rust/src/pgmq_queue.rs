//! pgmq's functions, installed from the SQL that its crate carries, by the fewest calls: read many, delete them. A
//! message that is being worked on is hidden for half a minute. A worker that finds nothing asks again after 100 ms, as
//! `pgmq.read_with_poll` does.

use std::{future::Future, pin::pin, time::Duration};

use anyhow::Result;
use sqlx::{PgPool, Row as _, postgres::PgPoolOptions};
use tokio::time::sleep;

use crate::driver::{Queue, Stamp, tally};

/// When to ask again, if there was nothing.
const IDLE: Duration = Duration::from_millis(100);

pub(crate) struct Pgmq {
    pool: PgPool,
}

impl Pgmq {
    pub(crate) async fn open(url: &str, pool: u32) -> Result<Self> {
        let pool = PgPoolOptions::new()
            .max_connections(pool)
            .connect(url)
            .await?;
        Ok(Self { pool })
    }
}

impl Queue for Pgmq {
    async fn setup(&self) -> Result<()> {
        pgmq::PGMQueueExt::new_with_pool(self.pool.clone())
            .await
            .install_sql_from_embedded()
            .await?;
        sqlx::query("SELECT pgmq.create('bench')")
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    async fn enqueue(&self, tasks: usize, stamp: Stamp) -> Result<()> {
        let messages = vec![serde_json::json!({ "at": stamp.at }); tasks];
        sqlx::query("SELECT pgmq.send_batch('bench', $1)")
            .bind(messages)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    async fn work(
        &self,
        concurrency: usize,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<()> {
        let mut stop = pin!(stop);
        let most = i32::try_from(concurrency)?;
        let mut ending = tokio::spawn(async { Ok(()) });
        loop {
            let ids = tokio::select! {
                biased;
                () = &mut stop => break,
                ids = read(&self.pool, most) => ids?,
            };
            if ids.is_empty() {
                sleep(IDLE).await;
                continue;
            }
            // One call reads while the messages of the one before are deleted.
            ending.await??;
            ending = tokio::spawn(delete(self.pool.clone(), ids));
        }
        ending.await?
    }
}

async fn read(pool: &PgPool, most: i32) -> Result<Vec<i64>> {
    let read = sqlx::query("SELECT msg_id, message FROM pgmq.read('bench', 30, $1)").bind(most);
    let mut ids: Vec<i64> = Vec::new();
    for row in read.fetch_all(pool).await? {
        let message: serde_json::Value = row.try_get(1)?;
        tally().ran(serde_json::from_value::<Stamp>(message)?);
        ids.push(row.try_get(0)?);
    }
    Ok(ids)
}

async fn delete(pool: PgPool, ids: Vec<i64>) -> Result<()> {
    let delete = sqlx::query("SELECT pgmq.delete('bench', $1::bigint[])").bind(ids);
    delete.execute(&pool).await?;
    Ok(())
}
