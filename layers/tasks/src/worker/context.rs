//! The view that a handler has of its task.

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

/// A handler's task: its lease, its token, and the data that earlier attempts have left. Cheap to clone.
#[derive(Clone)]
pub struct Context(Arc<Inner>);

struct Inner {
    /// Without the payload, which the handler has.
    task: ClaimedTask,
    lease: LeaseView,
    stopping: watch::Receiver<bool>,
    store: Arc<dyn TaskStore>,
    /// The number of the newest checkpoint of this claim.
    checkpoints: AtomicU64,
}

/// The reason why no checkpoint was kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The claim has ended, so the handler's result no longer counts: return.
    #[error("the claim of task {id} is over: another worker may have it")]
    Lost {
        /// The task.
        id: TaskId,
        /// The state of the task in the store, if the store was queried and knows it.
        state: Option<State>,
    },
    /// The checkpoint cannot be written as JSON.
    #[error(transparent)]
    Json(#[from] BadJson),
    /// The store did not answer, or refused the checkpoint.
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

    /// The proof of the claim, with which a handler completes the task in its own transaction. The worker completes the
    /// task once more after that, and gets the same answer.
    #[must_use]
    pub fn key(&self) -> &ClaimKey {
        &self.0.task.key
    }

    /// The fencing token of this claim: a later claim's is larger. Pass it to the storage that the handler writes to.
    #[must_use]
    pub fn token(&self) -> FencingToken {
        self.0.task.key.token
    }

    /// The number of this attempt, from 1 on.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.0.task.attempt
    }

    /// The most attempts.
    #[must_use]
    pub fn max_attempts(&self) -> u32 {
        self.0.task.max_attempts
    }

    /// Whether the task is still this worker's, computed from the clock at every call. True means that no other worker
    /// can have it *at this instant*.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.0.lease.is_valid()
    }

    /// Returns an error as soon as the worker no longer waits for the handler. Call `context.check()?` between the
    /// steps of a handler that [blocks its thread](crate::Worker::handle_blocking), and so cannot be dropped. It fails
    /// when the task is lost, when the time limit or the grace time has passed, when the worker is gone, and when the
    /// task is to be cancelled.
    ///
    /// Like [`is_valid`](Self::is_valid), it is computed from the clock, and holds for this instant only.
    ///
    /// # Errors
    /// The error to return: as the answer of the handler, it does no harm in any of these cases.
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
    /// this worker's, but is lost soon unless a renewal succeeds: do not start long steps that cannot be undone.
    ///
    /// # Cancel safety
    /// Cancel safe: it only watches.
    pub fn unsure(&self) -> impl Future<Output = ()> + Send + use<> {
        self.0.lease.unsure()
    }

    /// Resolves when the task is lost, before another worker can have it. The worker drops the handler's future itself
    /// then; this is for work that the handler has started elsewhere. For a blocking handler, it also resolves when its
    /// time limit or the grace time has passed.
    ///
    /// # Cancel safety
    /// Cancel safe: it only watches.
    pub fn lost(&self) -> impl Future<Output = ()> + Send + use<> {
        let ended = self.0.lease.ended();
        async move { drop(ended.await) }
    }

    /// Resolves when the task is to be cancelled, within a third of the lease after the request. A handler may still
    /// continue; if it returns without an output, the task is cancelled.
    ///
    /// # Cancel safety
    /// Cancel safe: it only watches.
    pub fn cancelled(&self) -> impl Future<Output = ()> + Send + use<> {
        self.0.lease.until_asked()
    }

    /// Resolves when the worker is to stop: the handler still has its grace time.
    ///
    /// # Cancel safety
    /// Cancel safe: it only watches.
    pub fn stopping(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut stopping = self.0.stopping.clone();
        // The sender is dropped with the worker.
        async move { drop(stopping.wait_for(|stopping| *stopping).await) }
    }

    /// The data that an earlier attempt has left, if any.
    ///
    /// # Errors
    /// [`BadJson`] if the data has a different shape.
    pub fn checkpoint<T: DeserializeOwned>(&self) -> Result<Option<T>, BadJson> {
        let left = self.0.task.checkpoint.clone();
        left.map(serde_json::from_value)
            .transpose()
            .map_err(BadJson::checkpoint)
    }

    /// Leaves data for the next attempt, at most 4096 bytes as JSON. The latest call wins.
    ///
    /// A blocking handler calls it with `tokio::runtime::Handle::current().block_on(context.keep(..))`.
    ///
    /// # Errors
    /// [`CheckpointError::Lost`]: stop. After another error, either the data of earlier calls or that of this call is kept.
    ///
    /// # Cancel safety
    /// If the future is dropped, the checkpoint may still be kept.
    pub async fn keep<T: Serialize + Sync>(&self, checkpoint: &T) -> Result<(), CheckpointError> {
        let value = serde_json::to_value(checkpoint).map_err(BadJson::checkpoint)?;
        let number = self.0.checkpoints.fetch_add(1, Ordering::SeqCst) + 1;
        let id = self.id();
        // A checkpoint would be a heartbeat, and no heartbeat may follow once the worker has left a lease to run out.
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
