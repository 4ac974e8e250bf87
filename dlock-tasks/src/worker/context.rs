//! What a handler knows of its task.

use std::{
    fmt,
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use dlock_core::{FencingToken, LeaseWatch, ProviderError};
use serde::{Serialize, de::DeserializeOwned};
use tokio::sync::watch;

use crate::{BadJson, ClaimKey, ClaimedTask, Kept, State, TaskId, TaskStore};

/// A handler's task: its lease, its token, and what earlier attempts have left. Cheap to clone.
#[derive(Clone)]
pub struct Context(Arc<Inner>);

struct Inner {
    task: ClaimedTask,
    lease: LeaseWatch,
    stopping: watch::Receiver<bool>,
    store: Arc<dyn TaskStore>,
    /// The number of the newest checkpoint of this claim.
    checkpoints: AtomicU64,
}

/// Why nothing was left for the next attempt.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The claim is over, so this attempt is for nothing: return.
    #[error("the claim of task {id} is over: another worker may have it")]
    Lost {
        /// The task.
        id: TaskId,
        /// What it is doing, if it is there.
        state: Option<State>,
    },
    /// It cannot be written as JSON.
    #[error(transparent)]
    Json(#[from] BadJson),
    /// The store did not answer, or refused it.
    #[error("the checkpoint was not kept")]
    Store(#[from] ProviderError),
}

impl Context {
    pub(super) fn new(
        task: ClaimedTask,
        lease: LeaseWatch,
        stopping: watch::Receiver<bool>,
        store: Arc<dyn TaskStore>,
    ) -> Self {
        Self(Arc::new(Inner {
            task,
            lease,
            stopping,
            store,
            checkpoints: AtomicU64::new(0),
        }))
    }

    /// The task's number.
    #[must_use]
    pub fn id(&self) -> TaskId {
        self.0.task.key.id
    }

    /// What proves the claim: for completing the task in a transaction of the handler's own. The worker completes
    /// it once more after that, and gets the same answer.
    #[must_use]
    pub fn key(&self) -> &ClaimKey {
        &self.0.task.key
    }

    /// The fencing token of this claim: a later claim's is larger. Hand it to the storage that the handler
    /// writes to.
    #[must_use]
    pub fn token(&self) -> FencingToken {
        self.0.task.key.token
    }

    /// The number of this attempt, from 1 on.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.0.task.attempt
    }

    /// How many attempts there may be.
    #[must_use]
    pub fn max_attempts(&self) -> u32 {
        self.0.task.max_attempts
    }

    /// Whether the task is still this worker's, computed from the clock at every call. True means that nobody else
    /// can have it *at this instant*.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.0.lease.is_valid()
    }

    /// Resolves when the task is lost, before another worker can have it. The worker drops the handler's future
    /// by itself then; this is for what the handler has started elsewhere.
    ///
    /// # Cancel safety
    /// Cancel safe: it only watches.
    pub fn lost(&self) -> impl Future<Output = ()> + Send + use<> {
        let ended = self.0.lease.ended();
        async move { drop(ended.await) }
    }

    /// Resolves when somebody wants the task cancelled, within a third of the lease after that. A handler may
    /// go on nevertheless; one that returns without an output leaves the task cancelled.
    ///
    /// # Cancel safety
    /// Cancel safe: it only watches.
    pub fn cancelled(&self) -> impl Future<Output = ()> + Send + use<> {
        self.0.lease.until_asked()
    }

    /// Resolves when the worker was told to stop: the handler has its grace time left.
    ///
    /// # Cancel safety
    /// Cancel safe: it only watches.
    pub fn stopping(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut stopping = self.0.stopping.clone();
        // The sender goes with the worker.
        async move { drop(stopping.wait_for(|stopping| *stopping).await) }
    }

    /// What an earlier attempt has left, if one has.
    ///
    /// # Errors
    /// [`BadJson`] if it is of another shape.
    pub fn checkpoint<T: DeserializeOwned>(&self) -> Result<Option<T>, BadJson> {
        let left = self.0.task.checkpoint.clone();
        left.map(serde_json::from_value)
            .transpose()
            .map_err(BadJson::checkpoint)
    }

    /// Leaves something for the next attempt, at most 4096 bytes as JSON. The latest call wins.
    ///
    /// # Errors
    /// [`CheckpointError::Lost`]: stop. Otherwise what earlier calls have left stands, or this.
    ///
    /// # Cancel safety
    /// If it is dropped, the checkpoint may be kept.
    pub async fn keep<T: Serialize + Sync>(&self, checkpoint: &T) -> Result<(), CheckpointError> {
        let value = serde_json::to_value(checkpoint).map_err(BadJson::checkpoint)?;
        let number = self.0.checkpoints.fetch_add(1, Ordering::SeqCst) + 1;
        let id = self.id();
        match self.0.store.checkpoint(self.key(), number, &value).await? {
            Kept::Kept => Ok(()),
            Kept::Lost(state) => Err(CheckpointError::Lost { id, state }),
        }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("task", &self.id())
            .field("token", &self.token())
            .field("valid", &self.is_valid())
            .finish_non_exhaustive()
    }
}
