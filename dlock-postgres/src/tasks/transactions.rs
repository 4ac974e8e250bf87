//! Operations in a user's transaction: they are kept with the user's data, or not at all.

use deadpool_postgres::tokio_postgres::{self, Transaction, types::Type};
use dlock_core::ProviderError;
use dlock_tasks::{ClaimKey, Ending, Enqueued, How, LostClaim, NewTask, limits};
use serde_json::Value;

use super::{
    PostgresTasks,
    answers::{enqueued, in_order},
    requests::{Additions, token},
};
use crate::connections::{Parameters, bigint};

/// The code of the error that a claim that has ended raises in a user's transaction, see `sql/tasks/strict.sql`.
const STALE: &str = "LK001";

/// The reason why nothing was enqueued or completed in a user's transaction. It has to be rolled back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransactionError {
    /// The claim has ended: another worker may have the task. The transaction must not be committed, and the database
    /// refuses to commit it.
    #[error(transparent)]
    Lost(LostClaim),
    /// A task that cannot be kept, or an answer that cannot be read.
    #[error("{0}")]
    Refused(ProviderError),
    /// The database's error, including a serialization failure under the stricter isolation levels.
    #[error("the transaction failed")]
    Postgres(#[from] tokio_postgres::Error),
}

impl PostgresTasks {
    /// Adds tasks in a transaction of the caller's: workers see them when it commits. Another transaction that enqueues
    /// a task of the same key at the same time waits for that.
    ///
    /// # Errors
    /// [`TransactionError::Refused`]: a task that cannot be kept. [`TransactionError::Postgres`]: the database's error.
    ///
    /// # Cancel safety
    /// The transaction owns everything that was done: dropping it undoes all of it.
    pub async fn enqueue_in(
        &self,
        transaction: &Transaction<'_>,
        tasks: &[NewTask],
    ) -> Result<Vec<Enqueued>, TransactionError> {
        let additions = Additions::new(tasks).map_err(TransactionError::Refused)?;
        let parameters: &Parameters<'_> = &additions.parameters();
        let rows = transaction
            .query_typed(&self.statements.enqueue, parameters)
            .await?;
        in_order(tasks.len(), &rows, enqueued).map_err(TransactionError::Refused)
    }

    /// Completes a task in the transaction that keeps its handler's results. If the claim has ended, that is an error,
    /// and the transaction cannot commit: no result of a worker that was too late is kept.
    ///
    /// The row of the task is locked from here to the end of the transaction, and no other worker gets the task
    /// meanwhile, however long that is. Set `idle_in_transaction_session_timeout` on the server, so that the
    /// transaction also ends if the network is lost between two statements, and `tcp_keepalives_idle`, in case it is
    /// lost in the middle of one.
    ///
    /// # Errors
    /// [`TransactionError::Lost`]: roll back, and stop. [`TransactionError::Refused`],
    /// [`TransactionError::Postgres`]: nothing is known of the claim.
    ///
    /// # Cancel safety
    /// As for [`enqueue_in`](Self::enqueue_in).
    pub async fn complete_in(
        &self,
        transaction: &Transaction<'_>,
        key: &ClaimKey,
        output: Value,
    ) -> Result<(), TransactionError> {
        let ending = Ending::new(*key, How::Complete(output));
        let text = ending.check().map_err(TransactionError::Refused)?;
        let parameters: &Parameters<'_> = &[
            (&key.id.get(), Type::INT8),
            (&key.uuid, Type::UUID),
            (&token(key.token), Type::INT8),
            (&text, Type::TEXT),
        ];
        let completed = transaction.query_typed(&self.statements.complete, parameters);
        match completed.await {
            Ok(_) => Ok(()),
            Err(error) => Err(lost_or(key, error)),
        }
    }

    /// Stores a checkpoint for the next attempt in a transaction of the caller's, see
    /// [`TaskStore::checkpoint`](dlock_tasks::TaskStore::checkpoint).
    ///
    /// # Errors
    /// As for [`complete_in`](Self::complete_in).
    ///
    /// # Cancel safety
    /// As for [`enqueue_in`](Self::enqueue_in).
    pub async fn checkpoint_in(
        &self,
        transaction: &Transaction<'_>,
        key: &ClaimKey,
        number: u64,
        checkpoint: &Value,
    ) -> Result<(), TransactionError> {
        let text = limits::checkpoint(checkpoint).map_err(TransactionError::Refused)?;
        let parameters: &Parameters<'_> = &[
            (&key.id.get(), Type::INT8),
            (&key.uuid, Type::UUID),
            (&token(key.token), Type::INT8),
            (&bigint(number), Type::INT8),
            (&text, Type::TEXT),
        ];
        let kept = transaction.query_typed(&self.statements.checkpoint_strictly, parameters);
        match kept.await {
            Ok(_) => Ok(()),
            Err(error) => Err(lost_or(key, error)),
        }
    }
}

/// The claim's end, if that is what the database reported.
fn lost_or(key: &ClaimKey, error: tokio_postgres::Error) -> TransactionError {
    match error.as_db_error() {
        Some(db) if db.code().code() == STALE => {
            let state = db.detail().and_then(|state| state.parse().ok());
            TransactionError::Lost(LostClaim::new(key, state))
        }
        _ => TransactionError::Postgres(error),
    }
}
