//! A claim keeps the rules of a lock: the suite for locks, over the lease in a task's row.

use std::time::Duration;

use async_trait::async_trait;
use dlock_core::{
    ProviderError,
    provider::{Capabilities, Discipline},
};
use dlock_postgres::{
    deadpool_postgres::{Pool, tokio_postgres::Client},
    tasks::PostgresTasks,
};
use dlock_tasks::ClaimName;
use dlock_testkit::{
    Fixture,
    tasks::{
        TaskFixture,
        columns::{Columns, Seats},
    },
};

use super::{Postgres, pool, server};

/// The table, read without the store.
struct Table(Client);

#[async_trait]
impl Seats for Table {
    async fn seat(&self, queue: &str) -> Result<Option<ClaimName>, ProviderError> {
        const SEAT: &str =
            "SELECT id || '/' || token FROM dlock_task WHERE queue = $1 AND uuid IS NOT NULL";
        let row = self.0.query_opt(SEAT, &[&queue]).await;
        let row = row.map_err(|error| ProviderError::unknown(error.to_string()))?;
        let parsed = |seat: &str| seat.parse().unwrap_or_else(|error| panic!("{error}"));
        Ok(row.map(|row| parsed(row.get(0))))
    }
}

/// A queue, and a pool that all providers borrow from: the cases are about calls, not about connecting.
struct Locks(Postgres, Pool);

impl Fixture for Locks {
    type Provider = Columns;

    const CAPABILITIES: Capabilities =
        Capabilities::new("postgres", Discipline::StoreClock).batch(true);
    // An acquire is several calls here, and other tests keep the machine busy.
    const LEASE: Duration = Duration::from_millis(800);
    const UNANSWERED: u32 = 2;
    // The limit of a queue's name is 128.
    const NAME_BYTES: usize = 120;

    async fn start() -> Self {
        Self(Postgres::start().await, pool(server().await, 64))
    }

    async fn provider(&self) -> Columns {
        let tasks = PostgresTasks::builder().pool(self.1.clone());
        let store = tasks.schema(&self.0.schema).build();
        let store = store.unwrap_or_else(|error| panic!("{error}"));
        Columns::new(store, Table(self.0.client().await))
    }
}

dlock_testkit::task_columns!(Locks, ignore = "as over tasks in memory: .ci/run");
