//! The watchdogs over work that callers drive: work that takes long, or is not polled, continues in a task. One
//! watchdog for each runtime, for as long as there is work: work that is taken over can run only where it began.

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use tokio::runtime::{Handle, Id};
use tokio_util::sync::CancellationToken;

use crate::Clock;

/// How often the watchdog checks. It takes over any work that it finds twice. So a caller that goes away without
/// dropping its future is noticed after twice this time at most, and work that takes longer gains nothing by staying:
/// the change to a task costs it less than a thousandth.
pub(super) const PATIENCE: Duration = Duration::from_millis(20);

/// After this many checks without anything new the watchdog ends: a second. Starting one for each of a few calls a
/// second would cost each of them the start of a task.
pub(super) const IDLE_LOOKS: u32 = 50;

/// Work that a watchdog can take from its caller.
pub(super) trait Watched: Send + Sync {
    /// Leaves it to a task. False if its caller drives it at this moment.
    fn take_over(&self) -> bool;
}

/// The watchdogs of one client.
pub(crate) struct Watchdogs {
    clock: Clock,
    /// Cancelled when the client closes. `close` waits for all work, whether its callers are polled or not.
    closing: CancellationToken,
    runtimes: Mutex<Vec<Watchdog>>,
}

/// The work on one runtime.
struct Watchdog {
    runtime: Id,
    /// By their numbers, in the order in which they came.
    works: BTreeMap<u64, Weak<dyn Watched>>,
    /// How many works there have been, now and at the last check.
    count: u64,
    seen: u64,
    /// Exists as long as the watchdog does.
    identity: Arc<()>,
}

/// Work is watched until this is dropped.
pub(super) struct Watching {
    watchdogs: Arc<Watchdogs>,
    watchdog: Weak<()>,
    number: u64,
}

impl Watchdogs {
    pub(crate) fn new(clock: Clock, closing: CancellationToken) -> Arc<Self> {
        Arc::new(Self {
            clock,
            closing,
            runtimes: Mutex::default(),
        })
    }

    /// Whether the client is closing: no work stays with its caller any more.
    pub(super) fn are_closing(&self) -> bool {
        self.closing.is_cancelled()
    }

    /// Watches work from now on.
    pub(super) fn watch(self: &Arc<Self>, home: &Handle, work: Weak<dyn Watched>) -> Watching {
        let runtime = home.id();
        let mut runtimes = self.runtimes();
        let (mut known, mut new) = (runtimes.iter_mut(), None);
        let (watchdog, number) = match known.find(|known| known.runtime == runtime) {
            Some(known) => (Arc::downgrade(&known.identity), known.add(work)),
            None => {
                let task = Task {
                    watchdogs: Arc::clone(self),
                    identity: Arc::default(),
                };
                let mut watchdog = Watchdog {
                    runtime,
                    works: BTreeMap::new(),
                    count: 0,
                    seen: 0,
                    identity: Arc::clone(&task.identity),
                };
                let number = watchdog.add(work);
                runtimes.push(watchdog);
                let identity = Arc::downgrade(&task.identity);
                new = Some(task);
                (identity, number)
            }
        };
        drop(runtimes);
        if let Some(task) = new {
            // Without the lock: a runtime that has ended drops it at once.
            drop(home.spawn(async move { task.run().await }));
        }
        Watching {
            watchdogs: Arc::clone(self),
            watchdog,
            number,
        }
    }

    fn runtimes(&self) -> MutexGuard<'_, Vec<Watchdog>> {
        self.runtimes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watchdog {
    fn add(&mut self, work: Weak<dyn Watched>) -> u64 {
        self.count += 1;
        self.works.insert(self.count, work);
        self.count
    }

    /// Takes out the works that were there at the last check; `None` if there are none and none has come since.
    fn look(&mut self) -> Option<Vec<Weak<dyn Watched>>> {
        let news = self.works.split_off(&(self.seen + 1));
        let found = mem::replace(&mut self.works, news);
        let is_idle = self.seen == self.count && found.is_empty();
        self.seen = self.count;
        (!is_idle).then(|| found.into_values().collect())
    }
}

impl Watching {
    /// Whether the watchdog has ended, perhaps with its runtime.
    pub(super) fn is_over(&self) -> bool {
        self.watchdog.strong_count() == 0
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let mut runtimes = self.watchdogs.runtimes();
        let ours = |known: &&mut Watchdog| Arc::as_ptr(&known.identity) == self.watchdog.as_ptr();
        if let Some(watchdog) = runtimes.iter_mut().find(ours) {
            watchdog.works.remove(&self.number);
        }
    }
}

/// A watchdog's task. Dropping it, with its runtime, ends the watchdog, and any work left there.
struct Task {
    watchdogs: Arc<Watchdogs>,
    identity: Arc<()>,
}

impl Task {
    async fn run(self) {
        let Watchdogs { clock, closing, .. } = &*self.watchdogs;
        let mut idle = 0;
        while idle < IDLE_LOOKS || !self.ends() {
            tokio::select! {
                biased;
                // Then it checks again at once, until nothing is left.
                () = closing.cancelled() => {}
                () = clock.nap(PATIENCE) => {}
            }
            match self.look() {
                Some(found) => {
                    idle = 0;
                    found.into_iter().for_each(|work| self.take_over(work));
                }
                None => idle += 1,
            }
            if closing.is_cancelled() {
                idle = IDLE_LOOKS;
            }
        }
    }

    /// The works that have stayed with their callers since the check before. `None` if there are none, and none has
    /// come either.
    fn look(&self) -> Option<Vec<Weak<dyn Watched>>> {
        let mut runtimes = self.watchdogs.runtimes();
        let at = self.place(&runtimes)?;
        runtimes[at].look()
    }

    fn take_over(&self, work: Weak<dyn Watched>) {
        let Some(watched) = work.upgrade() else {
            return;
        };
        // A caller that drives it at this moment notices without help that the client is closing.
        if watched.take_over() || self.watchdogs.are_closing() {
            return;
        }
        let mut runtimes = self.watchdogs.runtimes();
        if let Some(at) = self.place(&runtimes) {
            runtimes[at].add(work);
        }
    }

    /// Ends the watchdog if there is nothing to watch.
    fn ends(&self) -> bool {
        let mut runtimes = self.watchdogs.runtimes();
        let Some(at) = self.place(&runtimes) else {
            return true;
        };
        let ends = runtimes[at].works.is_empty();
        if ends {
            drop(runtimes.swap_remove(at));
        }
        ends
    }

    fn place(&self, runtimes: &[Watchdog]) -> Option<usize> {
        let mut runtimes = runtimes.iter();
        runtimes.position(|known| Arc::ptr_eq(&known.identity, &self.identity))
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        let mut runtimes = self.watchdogs.runtimes();
        let Some(at) = self.place(&runtimes) else {
            return;
        };
        let left = runtimes.swap_remove(at).works;
        drop(runtimes);
        // A runtime that has ended drops any task that it is given, and the callers are notified.
        for work in left.into_values().filter_map(|work| work.upgrade()) {
            work.take_over();
        }
    }
}
