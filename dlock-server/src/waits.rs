//! Those who wait: how many, and in which order.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use dlock_core::Name;
use dlock_http::Code;
use metrics::gauge;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{calls::Class, measure, problem::Refusal};

/// The longest wait.
pub(crate) const LONGEST: Duration = Duration::from_secs(25);

/// How often a server looks in a second, on behalf of all who wait: what a small store answers beside its other work.
const LOOKS: u32 = 500;

/// Those who wait.
pub(crate) struct Waits {
    room: Arc<Semaphore>,
    turns: Mutex<Turns>,
}

/// Of each name, whose turn it is to look. A mutex of tokio admits those who wait for it in their order.
#[derive(Default)]
struct Turns {
    of_names: HashMap<Name, Arc<Turn>>,
    /// Those nobody waits for any more are looked for when there are so many.
    crowded: usize,
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
        let mut turns = self.turns();
        if turns.of_names.len() >= turns.crowded {
            turns.of_names.retain(|_, turn| Arc::strong_count(turn) > 1);
            // Twice as many have to come before the next time, so each pays for a few.
            turns.crowded = 2 * turns.of_names.len() + 16;
        }
        Arc::clone(turns.of_names.entry(name.clone()).or_default())
    }

    /// How long a waiter pauses between two looks, if that is `pause` when few wait: more when there are many names, so
    /// that a server looks [some times](LOOKS) a second, however many wait.
    pub(crate) fn stretched(&self, pause: Duration) -> Duration {
        let names = u32::try_from(self.turns().of_names.len()).unwrap_or(u32::MAX);
        pause.max(Duration::from_secs(1) / LOOKS * names)
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_forgotten_when_nobody_waits_and_looks_become_rarer_while_many_do() {
        let waits = Waits::new(1);
        let name = |number: usize| Name::new(number.to_string()).unwrap();
        let second = Duration::from_secs(1);
        for number in 0..10_000 {
            drop(waits.turn(&name(number)));
        }
        assert!(waits.turns().of_names.len() <= 16);
        assert_eq!(waits.stretched(second), second);
        let kept: Vec<_> = (0..10_000)
            .map(|number| waits.turn(&name(number)))
            .collect();
        assert_eq!(waits.stretched(second), 20 * second);
        assert!(
            Arc::ptr_eq(&kept[7], &waits.turn(&name(7))),
            "it is the same turn"
        );
    }
}
