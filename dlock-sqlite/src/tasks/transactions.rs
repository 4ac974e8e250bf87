//! Operations in a user's transaction: they are kept with the user's data, or not at all.

use dlock_core::ProviderError;
use dlock_tasks::{
    ClaimKey, Ended, Ending, Enqueued, How, Kept, LostClaim, NewTask, State, limits,
};
use rusqlite::Transaction;
use serde_json::Value;

use super::{SqliteTasks, checked, database::Work};
use crate::store::Failure;

/// The reason why nothing was enqueued or completed in a user's transaction. It has to be rolled back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransactionError {
    /// The claim has ended: another worker may have the task. The transaction must not be committed.
    #[error(transparent)]
    Lost(LostClaim),
    /// A task that cannot be kept, or a row that cannot be read.
    #[error("{0}")]
    Refused(ProviderError),
    /// SQLite's error.
    #[error("the transaction failed")]
    Sqlite(#[from] rusqlite::Error),
}

impl From<Failure> for TransactionError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Sqlite(error) => Self::Sqlite(error),
            Failure::Answer(error) => Self::Refused(error),
        }
    }
}

impl SqliteTasks {
    /// Adds tasks in a transaction of the caller's: workers see them when it commits.
    ///
    /// # Errors
    /// [`TransactionError::Refused`]: a task that cannot be kept. [`TransactionError::Sqlite`]: SQLite's error.
    pub fn enqueue_in(
        &self,
        transaction: &Transaction<'_>,
        tasks: &[NewTask],
    ) -> Result<Vec<Enqueued>, TransactionError> {
        let texts = checked(tasks).map_err(TransactionError::Refused)?;
        Ok(self.work(transaction).enqueue(tasks, &texts)?)
    }

    /// Completes a task in the transaction that keeps its handler's results. If the claim has ended, that is an error:
    /// no result of a worker that was too late is kept.
    ///
    /// # Errors
    /// [`TransactionError::Lost`]: roll back, and stop. [`TransactionError::Refused`],
    /// [`TransactionError::Sqlite`]: nothing is known of the claim.
    pub fn complete_in(
        &self,
        transaction: &Transaction<'_>,
        key: &ClaimKey,
        output: Value,
    ) -> Result<(), TransactionError> {
        let ending = Ending::new(*key, How::Complete(output));
        let text = ending.check().map_err(TransactionError::Refused)?;
        let work = self.work(transaction);
        match work.finish(&ending, text.as_deref())? {
            Ended::Own(State::Succeeded) => Ok(()),
            Ended::Own(became) => {
                let (task, now) = work.find(key.id)?;
                let state = task.map_or(became, |task| task.state(now));
                Err(lost(key, Some(state)))
            }
            Ended::Lost(state) => Err(lost(key, state)),
            _ => Err(lost(key, None)),
        }
    }

    /// Stores a checkpoint for the next attempt in a transaction of the caller's, see
    /// [`TaskStore::checkpoint`](dlock_tasks::TaskStore::checkpoint).
    ///
    /// # Errors
    /// As for [`complete_in`](Self::complete_in).
    pub fn checkpoint_in(
        &self,
        transaction: &Transaction<'_>,
        key: &ClaimKey,
        number: u64,
        checkpoint: &Value,
    ) -> Result<(), TransactionError> {
        let text = limits::checkpoint(checkpoint).map_err(TransactionError::Refused)?;
        match self.work(transaction).checkpoint(key, number, &text)? {
            Kept::Lost(state) => Err(lost(key, state)),
            _ => Ok(()),
        }
    }

    fn work<'t>(&'t self, transaction: &'t Transaction<'_>) -> Work<'t> {
        Work::new(transaction, &self.path, &self.clock)
    }
}

fn lost(key: &ClaimKey, state: Option<State>) -> TransactionError {
    TransactionError::Lost(LostClaim::new(key, state))
}
