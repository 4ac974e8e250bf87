//! On which runtimes the waiters of a name stand in line (W1). Their tasks run there, and one that nobody
//! drives, a current-thread runtime between two `block_on` or one that is blocked, would keep everybody
//! behind them from the lock. So those who wait elsewhere look now and then whether it runs.

use std::{
    collections::VecDeque,
    sync::{Arc, Weak},
};

use tokio::{
    runtime::{Handle, Id},
    task::JoinHandle,
};

use super::NameState;

/// Somebody who stands in line.
pub(crate) trait Waiter: Send + Sync {
    /// Gives up its place, whichever thread this is, and asks for a new one when it runs again.
    fn steps_aside(&self);
}

/// The waiters of one name.
#[derive(Default)]
pub(super) struct Crews(Vec<Crew>);

/// Those of one runtime, in the order in which they came.
struct Crew {
    runtime: Handle,
    waiters: VecDeque<Weak<dyn Waiter>>,
}

/// A question to a runtime: it is answered where the runtime is driven.
pub(crate) struct Probe {
    runtime: Id,
    answer: JoinHandle<()>,
}

impl Crews {
    pub(super) fn join(&mut self, runtime: &Handle, waiter: Weak<dyn Waiter>) {
        match self.of(runtime.id()) {
            Some(crew) => crew.waiters.push_back(waiter),
            None => self.0.push(Crew {
                runtime: runtime.clone(),
                waiters: VecDeque::from([waiter]),
            }),
        }
    }

    pub(super) fn leave(&mut self, runtime: Id, waiter: &Weak<dyn Waiter>) {
        let Some(crew) = self.of(runtime) else { return };
        let mut waiters = crew.waiters.iter();
        if let Some(place) = waiters.position(|other| Weak::ptr_eq(other, waiter)) {
            crew.waiters.remove(place);
        }
        if crew.waiters.is_empty() {
            self.0.retain(|crew| crew.runtime.id() != runtime);
        }
        if self.0.is_empty() {
            // Most names are held for longer than they are waited for.
            self.0 = Vec::new();
        }
    }

    /// Nobody stands in line.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn of(&mut self, runtime: Id) -> Option<&mut Crew> {
        let mut crews = self.0.iter_mut();
        crews.find(|crew| crew.runtime.id() == runtime)
    }
}

impl NameState {
    /// Asks the other runtimes of the line whether they are driven. `None` if there is none. The first
    /// waiter of a runtime asks for all of it.
    pub(crate) fn probe(&self, waiter: &Weak<dyn Waiter>) -> Option<Vec<Probe>> {
        let here = Handle::current().id();
        let mut others = Vec::new();
        let mut first = true;
        for Crew { runtime, waiters } in &self.known().succession.crews.0 {
            if runtime.id() == here {
                first = waiters
                    .front()
                    .is_some_and(|front| Weak::ptr_eq(front, waiter));
            } else {
                others.push(runtime.clone());
            }
        }
        if others.is_empty() {
            return None;
        }
        others.retain(|_| first);
        let probes = others.into_iter().map(|runtime| Probe {
            runtime: runtime.id(),
            answer: runtime.spawn(async {}),
        });
        Some(probes.collect())
    }

    /// Where there is still no answer, the waiters step aside.
    pub(crate) fn relieve(&self, probes: Vec<Probe>) {
        for Probe { runtime, answer } in probes {
            if answer.is_finished() {
                continue;
            }
            let crew: Vec<Arc<dyn Waiter>> = match self.known().succession.crews.of(runtime) {
                Some(crew) => crew.waiters.iter().filter_map(Weak::upgrade).collect(),
                None => continue,
            };
            for waiter in crew {
                waiter.steps_aside();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use tokio::{
        runtime::{Builder, Runtime},
        task::yield_now,
    };

    use super::*;
    use crate::{
        Clock, Name,
        names::{Names, Place},
    };

    struct Somebody {
        stepped_aside: Arc<AtomicBool>,
    }

    impl Waiter for Somebody {
        fn steps_aside(&self) {
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
        _place: Place,
    }

    impl<'a> InLine<'a> {
        fn new(state: &Arc<NameState>, runtime: &'a Runtime) -> Self {
            let stepped_aside = Arc::<AtomicBool>::default();
            let alive: Arc<dyn Waiter> = Arc::new(Somebody {
                stepped_aside: Arc::clone(&stepped_aside),
            });
            let waiter = Arc::downgrade(&alive);
            let _entered = runtime.enter();
            Self {
                runtime,
                state: Arc::clone(state),
                _place: state.place(Weak::clone(&waiter)),
                waiter,
                stepped_aside,
                _alive: alive,
            }
        }

        fn probes(&self) -> Option<Vec<Probe>> {
            let _entered = self.runtime.enter();
            self.state.probe(&self.waiter)
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
        let waiters = [&here, &driven, &idle, &idle].map(|runtime| InLine::new(&state, runtime));
        let probes = waiters[0].probes().unwrap();
        driven.block_on(async {
            for _ in 0..100 {
                yield_now().await;
            }
        });
        state.relieve(probes);
        let aside = waiters.each_ref().map(InLine::stepped_aside);
        assert_eq!(aside, [false, false, true, true]);
    }

    #[test]
    fn first_waiter_of_a_runtime_asks_the_others_if_there_are_any() {
        let (state, [here, elsewhere]) = (line(), runtimes());
        let (first, second) = (InLine::new(&state, &here), InLine::new(&state, &here));
        assert_eq!((first.asks(), second.asks()), (None, None));
        let other = InLine::new(&state, &elsewhere);
        assert_eq!((first.asks(), second.asks()), (Some(1), Some(0)));
        drop(first);
        assert_eq!((second.asks(), other.asks()), (Some(1), Some(1)));
        drop(other);
        assert_eq!(second.asks(), None);
        assert!(!state.known().succession.crews.is_empty());
        drop(second);
        assert!(state.known().succession.crews.is_empty());
    }
}
