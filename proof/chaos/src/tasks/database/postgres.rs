//! A server: the queue's, with a schema of two tables next to it.

use std::{net::SocketAddr, time::Duration};

use async_trait::async_trait;
use dlock_postgres::{
    deadpool_postgres::{
        Manager, Pool,
        tokio_postgres::{Client, Error, NoTls, Row},
    },
    tasks::{PostgresTasks, TransactionError},
};
use dlock_tasks::{ClaimKey, NewTask};
use serde_json::Value;
use tokio::{task::JoinHandle, time::timeout};
use uuid::Uuid;

use super::{Completion, QueueDatabase};
use crate::{
    cli::Failure,
    store::postgres_config,
    tasks::ledger::{Entry, Seen},
};

/// How long a transaction may take. Its locks block every other client, so its connection is closed then: a
/// server that waits for the rest of a message obeys no time-out of its own.
const LONGEST: Duration = Duration::from_secs(2);
/// How many connections a worker's queue has.
const POOL: usize = 4;

#[derive(Clone, Debug)]
pub(in crate::tasks) struct PostgresShop {
    tasks: PostgresTasks,
    server: SocketAddr,
}

/// A connection that is closed when this is dropped, whatever answer it still waits for.
struct Connected {
    client: Client,
    connection: JoinHandle<Result<(), Error>>,
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

impl PostgresShop {
    /// A separate connection.
    async fn connect(&self) -> Result<Connected, Failure> {
        let (client, connection) = postgres_config(self.server).connect(NoTls).await?;
        let connection = tokio::spawn(connection);
        Ok(Connected { client, connection })
    }

    async fn placed(&self, order: Uuid, task: NewTask) -> Result<(), Failure> {
        let mut own = self.connect().await?;
        let transaction = own.client.transaction().await?;
        let insert = "INSERT INTO shop.orders VALUES ($1)";
        transaction.execute(insert, &[&order.to_string()]).await?;
        self.tasks.enqueue_in(&transaction, &[task]).await?;
        transaction.commit().await?;
        Ok(())
    }

    async fn completed(&self, key: ClaimKey, next: NewTask) -> Result<Completion, Failure> {
        let mut own = self.connect().await?;
        let transaction = own.client.transaction().await?;
        let insert = "INSERT INTO shop.effect VALUES ($1, $2)";
        let (task, token) = (key.id.get(), key.token.get().cast_signed());
        transaction.execute(insert, &[&task, &token]).await?;
        let completed = self.tasks.complete_in(&transaction, &key, Value::Null);
        match completed.await {
            Ok(()) => {}
            Err(TransactionError::Lost { .. }) => return Ok(Completion::Refused),
            Err(error) => return Err(error.into()),
        }
        self.tasks.enqueue_in(&transaction, &[next]).await?;
        transaction.commit().await?;
        Ok(Completion::Done)
    }
}

#[async_trait]
impl QueueDatabase for PostgresShop {
    type Tasks = PostgresTasks;

    async fn create(place: &str) -> Result<Self, Failure> {
        let shop = Self::open(place).await?;
        shop.tasks.create_schema().await?;
        let own = shop.connect().await?;
        let tables = include_str!("postgres.sql");
        own.client.batch_execute(tables).await?;
        Ok(shop)
    }

    async fn open(place: &str) -> Result<Self, Failure> {
        let server = place.parse()?;
        let manager = Manager::new(postgres_config(server), NoTls);
        let pool = Pool::builder(manager).max_size(POOL).build()?;
        let tasks = PostgresTasks::builder().pool(pool).build()?;
        Ok(Self { tasks, server })
    }

    fn tasks(&self) -> PostgresTasks {
        self.tasks.clone()
    }

    async fn place(&self, order: Uuid, task: NewTask) -> Result<(), Failure> {
        timeout(LONGEST, self.placed(order, task)).await?
    }

    async fn complete(&self, key: ClaimKey, next: NewTask) -> Result<Completion, Failure> {
        timeout(LONGEST, self.completed(key, next)).await?
    }

    async fn orders(&self) -> Result<Vec<Uuid>, Failure> {
        let own = self.connect().await?;
        let rows = own
            .client
            .query("SELECT number FROM shop.orders", &[])
            .await?;
        let number = |row: &Row| row.get::<_, &str>(0).parse();
        let numbers: Result<_, uuid::Error> = rows.iter().map(number).collect();
        Ok(numbers?)
    }

    async fn ledger(&self) -> Result<Vec<Entry>, Failure> {
        let own = self.connect().await?;
        let ledger = "SELECT * FROM shop.ledger ORDER BY place";
        let rows = own.client.query(ledger, &[]).await?;
        rows.iter().map(entry).collect()
    }

    async fn effects(&self) -> Result<Vec<(i64, u64)>, Failure> {
        let own = self.connect().await?;
        let rows = own
            .client
            .query("SELECT task, token FROM shop.effect", &[])
            .await?;
        let effect = |row: &Row| (row.get(0), row.get::<_, i64>(1).cast_unsigned());
        Ok(rows.iter().map(effect).collect())
    }
}

fn entry(row: &Row) -> Result<Entry, Failure> {
    let number = |column| row.get::<_, i64>(column).cast_unsigned();
    // The smallest open transaction, the next one to come, and the open ones.
    let seen: Vec<&str> = row.get::<_, &str>("seen").split(':').collect();
    let [_, below, open] = seen[..] else {
        return Err("a snapshot that is none".into());
    };
    let open = open.split(',').filter(|number| !number.is_empty());
    Ok(Entry {
        place: number("place"),
        task: row.get("task"),
        queue: row.get("queue"),
        lane: row.get("lane"),
        priority: u8::try_from(row.get::<_, i16>("priority"))?,
        run_at: row.get("run_at"),
        token: number("token"),
        held: row.get("held"),
        expiry: row.get("expiry"),
        duration: row.get("duration"),
        gone: row.get("gone"),
        due: row.get("due"),
        seen: Seen {
            own: number("own"),
            below: below.parse()?,
            open: open.map(str::parse).collect::<Result<_, _>>()?,
        },
    })
}
