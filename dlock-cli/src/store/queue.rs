//! A queue that is open, and what it has to say.

use std::{fmt, sync::Arc};

use dlock_core::ProviderError;
use dlock_tasks::TaskStore;

use super::diagnosis::Diagnosis;
use crate::exit::Failure;

/// An open queue. A server is not asked anything yet.
pub(crate) struct Queue {
    pub(crate) store: Arc<dyn TaskStore>,
    pub(super) diagnosis: Diagnosis,
}

/// How to have the tables of a queue made.
#[cfg_attr(
    not(any(feature = "sqlite", feature = "postgres")),
    expect(dead_code, reason = "other stores have no queues")
)]
pub(super) const SET_UP: &str = "make it once: 'dlock tasks setup', with the same --database";

impl Queue {
    /// Makes the tables; nothing if they are there.
    pub(crate) async fn set_up(&self) -> Result<(), Failure> {
        self.diagnosis.set_up().await
    }

    /// The queue has no answer: why, and what to do.
    pub(crate) async fn failure(&self, doing: &str, error: ProviderError) -> Failure {
        self.diagnosis.failure(doing, error).await
    }
}

impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.diagnosis.fmt(f)
    }
}
