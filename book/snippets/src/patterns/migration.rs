//! All instances want to migrate the database when they start; one of them does.

// ANCHOR: migrate
use dlock::{
    DLock,
    postgres::{
        deadpool_postgres::tokio_postgres::Client,
        fence::{Fence, FenceError},
    },
};

use crate::Failure;

/// The steps, in order. Never change a step once it has been released.
const STEPS: &[&str] = &[
    "CREATE TABLE customer (id bigint PRIMARY KEY)",
    "ALTER TABLE customer ADD COLUMN name text",
];

/// Instances that start together wait here for the one that migrates, and then find
/// nothing left to do.
pub async fn migrate(lock: &DLock, client: &mut Client) -> Result<usize, Failure> {
    let fence = Fence::new("dlock", "fence")?;
    lock.with_result(async |token| {
        let mut done = 0;
        loop {
            // Each step is a separate transaction: if the lease is lost in the
            // middle, the committed steps stay.
            let transaction = client.transaction().await?;
            match fence.check(&transaction, "migrations", token).await {
                Err(FenceError::Stale(stale)) => return Err(stale.into()),
                checked => checked?,
            }
            let row = transaction
                .query_one("SELECT count(*) FROM migration", &[])
                .await?;
            let applied = usize::try_from(row.get::<_, i64>(0))?;
            let Some(step) = STEPS.get(applied) else {
                return Ok(done);
            };
            transaction.batch_execute(step).await?;
            transaction
                .execute("INSERT INTO migration DEFAULT VALUES", &[])
                .await?;
            transaction.commit().await?;
            done += 1;
        }
    })
    .await
}
// ANCHOR_END: migrate
