//! The queues of a name: one for each runtime on which callers wait, since their tasks run there. The runtimes of one
//! process compete for the name as processes do, so a runtime that no thread drives keeps no other from it.

use std::{collections::VecDeque, num::NonZeroU8, sync::Arc};

use tokio::{
    runtime::{Handle, Id},
    sync::{Notify, Semaphore},
};

use super::{
    Known, NameState,
    blocks::BlockSize,
    offer::{Keeper, OfferedTerm},
};
use crate::{Clock, time::ContenderInstant, turns::Slots};

/// The most other runtimes whose waiters go first: each of them costs a slot.
const MOST_ELDERS: usize = 4;

/// The queue of the callers that wait on one runtime for one name.
pub(crate) struct Queue {
    pub(crate) runtime: Id,
    /// The turn to contend: one permit, handed out first in, first out. Leases of one process compete for it like those
    /// of two machines.
    pub(crate) turn: Arc<Semaphore>,
    /// Rung when the lock may be free: by a wake-up of the store, by a release of this client, by a term that is on
    /// offer. Only the waiter that has its turn listens.
    pub(crate) freed: Notify,
}

impl Queue {
    pub(crate) fn new(runtime: Id) -> Arc<Self> {
        Arc::new(Self {
            runtime,
            turn: Arc::new(Semaphore::new(1)),
            freed: Notify::new(),
        })
    }
}

/// A queue, its waiters, and the term on offer to them.
pub(super) struct Line {
    pub(super) queue: Arc<Queue>,
    /// Distinguishes its contender from those of other runtimes that wait now (N1).
    number: u8,
    /// The waiters in line, including the one that contends, in the order in which they came to the name.
    pub(super) arrivals: VecDeque<u64>,
    /// The term whose lease has ended, until a waiter takes it or it is released.
    pub(super) offer: Option<OfferedTerm>,
    /// When the newest term was granted, if it is this runtime's and has tokens for more leases than one.
    pub(super) block_since: Option<ContenderInstant>,
    /// The size of the next block that is asked for.
    pub(super) block_size: BlockSize,
    /// The keeper of terms on offer.
    pub(super) keeper: Option<Keeper>,
}

impl Line {
    fn new(runtime: Id, number: u8) -> Self {
        Self {
            queue: Queue::new(runtime),
            number,
            arrivals: VecDeque::new(),
            offer: None,
            block_since: None,
            block_size: BlockSize::default(),
            keeper: None,
        }
    }

    /// Whether forgetting it would lose nothing.
    fn is_idle(&self) -> bool {
        let Self {
            queue: _,
            number: _,
            arrivals,
            offer,
            block_since,
            block_size: _,
            keeper,
        } = self;
        arrivals.is_empty() && offer.is_none() && block_since.is_none() && keeper.is_none()
    }
}

/// A waiter's registration; dropping the last one of a queue withdraws the term on offer there.
pub(crate) struct Registration {
    state: Arc<NameState>,
    queue: Arc<Queue>,
    arrival: u64,
}

impl Registration {
    pub(crate) fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }
}

impl Known {
    pub(super) fn line(&mut self, runtime: Id) -> Option<&mut Line> {
        let mut lines = self.lines.iter_mut();
        lines.find(|line| line.queue.runtime == runtime)
    }

    /// Forgets idle lines: most names are held for longer than they are waited for.
    pub(super) fn forget_idle_lines(&mut self) {
        self.lines.retain(|line| !line.is_idle());
        if self.lines.is_empty() {
            self.lines = Vec::new();
        }
    }
}

impl NameState {
    /// Registers a waiter until the returned value is dropped.
    pub(crate) fn register(self: &Arc<Self>) -> Registration {
        // Its task will run here.
        let runtime = Handle::current().id();
        let mut known = self.known();
        known.arrivals += 1;
        let arrival = known.arrivals;
        if known.line(runtime).is_none() {
            let taken = |number| known.lines.iter().any(|line| line.number == number);
            let number = (0..=u8::MAX).find(|number| !taken(*number));
            known.lines.reserve_exact(1);
            known
                .lines
                .push(Line::new(runtime, number.unwrap_or_default()));
        }
        let mut lines = known.lines.iter_mut();
        let line = lines.find(|line| line.queue.runtime == runtime);
        let queue = line.map_or_else(
            || Queue::new(runtime),
            |line| {
                line.arrivals.push_back(arrival);
                Arc::clone(&line.queue)
            },
        );
        drop(known);
        Registration {
            state: Arc::clone(self),
            queue,
            arrival,
        }
    }

    /// Rings in all queues: the lock may be free.
    pub(crate) fn wake(&self) {
        let queues = |known: &Known| -> Vec<_> {
            let lines = known.lines.iter();
            lines.map(|line| Arc::clone(&line.queue)).collect()
        };
        let queues = queues(&self.known());
        for queue in queues {
            queue.freed.notify_waiters();
        }
    }

