//! What programs ask of their coordinator, so that one binary runs with a store and without.

use std::{pin::Pin, time::Duration};

use async_trait::async_trait;

use crate::{Leadership, Transitions, Work};

/// Resolves when the program wants to stop: `Box::pin(signal)`.
pub type Shutdown = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Why an election does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// It runs already: an instance takes part once.
    #[error("this election runs already")]
    AlreadyRunning,
    /// Its [`Client`](dlock_core::Client) was closed.
    #[error("the client of this election is closed")]
    Closed,
}

/// Decides on which instance work runs. [`Election`](crate::Election) asks a store,
/// [`AlwaysLeader`](crate::AlwaysLeader) nobody.
#[async_trait]
pub trait Coordinator: Send + Sync {
    /// The leadership of this instance, while it leads. Computed from the clock at every call.
    fn leadership(&self) -> Option<Leadership>;

    /// What happened to this instance's leadership, in order, from now on.
    fn transitions(&self) -> Transitions;

    /// Adds work that exists only while this instance leads. It is started once for each leadership,
    /// at once if this instance leads now.
    fn add(&self, work: Work);

    /// Takes part until `shutdown` resolves, then resigns: the work is told and may end by itself for
    /// a while, is dropped, and then the leadership is given back. An instance that follows waits for
    /// an attempt that is under way, and for the release of what it may have been granted, and one whose
    /// leadership is lost while its work ends waits for the release of that, each for a sixth of the
    /// lease at most: what is granted to a process that has ended keeps everybody out for a lease.
    ///
    /// [Close](dlock_core::Client::close) the client before the process ends.
    ///
    /// # Errors
    /// [`RunError`]: it runs already, or its client was closed.
    ///
    /// # Cancel safety
    /// Dropping the future drops the work, and then gives the leadership back in the background.
    async fn run(&self, shutdown: Shutdown) -> Result<(), RunError>;

    /// Whether this instance leads, at this instant. Computed from the clock, never a flag.
    fn is_leader(&self) -> bool {
        self.leadership().is_some()
    }

    /// Runs `work` while this instance leads: started once for each leadership, dropped at its next
    /// await when that ends, and gone before anybody else can be told that they lead. Work that
    /// returns is done until the next leadership; a panic ends only itself, and is logged.
    ///
    /// Work that never awaits cannot be dropped, nor can what it has spawned; the lease runs out under
    /// it, and only the token protects then.
    fn lead<F, Fut>(&self, work: F)
    where
        Self: Sized,
        F: Fn(Leadership) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.add(Work::new("lead", work));
    }

    /// Runs a task again and again while this instance leads, `period` from start to start: first
    /// when leadership begins, never on a follower, never beside itself (a run that takes longer
    /// than the period is followed by the next at once). A panic ends that run only, and is logged.
    fn every<F, Fut>(&self, name: &'static str, period: Duration, task: F)
    where
        Self: Sized,
        F: Fn(Leadership) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.add(Work::periodic(name, period, task));
    }
}
