//! Those who wait: how many, and in which order.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use dlock_core::Name;
use dlock_http::Code;
use metrics::gauge;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{calls::Class, measure, problem::Refusal};

/// The longest wait.
pub(crate) const LONGEST: Duration = Duration::from_secs(25);

/// Those who wait.
pub(crate) struct Waits {
    room: Arc<Semaphore>,
    /// Of each name, whose turn it is to look. A mutex of tokio admits those who wait for it in their order.
    turns: Mutex<HashMap<Name, Arc<Turn>>>,
}

pub(crate) type Turn = tokio::sync::Mutex<()>;

/// A place among those who wait.
#[derive(Debug)]
pub(crate) struct Place {
    _room: OwnedSemaphorePermit,
}

impl Drop for Place {
    fn drop(&mut self) {
        gauge!(measure::WAITS).decrement(1);
    }
}

impl Waits {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            room: Arc::new(Semaphore::new(most)),
            turns: Mutex::default(),
        }
    }

    /// A place among those who wait, also for a stream.
    pub(crate) fn enter(&self) -> Result<Place, Refusal> {
        let Ok(room) = Arc::clone(&self.room).try_acquire_owned() else {
            measure::shed(Class::Wait.name());
            return Err(Code::Overloaded.into());
        };
        gauge!(measure::WAITS).increment(1);
        Ok(Place { _room: room })
    }

    /// Whose turn it is to look after this name.
    pub(crate) fn turn(&self, name: &Name) -> Arc<Turn> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        // Those nobody waits for any more; few, since each wait looks through them.
        turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        Arc::clone(turns.entry(name.clone()).or_default())
    }
}
