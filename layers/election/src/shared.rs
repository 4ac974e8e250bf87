//! The state that the clones of an election share with its elector.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use dlock_core::DLock;
use tokio::sync::Mutex as Turn;

use crate::{Leadership, announcer::Announcer, jobs::Works, label::Label, leader::Lookout};

/// The settings that are the elector's own; the others are the lock's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) poll_every: Duration,
    pub(crate) grace: Duration,
    pub(crate) cool_down: Duration,
}

/// The state that the clones of an election and its elector share.
pub(crate) struct Shared {
    pub(crate) lock: DLock,
    pub(crate) times: Times,
    pub(crate) never_lead: bool,
    pub(crate) label: Label,
    pub(crate) works: Works,
    pub(crate) announcer: Announcer,
    /// Held by the running elector.
    pub(crate) running: Turn<()>,
    pub(crate) lookout: Lookout,
    leadership: Mutex<Option<Leadership>>,
}

impl Shared {
    pub(crate) fn new(lock: DLock, times: Times, never_lead: bool) -> Self {
        let label = Label::new(lock.name().as_str());
        Self {
            lock,
            times,
            never_lead,
            works: Works::new(&label),
            announcer: Announcer::new(&label),
            label,
            running: Turn::new(()),
            lookout: Lookout::new(),
            leadership: Mutex::new(None),
        }
    }

    pub(crate) fn lead(&self, leadership: Option<Leadership>) {
        *self.current() = leadership;
        self.lookout.forget();
    }

    pub(crate) fn current(&self) -> MutexGuard<'_, Option<Leadership>> {
        self.leadership
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
