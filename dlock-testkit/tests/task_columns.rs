//! The reference task store keeps the rules of locks, in paused time.

use async_trait::async_trait;
use dlock_core::{
    ProviderError,
    provider::{Capabilities, Discipline, Durability},
};
use dlock_tasks::{ClaimKey, ClaimName};
use dlock_testkit::{
    Fixture,
    tasks::{
        columns::{Columns, Seats},
        memory::MemoryTasks,
    },
};

struct Memory(MemoryTasks);

struct Table(MemoryTasks);

#[async_trait]
impl Seats for Table {
    async fn seat(&self, queue: &str) -> Result<Option<ClaimName>, ProviderError> {
        Ok(self.0.call(|table, _| {
            let row = table.rows.values().find(|row| row.new.queue == queue)?;
            let record = &row.term.as_ref()?.record;
            Some(ClaimKey::new(row.id, record.uuid, record.token).name())
        }))
    }
}

impl Fixture for Memory {
    type Provider = Columns;

    const CAPABILITIES: Capabilities = Capabilities::new("memory", Discipline::StoreClock)
        .batch(true)
        .durability(Durability::Volatile);
    // The limit of a queue's name is 128.
    const NAME_BYTES: usize = 120;
    const PAUSED: bool = true;

    async fn start() -> Self {
        Self(MemoryTasks::new())
    }

    async fn provider(&self) -> Columns {
        Columns::new(self.0.clone(), Table(self.0.clone()))
    }
}

dlock_testkit::task_columns!(Memory);
