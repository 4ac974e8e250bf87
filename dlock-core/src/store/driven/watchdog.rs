//! The watchdogs over calls that callers drive (C3): a call that takes long, or whose caller is not polled, goes on
//! in a task. One watchdog for each runtime, for as long as there are calls: what is taken over can only run where
//! it began.

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

use crate::{Clock, time::HolderInstant};

/// How long a call may stay with its caller, and how often the watchdog looks. A caller that goes away without
/// dropping its future is so missed for twice as long at most, and a call that takes longer gains nothing by
/// staying: the change to a task costs it less than a thousandth.
pub(super) const PATIENCE: Duration = Duration::from_millis(20);

/// After so many looks at nothing the watchdog ends: a second. To begin one for each of a few calls a second would
/// cost them the start of a task each.
pub(super) const IDLE_LOOKS: u32 = 50;

/// What a watchdog can take from its caller.
pub(super) trait Watched: Send + Sync {
    /// Leaves it to a task. False if its caller drives it at this moment.
    fn take_over(&self) -> bool;
}

/// The watchdogs of one client.
pub(crate) struct Watchdogs {
    clock: Clock,
    /// Whoever closes the client waits for what is under way, whether its callers are polled or not.
    closing: CancellationToken,
    runtimes: Mutex<Vec<Watchdog>>,
}

/// The calls on one runtime.
struct Watchdog {
    runtime: Id,
    calls: BTreeMap<Key, Weak<dyn Watched>>,
    /// How many calls there have been: tells those of one instant apart.
    count: u64,
    /// Of its task, as long as there is one.
    task: Arc<()>,
}

/// When a call is due, and its number.
type Key = (HolderInstant, u64);

/// A call is watched until this is dropped.
pub(super) struct Watching {
    watchdogs: Arc<Watchdogs>,
    runtime: Id,
    key: Key,
}

impl Watchdogs {
    pub(crate) fn new(clock: Clock, closing: CancellationToken) -> Arc<Self> {
        Arc::new(Self {
            clock,
            closing,
            runtimes: Mutex::default(),
        })
    }

    /// Nothing stays with its caller any more.
    pub(super) fn are_closing(&self) -> bool {
        self.closing.is_cancelled()
    }

    /// Watches a call that begins now.
    pub(super) fn watch(self: &Arc<Self>, home: &Handle, call: Weak<dyn Watched>) -> Watching {
        let (runtime, due) = (home.id(), self.clock.now() + PATIENCE);
        let mut runtimes = self.runtimes();
        let (mut known, mut new) = (runtimes.iter_mut(), None);
        let key = match known.find(|known| known.runtime == runtime) {
            Some(watchdog) => watchdog.insert(due, call),
            None => {
                let task = Task {
                    watchdogs: Arc::clone(self),
                    identity: Arc::default(),
                };
                let mut watchdog = Watchdog {
                    runtime,
                    calls: BTreeMap::new(),
                    count: 0,
                    task: Arc::clone(&task.identity),
                };
                let key = watchdog.insert(due, call);
                runtimes.push(watchdog);
                new = Some(task);
                key
            }
        };
        drop(runtimes);
        if let Some(task) = new {
            // Without the lock: a runtime that has ended drops it at once.
            drop(home.spawn(async move { task.run().await }));
        }
        Watching {
            watchdogs: Arc::clone(self),
            runtime,
            key,
        }
    }

    fn runtimes(&self) -> MutexGuard<'_, Vec<Watchdog>> {
        self.runtimes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watchdog {
    fn insert(&mut self, due: HolderInstant, call: Weak<dyn Watched>) -> Key {
        self.count += 1;
        let key = (due, self.count);
        self.calls.insert(key, call);
        key
    }

    /// Takes out the calls that are due by this instant.
    fn due(&mut self, now: HolderInstant) -> Vec<Weak<dyn Watched>> {
        let later = self.calls.split_off(&(now, u64::MAX));
        mem::replace(&mut self.calls, later).into_values().collect()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let mut runtimes = self.watchdogs.runtimes();
        let mut runtimes = runtimes.iter_mut();
        if let Some(watchdog) = runtimes.find(|known| known.runtime == self.runtime) {
            watchdog.calls.remove(&self.key);
        }
    }
}

/// A watchdog's task. Dropping it, with its runtime, ends the watchdog.
struct Task {
    watchdogs: Arc<Watchdogs>,
    identity: Arc<()>,
}

impl Task {
    async fn run(self) {
        let Watchdogs { clock, closing, .. } = &*self.watchdogs;
        let (mut idle, mut seen) = (0, 0);
        while idle < IDLE_LOOKS || !self.ends() {
            tokio::select! {
                biased;
                () = closing.cancelled() => {}
                () = clock.pause(PATIENCE) => {}
            }
            let Some((due, count)) = self.look() else {
                return;
            };
            idle = if count == seen { idle + 1 } else { 0 };
            seen = count;
            for call in due {
                self.take_over(call);
            }
            if closing.is_cancelled() {
                idle = IDLE_LOOKS;
            }
        }
    }

    /// The calls that are due, and how many there have been.
    fn look(&self) -> Option<(Vec<Weak<dyn Watched>>, u64)> {
        let mut runtimes = self.watchdogs.runtimes();
        let at = self.place(&runtimes)?;
        let watchdog = &mut runtimes[at];
        let due = if self.watchdogs.are_closing() {
            mem::take(&mut watchdog.calls).into_values().collect()
        } else {
            watchdog.due(self.watchdogs.clock.now())
        };
        Some((due, watchdog.count))
    }

    fn take_over(&self, call: Weak<dyn Watched>) {
        let Some(watched) = call.upgrade() else {
            return;
        };
        // Whoever drives it at this moment sees by itself that the client is closing.
        if watched.take_over() || self.watchdogs.are_closing() {
            return;
        }
        let again = self.watchdogs.clock.now() + PATIENCE;
        let mut runtimes = self.watchdogs.runtimes();
        if let Some(at) = self.place(&runtimes) {
            runtimes[at].insert(again, call);
        }
    }

    /// Ends the watchdog if there is nothing to watch.
    fn ends(&self) -> bool {
        let mut runtimes = self.watchdogs.runtimes();
        let Some(at) = self.place(&runtimes) else {
            return true;
        };
        let ends = runtimes[at].calls.is_empty();
        if ends {
            drop(runtimes.swap_remove(at));
        }
        ends
    }

    fn place(&self, runtimes: &[Watchdog]) -> Option<usize> {
        let mut runtimes = runtimes.iter();
        runtimes.position(|known| Arc::ptr_eq(&known.task, &self.identity))
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        let mut runtimes = self.watchdogs.runtimes();
        if let Some(at) = self.place(&runtimes) {
            drop(runtimes.swap_remove(at));
        }
    }
}
