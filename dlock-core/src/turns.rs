//! Turns between processes (the book, "Waiting"): when a waiter may try for a name that others want too.
//!
//! No process sees the queue of another. Each hears of the same releases, and a refused waiter leaves its mark in the
//! record, so the process that releases the record learns that it is wanted. From that follows an order without a
//! list of waiters: the process that has just released a wanted name leaves it to the others, and of those the one
//! that has waited longest tries first.
//!
//! Nothing here affects safety: it only ever delays a try.

mod order;
mod tenure;
#[cfg(test)]
mod tests;

use std::time::Duration;

use tokio::runtime::Id;

use self::{order::Order, tenure::Tenure};
pub(crate) use self::{
    order::{Arrival, Slots, span},
    tenure::Wanted,
};
use crate::{Clock, time::ContenderInstant};

/// How long a process that released a wanted name leaves it to the waiters that a hint wakes: four slots, the longest
/// time for which one of them is held back.
pub(crate) const HAND_OFF: Duration = order::SLOT.saturating_mul(order::MOST_SLOTS);

/// The runtimes of this client that have contended for a name with others. Each has its turns, as each has its queue.
#[derive(Default)]
pub(crate) struct Contenders(Vec<Turns>);

/// At most this many runtimes are distinguished: beyond that the oldest is forgotten.
const MOST_RUNTIMES: usize = 8;

/// One runtime's knowledge of the others that want a name.
pub(crate) struct Turns {
    runtime: Id,
    order: Order,
    tenure: Tenure,
}

impl Contenders {
    /// The turns of this runtime, from now on.
    pub(crate) fn of(&mut self, runtime: Id) -> &mut Turns {
        let known = self.0.iter().position(|turns| turns.runtime == runtime);
        let at = known.unwrap_or_else(|| {
            if self.0.len() == MOST_RUNTIMES {
                self.0.remove(0);
            }
            self.0.push(Turns {
                runtime,
                order: Order::default(),
                tenure: Tenure::default(),
            });
            self.0.len() - 1
        });
        &mut self.0[at]
    }

    /// The turns of this runtime, if it has contended before.
    pub(crate) fn known(&mut self, runtime: Id) -> Option<&mut Turns> {
        self.0.iter_mut().find(|turns| turns.runtime == runtime)
    }

    /// A hint: a marked term was released, or may have been.
    pub(crate) fn hinted(&mut self) {
        for turns in &mut self.0 {
            if turns.order.hinted() {
                turns.tenure.saw_another();
            }
        }
    }

    /// A term of this runtime begins: for the other runtimes it is another's.
    pub(crate) fn granted(&mut self, runtime: Id, now: ContenderInstant) {
        for turns in &mut self.0 {
            if turns.runtime == runtime {
                turns.tenure.granted(now);
            } else {
                turns.tenure.saw_another();
            }
        }
    }
}

impl Turns {
    /// A contender begins to wait.
    pub(crate) const fn arrive(&self) -> Arrival {
        self.order.arrive()
    }

    /// The record shows a term of another contender.
    pub(crate) fn saw_another(&mut self) {
        self.tenure.saw_another();
    }

    /// The record shows that the contender with this mark has the name, or waits for it.
    pub(crate) fn saw(&mut self, mark: u32) {
        self.order.saw(mark);
    }

    /// The release of a term is sent; if it is hinted, this contender will hear the hint too.
    pub(crate) fn releases(&mut self, hinted: bool, now: ContenderInstant) {
        self.order.releases(hinted);
        self.tenure.releases(now);
    }

    /// That release was applied, and no hint of it comes unless the name is wanted.
    pub(crate) fn released(&mut self, wanted: Wanted, now: ContenderInstant) {
        if !wanted.is_wanted {
            self.no_hint_comes();
        }
        self.tenure.released(wanted, now);
    }

    /// That release changed nothing.
    pub(crate) fn no_hint_comes(&mut self) {
        self.order.no_hint_comes();
    }

    /// How much longer the name is left to others.
    pub(crate) fn left_for(&self, clock: &Clock) -> Duration {
        self.tenure.left_for(clock)
    }

    /// How many slots a woken try leaves to others. `luck`: one of 16 throws.
    pub(crate) fn slots(&self, arrival: Arrival, luck: bool) -> Slots {
        self.order.slots(arrival, luck)
    }

    /// How many releases of others a contender has heard of since it began to wait.
    pub(crate) const fn passed(&self, arrival: Arrival) -> u64 {
        self.order.passed(arrival)
    }
}
