//! A queue in a user's PostgreSQL database: the store of [`dlock_tasks`].
//!
//! Its tables, whose names all begin with `dlock_task`, are in a separate database schema next to the user's tables. So
//! a task can be enqueued and completed in the transaction that writes the data it is about
//! ([`enqueue_in`](PostgresTasks::enqueue_in), [`complete_in`](PostgresTasks::complete_in)): both are kept, or neither.
//!
//! ```no_run
//! # // Needs a server.
//! use dlock_postgres::{
//!     deadpool_postgres::tokio_postgres::Client,
//!     tasks::{PostgresTasks, TransactionError},
//! };
//! use dlock_tasks::NewTask;
//! # async fn order(client: &mut Client, tasks: &PostgresTasks) -> Result<(), TransactionError> {
//! let transaction = client.transaction().await?;
//! transaction.execute("INSERT INTO purchase (item) VALUES ('book')", &[]).await?;
//! tasks.enqueue_in(&transaction, &[NewTask::builder().kind("invoice").build()]).await?;
//! transaction.commit().await?;
//! # Ok(()) }
//! ```
//!
//! Programs in other languages do the same with SQL, here in the database schema `dlock`:
//!
//! ```sql
//! SELECT dlock.dlock_enqueue('default', 'invoice', '{"item": "book"}', run_at => now() + interval '1 hour');
//! SELECT dlock.dlock_complete(17, '3c8f..', 1795494308878643, '{"number": 4}');
//! ```
//!
//! A completion by a claim that has ended raises an error (its code is `LK001`), so the transaction cannot commit.
//!
//! The server's clock decides that a lease has ended and that a task falls due. A row that a user's transaction keeps
//! locked is given to no worker, and its heartbeats fail until that transaction ends: keep transactions that complete
//! tasks or leave checkpoints much shorter than the lease.
//!
//! # Lanes and limits
//! A claim that gives out a task of a [lane](dlock_tasks::NewTask::lane) holds an advisory lock of PostgreSQL until it
//! is committed, whose number is a hash of schema, queue and lane. It has to run in a transaction that is `READ
//! COMMITTED`, the default unless `default_transaction_isolation` says otherwise; at any other level it is an error.
//!
//! Claims of a queue with a [limit](dlock_tasks::TaskStore::set_limit) hold such a lock of the queue, and wait for each
//! other, for 2 s at most. Setting a limit waits for all claims in progress in the schema, and keeps new ones waiting
//! meanwhile: for a moment, or, if the queue has no limit yet, for as long as it takes to read all of its tasks.
//!
//! # Late tasks
//! The claims of a process begin after the last task that it has claimed of each queue and priority. So tasks that run
//! or have ended cost them nothing, even while a long transaction, for example a dump, keeps the server from clearing
//! away ended tasks. A task becomes ready before that place if it was given back, left by a worker that died, enqueued
//! for an instant in the past, or committed later than others. It is found
//! - by the next claim that has room for it, if it fell due within the last second, or as long as a walk through the
//!   queue takes only some milliseconds;
//! - otherwise within a second and 21 times as long as a walk through the queue takes, which happens concurrently with
//!   the claims: 5 s with a million ended tasks that are not cleared away.
//!
//! Claims of queues with lanes or limits look from the beginning, and are slow as long as such a transaction is open.
//!
//! # Wake-ups
//! A worker whose store was built with [`listen`](PostgresTasksBuilder::listen) starts a task milliseconds after the
//! commit that made it ready; other workers find it with their next poll. The transaction that enqueues notifies them
//! with `NOTIFY`, on the channel `dlock_task`, also from SQL and from users' transactions. Of the transactions that
//! begin within 20 ms, one at a time notifies, because notifying commits wait for each other. Workers find the tasks of
//! the others 40 ms later. If a transaction lasts longer than that, they find its tasks with the next poll: within a
//! second, or within the time that the transaction lasted, 5 s at most.
//!
//! An idle worker that listens queries the server for tasks every 5 s, and every 20 s whether it still listens.
//!
//! The server refuses to prepare a transaction that has notified (`PREPARE TRANSACTION`). A session with `SET
//! dlock.hints = off` notifies no worker: workers that listen find its tasks within 5 s, unless their
//! [`poll`](dlock_tasks::WorkerBuilder::poll) says otherwise.
//!
//! # Rights
//! A role that uses the queue needs, here as `worker`:
//!
//! ```sql
//! GRANT USAGE ON SCHEMA dlock TO worker;
//! GRANT SELECT, INSERT, UPDATE, DELETE ON dlock.dlock_task, dlock.dlock_task_done TO worker;
//! GRANT SELECT, INSERT, UPDATE ON dlock.dlock_task_schedule TO worker;
//! GRANT SELECT ON dlock.dlock_task_layout, dlock.dlock_task_paused, dlock.dlock_task_limit TO worker;
//! GRANT SELECT, INSERT, UPDATE, DELETE ON dlock.dlock_task_slot, dlock.dlock_task_held, dlock.dlock_task_changed TO worker;
//! GRANT INSERT, UPDATE, DELETE ON dlock.dlock_task_paused, dlock.dlock_task_limit TO worker;
//! GRANT USAGE ON SEQUENCE dlock.dlock_task_id_seq TO worker;
//! ```
//!
//! and EXECUTE on the functions, which every role has unless it was revoked.

mod answers;
mod channel;
mod cursors;
mod ending;
mod heartbeats;
mod layout;
mod lookback;
mod periodic;
mod reading;
mod requests;
mod row;
mod schema;
mod settings;
mod show;
mod store;
mod transactions;
mod wakeups;

use std::{fmt, sync::Arc};

use self::{
    channel::Channel,
    cursors::Cursors,
    heartbeats::Heartbeats,
    schema::{Schema, Statements},
};
use crate::{connections::Connections, wakeups::Connect};

pub use self::{settings::PostgresTasksBuilder, transactions::TransactionError};

/// A queue in one PostgreSQL database. Cheap to clone; clones share the pool.
///
/// # Panics
/// The methods run in the tokio runtime they are polled in, and panic outside one or in one without a time driver.
///
/// # Cancel safety
/// A future that is dropped before it has a connection has done nothing. One that is dropped later may be applied, at
/// once or when a row that other sessions keep locked becomes free, at most 2 s later unless the network delays it; its
/// connection is closed.
#[derive(Clone)]
pub struct PostgresTasks {
    connections: Connections,
    schema: Arc<Schema>,
    statements: Arc<Statements>,
    beats: Arc<Heartbeats>,
    cursors: Arc<Cursors>,
    /// How to open the channel for hints, if there is to be one.
    listen: Option<Connect>,
    channel: Channel,
}

// Not the pool: the driver decides what it shows of itself, and it contains a password.
impl fmt::Debug for PostgresTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresTasks")
            .field("schema", &self.schema.name())
            .finish_non_exhaustive()
    }
}
