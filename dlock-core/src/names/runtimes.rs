//! On which runtimes the waiters of a name stand in line (W1). Their tasks run there. A runtime that nobody
//! drives (a current-thread runtime between two `block_on`, or a blocked one) would keep the waiters behind
//! them from the lock. So waiters on other runtimes check now and then whether it runs.

use std::{
    collections::VecDeque,
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::{
    runtime::{Handle, Id},
    task::JoinHandle,
};

use super::NameState;

/// A caller that stands in line.
pub(crate) trait Waiter: Send + Sync {
    /// Gives up its place in the queue, from any thread; the waiter queues anew when it runs again.
    fn step_aside(&self);
}

/// The waiters of one name.
#[derive(Default)]
pub(super) struct Runtimes {
    /// In the order in which their first waiters came.
    runtimes: Vec<RuntimeWaiters>,
    /// Which of them is probed next.
    next: usize,
}

/// The waiters of one runtime, in the order in which they came.
struct RuntimeWaiters {
    runtime: Handle,
    waiters: VecDeque<Weak<dyn Waiter>>,
    /// How long the runtime may stand still: as long as any of its waiters may take to pick up a grant (W6).
    patience: Duration,
}

/// An empty task on another runtime: it finishes if that runtime is driven.
pub(crate) struct Probe {
    runtime: Id,
    answer: JoinHandle<()>,
}

impl Runtimes {
    pub(super) fn join(&mut self, runtime: &Handle, waiter: Weak<dyn Waiter>, patience: Duration) {
        match self.of(runtime.id()) {
            Some(group) => {
                group.waiters.push_back(waiter);
                group.patience = group.patience.max(patience);
            }
            None => self.runtimes.push(RuntimeWaiters {
                runtime: runtime.clone(),
                waiters: VecDeque::from([waiter]),
                patience,
            }),
        }
    }

    pub(super) fn leave(&mut self, runtime: Id, waiter: &Weak<dyn Waiter>) {
        let Some(group) = self.of(runtime) else {
            return;
        };
        let mut waiters = group.waiters.iter();
        if let Some(place) = waiters.position(|other| Weak::ptr_eq(other, waiter)) {
            group.waiters.remove(place);
        }
        if group.waiters.is_empty() {
            self.runtimes.retain(|group| group.runtime.id() != runtime);
        }
    }

    /// How many stand in line.
    pub(super) fn waiters(&self) -> usize {
        self.runtimes.iter().map(|group| group.waiters.len()).sum()
    }

    /// Nobody stands in line.
    pub(super) fn is_empty(&self) -> bool {
        self.runtimes.is_empty()
    }

    /// At most two of the other runtimes, however many wait: the one that came first, which keeps the others
    /// from the lock if it is not driven, and another one each time.
    fn others(&mut self, here: Id) -> Vec<(Handle, Duration)> {
        let others = self
            .runtimes
            .iter()
            .filter(|group| group.runtime.id() != here);
        let mut others: Vec<_> = others
            .map(|group| (group.runtime.clone(), group.patience))
            .collect();
        if others.len() > 2 {
            self.next = self.next.wrapping_add(1);
            let another = 1 + self.next % (others.len() - 1);
            others.swap(1, another);
            others.truncate(2);
        }
        others
    }

    fn of(&mut self, runtime: Id) -> Option<&mut RuntimeWaiters> {
        let mut runtimes = self.runtimes.iter_mut();
        runtimes.find(|group| group.runtime.id() == runtime)
    }
}

impl NameState {
    /// Probes other runtimes of the queue, and says for how long to wait for the answers. `None` if there are
    /// no others. The first waiter of a runtime probes for all waiters of that runtime.
    pub(crate) fn probe(&self, waiter: &Weak<dyn Waiter>) -> Option<(Vec<Probe>, Duration)> {
        let here = Handle::current().id();
        let mut known = self.known();
        let runtimes = &mut known.succession.as_mut()?.runtimes;
        let ours = runtimes.of(here).and_then(|group| group.waiters.front());
        let first = ours.is_none_or(|front| Weak::ptr_eq(front, waiter));
        let others = runtimes.others(here);
        drop(known);
        let patience = others.iter().map(|(_, patience)| *patience).max()?;
        let asked = if first { others } else { Vec::new() };
        let probes = asked.into_iter().map(|(runtime, _)| Probe {
            runtime: runtime.id(),
            answer: runtime.spawn(async {}),
        });
        Some((probes.collect(), patience))
    }

    /// The waiters of runtimes that have not answered lose their places.
    pub(crate) fn evict_undriven(&self, probes: Vec<Probe>) {
        for Probe { runtime, answer } in probes {
            if answer.is_finished() {
                continue;
            }
            let mut known = self.known();
            let group = known.succession.as_mut();
            let group = group.and_then(|succession| succession.runtimes.of(runtime));
            let group: Vec<Arc<dyn Waiter>> = match group {
                Some(group) => group.waiters.iter().filter_map(Weak::upgrade).collect(),
                None => continue,
            };
            drop(known);
            for waiter in group {
                waiter.step_aside();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeSet,
        sync::atomic::{AtomicBool, Ordering},
    };

    use tokio::{
        runtime::{Builder, Runtime},
        task::yield_now,
    };

    use super::*;
    use crate::{
        Clock, Name,
        names::{Names, Registration},
    };

    const PATIENCE: Duration = Duration::from_secs(1);

    struct Somebody {
        stepped_aside: Arc<AtomicBool>,
    }

    impl Waiter for Somebody {
        fn step_aside(&self) {
            self.stepped_aside.store(true, Ordering::SeqCst);
        }
    }

    /// Somebody in line, and the runtime of its task.
    struct InLine<'a> {
        runtime: &'a Runtime,
        state: Arc<NameState>,
        waiter: Weak<dyn Waiter>,
        stepped_aside: Arc<AtomicBool>,
        _alive: Arc<dyn Waiter>,
        _registration: Registration,
    }

    impl<'a> InLine<'a> {
        fn new(state: &Arc<NameState>, runtime: &'a Runtime, patience: Duration) -> Self {
            let stepped_aside = Arc::<AtomicBool>::default();
            let alive: Arc<dyn Waiter> = Arc::new(Somebody {
                stepped_aside: Arc::clone(&stepped_aside),
            });
            let waiter = Arc::downgrade(&alive);
            let _entered = runtime.enter();
            Self {
                runtime,
                state: Arc::clone(state),
                _registration: state.register(Weak::clone(&waiter), patience),
                waiter,
                stepped_aside,
                _alive: alive,
            }
        }

        fn probes(&self) -> Option<Vec<Probe>> {
            let _entered = self.runtime.enter();
            let (probes, patience) = self.state.probe(&self.waiter)?;
            assert_eq!(patience, PATIENCE);
            Some(probes)
        }

        fn asks(&self) -> Option<usize> {
            self.probes().map(|probes| probes.len())
        }

        fn stepped_aside(&self) -> bool {
            self.stepped_aside.load(Ordering::SeqCst)
        }
    }

    fn runtimes<const N: usize>() -> [Runtime; N] {
        std::array::from_fn(|_| Builder::new_current_thread().build().unwrap())
    }

    fn line() -> Arc<NameState> {
        let name = Name::new("door").unwrap();
        Names::default().get(&name, &Clock::system())
    }

    #[test]
    fn only_waiters_of_a_runtime_that_nobody_drives_step_aside() {
        let (state, [here, driven, idle]) = (line(), runtimes());
        let waiters =
            [&here, &driven, &idle, &idle].map(|runtime| InLine::new(&state, runtime, PATIENCE));
        let probes = waiters[0].probes().unwrap();
        driven.block_on(async {
            for _ in 0..100 {
                yield_now().await;
            }
        });
        state.evict_undriven(probes);
        let aside = waiters.each_ref().map(InLine::stepped_aside);
        assert_eq!(aside, [false, false, true, true]);
    }

    #[test]
    fn first_waiter_of_a_runtime_asks_the_others_if_there_are_any() {
        let (state, [here, elsewhere]) = (line(), runtimes());
        let (first, second) = (
            InLine::new(&state, &here, PATIENCE),
            InLine::new(&state, &here, PATIENCE),
        );
        assert_eq!((first.asks(), second.asks()), (None, None));
        let other = InLine::new(&state, &elsewhere, PATIENCE);
        assert_eq!((first.asks(), second.asks()), (Some(1), Some(0)));
        drop(first);
        assert_eq!((second.asks(), other.asks()), (Some(1), Some(1)));
        drop(other);
        assert_eq!(second.asks(), None);
        assert_eq!(state.waiters(), 1);
        drop(second);
        assert_eq!(state.waiters(), 0);
    }

    /// In a queue of many runtimes each sends two probes, and every runtime is probed after some time.
    #[test]
    fn of_many_runtimes_each_is_asked_in_its_turn() {
        let (state, runtimes) = (line(), runtimes::<7>());
        let waiters = runtimes
            .each_ref()
            .map(|runtime| InLine::new(&state, runtime, PATIENCE));
        let mut asked = BTreeSet::new();
        for _ in 0..5 {
            let probes = waiters[3].probes().unwrap();
            assert_eq!(probes.len(), 2);
            assert_eq!(
                probes[0].runtime,
                runtimes[0].handle().id(),
                "first in line"
            );
            asked.extend(probes.iter().map(|probe| probe.runtime.to_string()));
        }
        assert_eq!(asked.len(), 6);
    }

    /// Locks of one name may have different leases, and a short lease does not decide how long the runtimes of
    /// others may stand still.
    #[test]
    fn patience_is_that_of_those_who_are_asked() {
        let (state, [here, elsewhere]) = (line(), runtimes());
        let short = InLine::new(&state, &here, PATIENCE / 100);
        let _long = InLine::new(&state, &elsewhere, PATIENCE);
        let _short = InLine::new(&state, &elsewhere, PATIENCE / 100);
        assert_eq!(short.asks(), Some(1));
    }
}
