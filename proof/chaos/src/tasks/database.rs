//! The database of the queue, with the run's own tables next to it.

#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;

use async_trait::async_trait;
use dlock_tasks::{ClaimKey, NewTask, TaskStore};
use uuid::Uuid;

#[cfg(feature = "postgres")]
pub(super) use self::postgres::PostgresShop;
#[cfg(feature = "sqlite")]
pub(super) use self::sqlite::SqliteShop;
use super::ledger::Entry;
use crate::cli::Failure;

/// The outcome of a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Completion {
    /// It is committed.
    Done,
    /// The claim had ended, and nothing was kept.
    Refused,
}

/// A connection to the database.
#[async_trait]
pub(super) trait QueueDatabase: Clone + Send + Sync + 'static {
    type Tasks: TaskStore + Clone;

    /// Makes the tables, if they are missing.
    async fn create(place: &str) -> Result<Self, Failure>;

    /// Opens the existing database.
    async fn open(place: &str) -> Result<Self, Failure>;

    fn tasks(&self) -> Self::Tasks;

    /// Writes the row of an order and enqueues its task, both or neither.
    async fn place(&self, order: Uuid, task: NewTask) -> Result<(), Failure>;

    /// Writes the effect of a task, completes it and enqueues the next one, all or nothing.
    async fn complete(&self, key: ClaimKey, next: NewTask) -> Result<Completion, Failure>;

    /// The orders that are kept.
    async fn orders(&self) -> Result<Vec<Uuid>, Failure>;

    /// The changes that the database has recorded of the tasks that have a lane or a queue with a limit, in order.
    async fn ledger(&self) -> Result<Vec<Entry>, Failure>;

    /// The effects that are kept: the task, and the token of the claim.
    async fn effects(&self) -> Result<Vec<(i64, u64)>, Failure>;
}
