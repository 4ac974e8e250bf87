//! A file: the queue's, with two tables next to it.

use std::{path::PathBuf, time::Duration};

use async_trait::async_trait;
use dlock_sqlite::{
    OpenError,
    tasks::{SqliteTasks, TransactionError},
};
use dlock_tasks::{ClaimKey, NewTask};
use rusqlite::{Connection, Row, Transaction, TransactionBehavior};
use serde_json::Value;
use tokio::task::spawn_blocking;
use uuid::Uuid;

use super::{Completion, QueueDatabase};
use crate::{
    cli::Failure,
    tasks::ledger::{Entry, Seen},
};

/// How long a transaction waits for other writers.
const BUSY: Duration = Duration::from_secs(5);

#[derive(Clone, Debug)]
pub(in crate::tasks) struct SqliteShop {
    tasks: SqliteTasks,
    file: PathBuf,
}

impl SqliteShop {
    /// Runs statements in a separate transaction, which is committed if they return `Ok`.
    async fn transact<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>, &SqliteTasks) -> Result<T, TransactionError>
        + Send
        + 'static,
    ) -> Result<T, TransactionError> {
        let Self { tasks, file } = self.clone();
        let done = spawn_blocking(move || {
            let mut connection = Connection::open(file)?;
            connection.busy_timeout(BUSY)?;
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let answer = work(&transaction, &tasks)?;
            transaction.commit()?;
            Ok(answer)
        });
        // The thread is gone: the process ends.
        done.await
            .unwrap_or_else(|_| Err(rusqlite::Error::InvalidQuery.into()))
    }
}

#[async_trait]
impl QueueDatabase for SqliteShop {
    type Tasks = SqliteTasks;

    async fn create(place: &str) -> Result<Self, Failure> {
        let shop = Self::open(place).await?;
        shop.transact(|transaction, _| {
            transaction.execute_batch(include_str!("sqlite.sql"))?;
            Ok(())
        })
        .await?;
        Ok(shop)
    }

    async fn open(place: &str) -> Result<Self, Failure> {
        let file = PathBuf::from(place);
        loop {
            let path = file.clone();
            match spawn_blocking(move || SqliteTasks::open(path)).await? {
                Ok(tasks) => return Ok(Self { tasks, file }),
                // The error says "Try again".
                Err(OpenError::Busy { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn tasks(&self) -> SqliteTasks {
        self.tasks.clone()
    }

    async fn place(&self, order: Uuid, task: NewTask) -> Result<(), Failure> {
        let placed = self.transact(move |transaction, tasks| {
            let number = order.to_string();
            transaction.execute("INSERT INTO orders VALUES (?1)", [number])?;
            tasks.enqueue_in(transaction, &[task])?;
            Ok(())
        });
        Ok(placed.await?)
    }

    async fn complete(&self, key: ClaimKey, next: NewTask) -> Result<Completion, Failure> {
        let completed = self.transact(move |transaction, tasks| {
            let effect = (key.id.get(), key.token.get().cast_signed());
            transaction.execute("INSERT INTO effect VALUES (?1, ?2)", effect)?;
            tasks.complete_in(transaction, &key, Value::Null)?;
            tasks.enqueue_in(transaction, &[next])?;
            Ok(())
        });
        match completed.await {
            Ok(()) => Ok(Completion::Done),
            Err(TransactionError::Lost { .. }) => Ok(Completion::Refused),
            Err(error) => Err(error.into()),
        }
    }

    async fn orders(&self) -> Result<Vec<Uuid>, Failure> {
        let numbers: Vec<String> = self
            .transact(|transaction, _| {
                let mut all = transaction.prepare("SELECT number FROM orders")?;
                let rows = all.query_map([], |row| row.get(0))?;
                Ok(rows.collect::<Result<_, rusqlite::Error>>()?)
            })
            .await?;
        let parsed: Result<_, uuid::Error> = numbers.iter().map(|number| number.parse()).collect();
        Ok(parsed?)
    }

    async fn ledger(&self) -> Result<Vec<Entry>, Failure> {
        let entries = self.transact(|transaction, _| {
            let mut all = transaction.prepare(include_str!("sqlite_ledger.sql"))?;
            let rows = all.query_map([], entry)?;
            Ok(rows.collect::<Result<_, rusqlite::Error>>()?)
        });
        Ok(entries.await?)
    }

    async fn effects(&self) -> Result<Vec<(i64, u64)>, Failure> {
        let effects = self.transact(|transaction, _| {
            let mut all = transaction.prepare("SELECT task, token FROM effect")?;
            let rows = all.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?)))?;
            Ok(rows.collect::<Result<Vec<_>, rusqlite::Error>>()?)
        });
        let effects = effects.await?;
        Ok(effects
            .into_iter()
            .map(|(task, token)| (task, token.cast_unsigned()))
            .collect())
    }
}

fn entry(row: &Row<'_>) -> Result<Entry, rusqlite::Error> {
    let place = row.get::<_, i64>(0)?.cast_unsigned();
    Ok(Entry {
        place,
        task: row.get(1)?,
        queue: row.get(2)?,
        lane: row.get(3)?,
        priority: row.get(4)?,
        run_at: row.get(5)?,
        token: row.get::<_, i64>(6)?.cast_unsigned(),
        held: row.get(7)?,
        expiry: row.get(8)?,
        duration: row.get(9)?,
        gone: row.get(10)?,
        due: row.get(11)?,
        // Transactions run one after the other.
        seen: Seen {
            own: place,
            below: place,
            open: Vec::new(),
        },
    })
}
