//! On which runtimes the waiters of a name stand in line (W1). Their tasks run there, and one that nobody
//! drives, a current-thread runtime between two `block_on` or one that is blocked, would keep everybody
//! behind them from the lock. So those who wait elsewhere look now and then whether it runs.

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

/// Somebody who stands in line.
pub(crate) trait Waiter: Send + Sync {
    /// Gives up its place, whichever thread this is, and asks for a new one when it runs again.
    fn steps_aside(&self);
}

/// The waiters of one name.
#[derive(Default)]
pub(super) struct Crews {
    /// In the order in which their first waiters came.
    crews: Vec<Crew>,
    /// Which of them is asked next.
    next: usize,
}

/// Those of one runtime, in the order in which they came.
struct Crew {
    runtime: Handle,
    waiters: VecDeque<Weak<dyn Waiter>>,
    /// How long it may be away: as long as any of them has had to pick up a grant (W6).
    patience: Duration,
}

/// A question to a runtime: it is answered where the runtime is driven.
pub(crate) struct Probe {
    runtime: Id,
    answer: JoinHandle<()>,
}

impl Crews {
    pub(super) fn join(&mut self, runtime: &Handle, waiter: Weak<dyn Waiter>, patience: Duration) {
        match self.of(runtime.id()) {
            Some(crew) => {
                crew.waiters.push_back(waiter);
                crew.patience = crew.patience.max(patience);
            }
            None => self.crews.push(Crew {
                runtime: runtime.clone(),
                waiters: VecDeque::from([waiter]),
                patience,
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
            self.crews.retain(|crew| crew.runtime.id() != runtime);
        }
        if self.crews.is_empty() {
            // Most names are held for longer than they are waited for.
            *self = Self::default();
        }
    }

    /// Nobody stands in line.
    pub(super) fn is_empty(&self) -> bool {
        self.crews.is_empty()
    }

    /// Two of the other runtimes at most, however many wait: the one that came first, which keeps the others
    /// from the lock if it is not driven, and another one each time.
    fn others(&mut self, here: Id) -> Vec<(Handle, Duration)> {
        let others = self.crews.iter().filter(|crew| crew.runtime.id() != here);
        let mut others: Vec<_> = others
            .map(|crew| (crew.runtime.clone(), crew.patience))
            .collect();
        if others.len() > 2 {
            self.next = self.next.wrapping_add(1);
            let another = 1 + self.next % (others.len() - 1);
            others.swap(1, another);
            others.truncate(2);
        }
        others
    }

    fn of(&mut self, runtime: Id) -> Option<&mut Crew> {
        let mut crews = self.crews.iter_mut();
        crews.find(|crew| crew.runtime.id() == runtime)
    }
}

impl NameState {
    /// Asks other runtimes of the line whether they are driven, and says for how long to wait for that.
    /// `None` if there are none. The first waiter of a runtime asks for all of it.
    pub(crate) fn probe(&self, waiter: &Weak<dyn Waiter>) -> Option<(Vec<Probe>, Duration)> {
        let here = Handle::current().id();
        let mut known = self.known();
        let crews = &mut known.succession.crews;
        let ours = crews.of(here).and_then(|crew| crew.waiters.front());
        let first = ours.is_none_or(|front| Weak::ptr_eq(front, waiter));
        let others = crews.others(here);
        drop(known);
        let patience = others.iter().map(|(_, patience)| *patience).max()?;
        let asked = if first { others } else { Vec::new() };
        let probes = asked.into_iter().map(|(runtime, _)| Probe {
            runtime: runtime.id(),
            answer: runtime.spawn(async {}),
        });
        Some((probes.collect(), patience))
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
        names::{Names, Place},
    };

    const PATIENCE: Duration = Duration::from_secs(1);

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
                _place: state.place(Weak::clone(&waiter), patience),
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
        state.relieve(probes);
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
        assert!(!state.known().succession.crews.is_empty());
        drop(second);
        assert!(state.known().succession.crews.is_empty());
    }

    /// A line of many runtimes costs each of them two questions, and every runtime is asked after some.
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

    /// Locks of one name may have different leases, and a short one does not decide how long others may be
    /// away.
    #[test]
    fn patience_is_that_of_those_who_are_asked() {
        let (state, [here, elsewhere]) = (line(), runtimes());
        let short = InLine::new(&state, &here, PATIENCE / 100);
        let _long = InLine::new(&state, &elsewhere, PATIENCE);
        let _short = InLine::new(&state, &elsewhere, PATIENCE / 100);
        assert_eq!(short.asks(), Some(1));
    }
}