    /// The number of waiters in line on this runtime, including the one that contends.
    pub(crate) fn waiters(&self, runtime: Id) -> usize {
        let mut known = self.known();
        known.line(runtime).map_or(0, |line| line.arrivals.len())
    }

    /// The number that distinguishes the contender on this runtime from this client's others.
    pub(crate) fn number(&self, runtime: Id) -> u8 {
        self.known().line(runtime).map_or(0, |line| line.number)
    }

    /// Whether waiters of other runtimes of this process hear of a release at once.
    pub(crate) fn waits_elsewhere(&self, runtime: Id) -> bool {
        let known = self.known();
        let mut lines = known.lines.iter();
        lines.any(|line| line.queue.runtime != runtime && !line.arrivals.is_empty())
    }

    /// How many other runtimes have a waiter that came before the first one in line here; a few are enough.
    pub(crate) fn elders(&self, runtime: Id) -> Slots {
        let mut known = self.known();
        let first = |line: &Line| line.arrivals.front().copied();
        let Some(ours) = known.line(runtime).and_then(|line| first(line)) else {
            return 0;
        };
        let elder = |line: &&Line| first(line).is_some_and(|arrival| arrival < ours);
        let elders = known.lines.iter().filter(elder).take(MOST_ELDERS).count();
        Slots::try_from(elders).unwrap_or_default()
    }

    /// How many tokens to ask for if leases are to follow one another on a term.
    pub(crate) fn block_size(&self, runtime: Id) -> NonZeroU8 {
        let mut known = self.known();
        let size = known.line(runtime).map(|line| line.block_size);
        size.unwrap_or_default().tokens()
    }

    /// The newest term, which was granted on this runtime just now, has tokens for more leases than one.
    pub(crate) fn has_block(&self, runtime: Id, clock: &Clock) {
        if let Some(line) = self.known().line(runtime) {
            line.block_since = Some(clock.contender_now());
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut known = self.state.known();
        let Some(line) = known.line(self.queue.runtime) else {
            return;
        };
        line.arrivals.retain(|arrival| *arrival != self.arrival);
        let unclaimed = line.offer.take_if(|_| line.arrivals.is_empty());
        known.forget_idle_lines();
        self.state.give_back(known, unclaimed);
    }
}

#[cfg(test)]
mod tests {
    use tokio::runtime::{Builder, Runtime};

    use super::*;
    use crate::{Name, names::Names};

    fn runtime() -> Runtime {
        Builder::new_current_thread().build().unwrap()
    }

    fn state() -> Arc<NameState> {
        let name = Name::new("door").unwrap();
        Names::default().get(&name, &Clock::system())
    }

    fn register(state: &Arc<NameState>, runtime: &Runtime) -> Registration {
        let _entered = runtime.enter();
        state.register()
    }

    #[test]
    fn each_runtime_has_a_queue_until_its_last_waiter_leaves() {
        let (state, here, elsewhere) = (state(), runtime(), runtime());
        let [first, second] = [(), ()].map(|()| register(&state, &here));
        let other = register(&state, &elsewhere);
        assert!(Arc::ptr_eq(first.queue(), second.queue()));
        assert!(!Arc::ptr_eq(first.queue(), other.queue()));
        let waiters = |runtime: &Runtime| state.waiters(runtime.handle().id());
        assert_eq!((waiters(&here), waiters(&elsewhere)), (2, 1));
        drop((first, second));
        assert_eq!((waiters(&here), state.known().lines.len()), (0, 1));
        drop(other);
        assert_eq!(state.known().lines.capacity(), 0);
    }

    #[test]
    fn wake_up_rings_on_all_runtimes() {
        let (state, runtimes) = (state(), [runtime(), runtime(), runtime()]);
        let waiters = runtimes.each_ref().map(|runtime| register(&state, runtime));
        let mut rung = waiters
            .each_ref()
            .map(|waiter| Box::pin(waiter.queue().freed.notified()));
        assert!(rung.iter_mut().all(|rung| !rung.as_mut().enable()));
        state.wake();
        assert!(rung.iter_mut().all(|rung| rung.as_mut().enable()));
    }

    #[test]
    fn waiter_that_came_first_to_the_name_has_no_elders() {
        let (state, runtimes) = (state(), [runtime(), runtime(), runtime()]);
        let [first, second, third] = runtimes.each_ref().map(|runtime| register(&state, runtime));
        let again = register(&state, &runtimes[0]);
        let elders = || {
            runtimes
                .each_ref()
                .map(|runtime| state.elders(runtime.handle().id()))
        };
        assert_eq!(elders(), [0, 1, 2]);
        drop(first);
        assert_eq!(elders(), [2, 0, 1], "the next one here came last");
        drop((again, second));
        assert_eq!(elders(), [0, 0, 0]);
        drop(third);
    }
}
