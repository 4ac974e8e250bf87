//! An open queue, and its errors.

use std::{fmt, sync::Arc};

use dlock_core::ProviderError;
use dlock_tasks::{Filter, TaskStore};

use crate::{StoreError, diagnosis::Diagnosis};

/// An open queue.
#[derive(Clone)]
pub struct Queue {
    pub(crate) tasks: Arc<dyn TaskStore>,
    pub(crate) diagnosis: Diagnosis,
}

impl Queue {
    /// The interface to its tasks.
    #[must_use]
    pub fn tasks(&self) -> &Arc<dyn TaskStore> {
        &self.tasks
    }

    /// Makes the tables; nothing if they exist.
    ///
    /// # Errors
    /// The store gave no answer, refuses, or has something else in the place of the tables.
    pub async fn set_up(&self) -> Result<(), StoreError> {
        self.diagnosis.set_up().await
    }

    /// Checks that the store has what a queue needs.
    ///
    /// # Errors
    /// Something is missing, or the store gave no answer or refuses.
    pub async fn check(&self) -> Result<(), StoreError> {
        let doing = "can't use it for tasks";
        self.diagnosis.check(doing).await?;
        match self.tasks.list(&Filter::default().limit(1)).await {
            Ok(_) => Ok(()),
            Err(error) => Err(self.failure(doing, error).await),
        }
    }

    /// The queue has no answer: why, and what to do. May query the store, for some seconds.
    pub async fn failure(&self, doing: &str, error: ProviderError) -> StoreError {
        self.diagnosis.failure(doing, error).await
    }
}

impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.diagnosis.fmt(f)
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Queue({self})")
    }
}
