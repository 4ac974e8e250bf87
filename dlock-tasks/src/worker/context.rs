//! What a handler knows of its task.

use std::{
    fmt,
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use dlock_core::{FencingToken, LeaseView, ProviderError};
use serde::{Serialize, de::DeserializeOwned};
use tokio::sync::watch;

use crate::{BadJson, ClaimKey, ClaimedTask, Kept, State, Stop, TaskId, TaskStore};

/// A handler's task: its lease, its token, and what earlier attempts have left. Cheap to clone.
#[derive(Clone)]
pub struct Context(Arc<Inner>);

struct Inner {
    /// Without its payload, which the handler has.
    task: ClaimedTask,
    lease: LeaseView,
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
        /// What the store says that it is doing, if the store was asked and knows it.
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
        lease: LeaseView,
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

    /// The task, without its payload.
    pub(super) fn task(&self) -> &ClaimedTask {
        &self.0.task
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

    /// An error as soon as nobody waits for the handler any more: for `context.check()?` between the steps of a handler
    /// that [blocks its thread](crate::Worker::handle_blocking), and so cannot be dropped. That is when the task is
    /// lost, when the time limit or the grace time is over, when the worker is gone, and when somebody wants the task
    /// cancelled.
    ///
    /// Like [`is_valid`](Self::is_valid) it is computed from the clock, and tells of this instant only.
    ///
    /// # Errors
    /// What to return: as an answer of the handler it does no harm in any of these cases.
    pub fn check(&self) -> Result<(), Stop> {
        let Inner {
            lease, stopping, ..
        } = &*self.0;
        let why = if !lease.is_valid() {
            "the handler is not waited for any more, or the task is lost"
        } else if lease.asked() {
            "the task is to be cancelled"
        } else if stopping.has_changed().is_err() {
            "the worker is gone"
        } else {
            return Ok(());
        };
        Err(why.into())
    }

    /// Resolves when the next renewal of the lease is overdue or was refused, or the lease has ended. The task is still
    /// this worker's, but is lost soon unless a renewal succeeds: what takes long and cannot be undone should wait.
    ///
    /// # Cancel safety
    /// Cancel safe: it only watches.
    pub fn unsure(&self) -> impl Future<Output = ()> + Send + use<> {
        self.0.lease.unsure()
    }

    /// Resolves when the task is lost, before another worker can have it. The worker drops the handler's future
    /// by itself then; this is for what the handler has started elsewhere. For a blocking handler it resolves also when
    /// its time limit or the grace time is over.
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
    /// A blocking handler calls it by `tokio::runtime::Handle::current().block_on(context.keep(..))`.
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
        // It would be a heartbeat: of a lease that the worker has left to run out, none may follow.
        if !self.is_valid() {
            return Err(CheckpointError::Lost { id, state: None });
        }
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
