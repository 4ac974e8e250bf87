//! The sink of tests: it records what a client and its leases believe, for the histories of `dlock-proof`. The calls
//! to the store are not events here: a wrapper around the provider sees them without help.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use super::Event;
use crate::Name;

/// Receives the events of a [`Client`](crate::Client), in the order in which they happen. For tests; see
/// [`Client::recorded`](crate::Client::recorded).
///
/// It is called in the middle of the event, with locks of the lease and of its name held: it must not block, and it
/// must not call anything of that client. A panic in it ends there and affects no lease.
pub trait Recorder: Send + Sync + 'static {
    /// Called when something happened to this lock. Every instant, `now` as well as those in the event, is a reading
    /// of the client's own clock ([`Clock::reading`](crate::Clock::reading)), which may run at a rate of its own: to
    /// compare clients one must know their clocks.
    fn record(&self, name: &Name, now: Duration, event: Event);
}

/// The recorder of a client.
pub(crate) struct Recording {
    pub(crate) recorder: Arc<dyn Recorder>,
    calls: AtomicU64,
}

impl Recording {
    pub(crate) fn new(recorder: Arc<dyn Recorder>) -> Self {
        Self {
            recorder,
            calls: AtomicU64::new(0),
        }
    }

    /// The number of the next call.
    pub(crate) fn number(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed)
    }
}
