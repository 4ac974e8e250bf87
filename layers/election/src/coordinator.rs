//! The interface between a program and its coordinator, so that one binary runs with a store and without.

use std::{pin::Pin, time::Duration};

use async_trait::async_trait;

use crate::{Leadership, Transitions, Work};

/// Resolves when the program wants to stop: `Box::pin(signal)`.
pub type Shutdown = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The reason why an election does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// It is already running: an instance takes part once.
    #[error("this election is already running")]
    AlreadyRunning,
    /// Its [`Client`](dlock_core::Client) was closed.
    #[error("the client of this election is closed")]
    Closed,
}

/// Decides on which instance work runs. [`Election`](crate::Election) uses a store,
/// [`AlwaysLeader`](crate::AlwaysLeader) needs none.
#[async_trait]
pub trait Coordinator: Send + Sync {
    /// The leadership of this instance, while it leads. Computed from the clock at every call.
    fn leadership(&self) -> Option<Leadership>;

    /// The transitions of this instance's leadership, in order, from now on.
    fn transitions(&self) -> Transitions;

    /// Adds work that exists only while this instance leads. It starts once for each leadership, and at once if this
    /// instance leads now.
    fn add(&self, work: Work);

    /// Takes part until `shutdown` resolves, then resigns: the work is notified, may end on its own within the grace
    /// time, and is dropped; then the leadership is released. An instance that follows waits for an attempt that is in
    /// flight, and for the release of a possible grant to it. An instance whose leadership is lost while its work ends
    /// waits for the release of that leadership. Each wait takes a sixth of the lease at most. Without these waits, a
    /// grant to a process that has ended would keep all others out for a lease.
    ///
    /// [Close](dlock_core::Client::close) the client before the process ends.
    ///
    /// # Errors
    /// [`RunError`]: it is already running, or its client was closed.
    ///
    /// # Cancel safety
    /// Dropping the future drops the work, and then releases the leadership in the background.
    async fn run(&self, shutdown: Shutdown) -> Result<(), RunError>;

    /// Whether this instance leads, at this instant. Computed from the clock, never a flag.
    fn is_leader(&self) -> bool {
        self.leadership().is_some()
    }

    /// Runs `work` while this instance leads: it starts once for each leadership, is dropped at its next await when
    /// that ends, and is gone before another instance can lead. Work that returns is done until the next leadership; a
    /// panic ends only that work, and is logged.
    ///
    /// Work that never awaits cannot be dropped, nor can the tasks that it has spawned; they outlive the lease, and
    /// then only the token protects.
    fn lead<F, Fut>(&self, work: F)
    where
        Self: Sized,
        F: Fn(Leadership) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.add(Work::new("lead", work));
    }

    /// Runs a task again and again while this instance leads, `period` from start to start: first when leadership
    /// begins, never on a follower, and one run at a time (after a run that takes longer than the period, the next
    /// starts at once). A panic ends that run only, and is logged.
    fn every<F, Fut>(&self, name: &'static str, period: Duration, task: F)
    where
        Self: Sized,
        F: Fn(Leadership) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.add(Work::periodic(name, period, task));
    }
}
