//! The public election: the calls that every task of a process can make.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use dlock_core::{
    DLock, Error, ProviderError,
    provider::{Admin, Ask, AskOutcome},
};
use tokio::time::timeout;

use crate::{
    Coordinator, Leader, Leadership, RunError, Shutdown, Transitions, Work, elector,
    shared::{Shared, Times},
    subscriber,
};

/// Elects one leader among all instances that use the same store and name.
///
/// Cheap to clone; clones are the same instance. Nothing happens until [`Coordinator::run`].
#[derive(Clone)]
pub struct Election(Arc<Shared>);

impl Election {
    pub(crate) fn new(lock: DLock, times: Times, never_lead: bool) -> Self {
        Self(Arc::new(Shared::new(lock, times, never_lead)))
    }

    /// The label by which people recognise this instance.
    #[must_use]
    pub fn owner(&self) -> &str {
        self.0.lock.owner()
    }

    /// The current leader, as read from the store within the last second, or by a read that was already in flight;
    /// `None` if no instance leads. Any instance can call this, as often as it likes: all callers share one read and
    /// its result, so it costs the store at most one read a second. The leader may have changed by the time this
    /// returns.
    ///
    /// # Errors
    /// [`Error::Provider`] if the store gave no answer within a sixth of the lease; all callers that waited for the
    /// read get the error, and so do those that call within a second of its start.
    ///
    /// # Cancel safety
    /// Cancel safe: nothing changes, and other callers that wait for the same read get its answer.
    pub async fn leader(&self) -> Result<Option<Leader>, Error> {
        self.0.lookout.look(&self.0.lock).await
    }

    /// Makes this instance resign if it leads: its work is notified, may end on its own within the grace time, and is
    /// dropped; then the leadership is released. The instance follows for the
    /// [cool-down](crate::ElectionBuilder::cool_down). Does nothing otherwise.
    pub fn resign(&self) {
        if let Some(leadership) = self.leadership() {
            leadership.resign();
        }
    }

    /// Asks the leader to resign (B3): it learns of the request from its next renewal, ends its work and releases the
    /// leadership. This is a polite request through the store, and nothing depends on it. Returns `false` if no
    /// instance leads, or if the leader changed meanwhile.
    ///
    /// # Errors
    /// [`Error::Provider`] if the store gave no answer within a third of the lease.
    ///
    /// # Cancel safety
    /// The request may have reached the leader.
    pub async fn ask_leader_to_resign(&self, admin: &impl Admin) -> Result<bool, Error> {
        let lock = &self.0.lock;
        let Some(record) = lock.read().await? else {
            return Ok(false);
        };
        let request = Ask::new(lock.name().clone(), record.uuid);
        if Leader::of(record).is_none() {
            return Ok(false);
        }
        // The same limit as for the read.
        let outcome = timeout(lock.duration() / 6, admin.ask(&request)).await;
        let outcome = outcome.unwrap_or_else(|_| Err(ProviderError::unknown("no answer")))?;
        Ok(matches!(outcome, AskOutcome::Asked))
    }
}

#[async_trait]
impl Coordinator for Election {
    fn leadership(&self) -> Option<Leadership> {
        self.0
            .current()
            .as_ref()
            .filter(|leadership| leadership.is_valid())
            .cloned()
    }

    fn transitions(&self) -> Transitions {
        self.0.announcer.listen()
    }

    fn add(&self, work: Work) {
        self.0.works.add(work);
    }

    async fn run(&self, shutdown: Shutdown) -> Result<(), RunError> {
        let span =
            subscriber::span(|| tracing::info_span!("election", election = %self.0.lock.name()));
        subscriber::within(span, elector::run(&self.0, shutdown)).await
    }
}

impl fmt::Debug for Election {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Election")
            .field("lock", &self.0.lock)
            .field("leadership", &self.leadership())
            .finish_non_exhaustive()
    }
}
