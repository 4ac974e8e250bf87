//! The locks and the tasks of the store.

use std::time::Duration;

use dlock_core::ProviderError;
use dlock_stores::{Queue, Store, StoreError};

use super::{failure::Failure, settings::Plan};

/// How long a store may take to answer whether it is set up.
const PATIENCE: Duration = Duration::from_secs(10);

/// The parts that a store has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// All that stores of its kind can have.
    All,
    /// Locks only. It could have a queue, but none was created.
    NoQueue,
}

/// Advice for an operator who wants tasks served as well.
pub(super) const HOW_TO_SERVE_TASKS: &str = "to serve tasks as well, make their tables ('dlock tasks setup', or --setup) and start the server again";

/// The store, opened.
#[derive(Debug)]
pub(super) struct Stores {
    pub(super) store: Store,
    /// `None`: stores of its kind have no queues, or none was created in it.
    pub(super) queue: Option<Queue>,
    /// Whether tasks have to be served: `/api` is built on them.
    needs_queue: bool,
}

impl Stores {
    /// Opens both; creates what is missing of an embedded store. A server is not contacted yet.
    pub(super) async fn open(plan: &Plan) -> Result<Self, Failure> {
        let location = &plan.location;
        let store = location.open().await?;
        let queue = if location.has_queues() {
            Some(location.open_queue(true).await?)
        } else {
            None
        };
        Ok(Self {
            store,
            queue,
            needs_queue: plan.api,
        })
    }

    /// Creates the tables where they are missing.
    pub(super) async fn set_up(&self) -> Result<(), Failure> {
        self.store.set_up().await?;
        if let Some(queue) = &self.queue {
            queue.set_up().await?;
        }
        Ok(())
    }

    /// Checks whether everything they need exists. A database with locks and without a queue serves locks only,
    /// unless tasks were asked for.
    pub(super) async fn check(&mut self) -> Result<Found, StoreError> {
        let late = |_| ProviderError::unknown(format!("no answer within {PATIENCE:?}"));
        match tokio::time::timeout(PATIENCE, self.store.check())
            .await
            .map_err(late)
        {
            Ok(checked) => checked?,
            Err(late) => return Err(self.store.failure("can't read locks", late).await),
        }
        let Some(queue) = &self.queue else {
            return Ok(Found::All);
        };
        let checked = match tokio::time::timeout(PATIENCE, queue.check())
            .await
            .map_err(late)
        {
            Ok(checked) => checked,
            Err(late) => Err(queue.failure("can't read tasks", late).await),
        };
        match checked {
            Ok(()) => Ok(Found::All),
            Err(error) if error.lacks_queue() && !self.needs_queue => {
                self.queue = None;
                Ok(Found::NoQueue)
            }
            Err(error) => Err(error),
        }
    }

    /// The services, for people.
    pub(super) const fn serves(&self) -> &'static str {
        match self.queue {
            Some(_) => "locks and tasks",
            None => "locks",
        }
    }
}
