//! Waiting requests: how many, and in which order.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use dlock_core::Name;
use dlock_http::Code;
use metrics::gauge;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{measure, problem::Refusal, store_calls::Class};

/// The longest wait.
pub(crate) const LONGEST: Duration = Duration::from_secs(25);

/// How often a server reads per second, on behalf of all waiting requests: what a small store can answer in addition to
/// its other work.
const LOOKS: u32 = 500;

/// The waiting requests.
pub(crate) struct LongPolls {
    most: usize,
    room: Arc<Semaphore>,
    turns: Mutex<Turns>,
}

/// For each name, the turn to read. A mutex of tokio admits its waiters in their order.
type Turns = HashMap<Name, Arc<Turn>>;

pub(crate) type Turn = tokio::sync::Mutex<()>;

/// A place among the waiting requests.
#[derive(Debug)]
pub(crate) struct Place {
    _room: OwnedSemaphorePermit,
}

impl Drop for Place {
    fn drop(&mut self) {
        gauge!(measure::WAITS).decrement(1);
    }
}

impl LongPolls {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            room: Arc::new(Semaphore::new(most)),
            turns: Mutex::default(),
        }
    }

    /// A place among the waiting requests, also for a stream of hints.
    pub(crate) fn enter(&self) -> Result<Place, Refusal> {
        let Ok(room) = Arc::clone(&self.room).try_acquire_owned() else {
            measure::shed(Class::Wait.name());
            return Err(Code::Overloaded.into());
        };
        gauge!(measure::WAITS).increment(1);
        Ok(Place { _room: room })
    }

    /// The turn to read this name.
    pub(crate) fn turn(&self, name: &Name) -> Arc<Turn> {
        Arc::clone(self.turns().entry(name.clone()).or_default())
    }

    /// How long a waiter pauses between two reads, if that is `pause` when few wait: longer when there are many names,
    /// so that a server reads at most [500 times](LOOKS) a second, however many wait.
    pub(crate) fn stretched(&self, pause: Duration) -> Duration {
        let names = u32::try_from(self.turns().len()).unwrap_or(u32::MAX);
        pause.max(Duration::from_secs(1) / LOOKS * names)
    }

    /// How many places are taken.
    fn taken(&self) -> usize {
        self.most.saturating_sub(self.room.available_permits())
    }

    /// The turns of names that are waited for, and at most as many others.
    fn turns(&self) -> MutexGuard<'_, Turns> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        if turns.len() > 2 * self.taken() + 16 {
            turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        }
        turns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_become_rarer_while_many_wait_and_names_are_forgotten_when_they_go() {
        let waits = LongPolls::new(10_000);
        let name = |number: usize| Name::new(number.to_string()).unwrap();
        let second = Duration::from_secs(1);
        let wait = |number| (waits.enter().unwrap(), waits.turn(&name(number)));
        let crowd: Vec<_> = (0..10_000).map(wait).collect();
        assert!(waits.enter().is_err());
        assert_eq!(waits.stretched(second), 20 * second);
        let (_, seventh) = &crowd[7];
        assert!(Arc::ptr_eq(seventh, &waits.turn(&name(7))));
        drop(crowd);
        assert_eq!(waits.stretched(second), second);
        assert!(waits.turns().is_empty());
        for number in 0..10_000 {
            drop(wait(number));
        }
        assert!(waits.turns().len() <= 16);
    }
}
