//! The election that people use: what every task of a process can ask and say.

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
    telling,
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

    /// How people recognise this instance.
    #[must_use]
    pub fn owner(&self) -> &str {
        self.0.lock.owner()
    }

    /// Who leads, as the store had it within the last second, or since a look began that was under way
    /// already; `None` if nobody does. Any instance can ask, as often as it likes: all who ask share
    /// one look and what comes of it, and that costs the store one read a second at most. It may have
    /// changed when this returns.
    ///
    /// # Errors
    /// [`Error::Provider`] if the store gave no answer within a sixth of the lease, to all who waited
    /// for it, and to those who ask within a second of when it was asked.
    ///
    /// # Cancel safety
    /// Cancel safe: nothing changes, and others who wait for the same look get its answer.
    pub async fn leader(&self) -> Result<Option<Leader>, Error> {
        self.0.lookout.look(&self.0.lock).await
    }

    /// Makes this instance resign if it leads: its work is told and may end by itself for the grace
    /// time, is dropped, and then the leadership is given back. The instance follows for the
    /// [cool-down](crate::ElectionBuilder::cool_down). Does nothing otherwise.
    pub fn resign(&self) {
        if let Some(leadership) = self.leadership() {
            leadership.resign();
        }
    }

    /// Asks the leader to resign (B3): it learns of it from its next renewal, ends its work
    /// and gives the leadership back. A polite request through the store, on which nothing depends.
    /// `false` if nobody leads, or the leader changed meanwhile.
    ///
    /// # Errors
    /// [`Error::Provider`] if the store gave no answer within a third of the lease.
    ///
    /// # Cancel safety
    /// The leader may have been asked.
    pub async fn ask_leader_to_resign(&self, admin: &impl Admin) -> Result<bool, Error> {
        let lock = &self.0.lock;
        let Some(record) = lock.read().await? else {
            return Ok(false);
        };
        let request = Ask::new(lock.name().clone(), record.uuid);
        if Leader::of(record).is_none() {
            return Ok(false);
        }
        // As long as the read may take.
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
            telling::span(|| tracing::info_span!("election", election = %self.0.lock.name()));
        telling::within(span, elector::run(&self.0, shutdown)).await
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
