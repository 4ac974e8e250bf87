//! The watchdogs over calls that callers drive (C3): a call whose caller was not seen to take its end when its
//! time was over goes on in a task. One task for each runtime, for as long as there are calls: what is taken over
//! can only run on the runtime where it began.

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use tokio::{
    runtime::{Handle, Id},
    sync::Notify,
};
use tokio_util::sync::CancellationToken;

use crate::{Clock, time::HolderInstant};

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
    calls: BTreeMap<Key, Call>,
    /// How many calls there have been: tells those of one instant apart.
    count: u64,
    /// Rung for a call that is due before all others. There is a task for as long as this is known.
    ring: Arc<Notify>,
}

/// When a call is due, and its number.
type Key = (HolderInstant, u64);

struct Call {
    watched: Weak<dyn Watched>,
    limit: Duration,
}

/// A call is watched until this is dropped.
pub(super) struct Watching {
    watchdogs: Arc<Watchdogs>,
    runtime: Id,
    key: Key,
}

/// What a watchdog does next.
enum Step {
    TakeOver(Vec<Call>),
    SleepUntil(HolderInstant),
    End,
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

    /// Watches a call that may take so long from now on.
    pub(super) fn watch(
        self: &Arc<Self>,
        home: &Handle,
        watched: Weak<dyn Watched>,
        limit: Duration,
    ) -> Watching {
        let (runtime, due) = (home.id(), self.clock.now() + limit);
        let mut runtimes = self.runtimes();
        let known = runtimes.iter().position(|known| known.runtime == runtime);
        let at = known.unwrap_or_else(|| {
            let ring = Arc::new(Notify::new());
            let task = Task {
                watchdogs: Arc::clone(self),
                ring: Arc::clone(&ring),
            };
            drop(home.spawn(async move { task.run().await }));
            runtimes.push(Watchdog {
                runtime,
                calls: BTreeMap::new(),
                count: 0,
                ring,
            });
            runtimes.len() - 1
        });
        let key = runtimes[at].insert(due, Call { watched, limit });
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
    fn insert(&mut self, due: HolderInstant, call: Call) -> Key {
        self.count += 1;
        let key = (due, self.count);
        if self
            .calls
            .first_key_value()
            .is_none_or(|(first, _)| key < *first)
        {
            self.ring.notify_one();
        }
        self.calls.insert(key, call);
        key
    }

    /// The calls that are due by this instant.
    fn due(&mut self, now: HolderInstant) -> Vec<Call> {
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
    ring: Arc<Notify>,
}

impl Task {
    async fn run(self) {
        let Watchdogs { clock, closing, .. } = &*self.watchdogs;
        loop {
            match self.step() {
                Step::TakeOver(calls) => {
                    for call in calls {
                        self.take_over(call);
                    }
                }
                Step::SleepUntil(due) => tokio::select! {
                    biased;
                    () = closing.cancelled() => {}
                    () = self.ring.notified() => {}
                    () = clock.sleep_until(due, Duration::MAX) => {}
                },
                Step::End => return,
            }
        }
    }

    fn step(&self) -> Step {
        let Watchdogs { clock, closing, .. } = &*self.watchdogs;
        let mut runtimes = self.watchdogs.runtimes();
        let Some(at) = self.place(&runtimes) else {
            return Step::End;
        };
        let watchdog = &mut runtimes[at];
        let calls = if closing.is_cancelled() {
            mem::take(&mut watchdog.calls).into_values().collect()
        } else {
            watchdog.due(clock.now())
        };
        if !calls.is_empty() {
            return Step::TakeOver(calls);
        }
        match watchdog.calls.first_key_value() {
            Some(((due, _), _)) => Step::SleepUntil(*due),
            None => {
                runtimes.swap_remove(at);
                Step::End
            }
        }
    }

    fn take_over(&self, call: Call) {
        let Some(watched) = call.watched.upgrade() else {
            return;
        };
        // Whoever drives it at this moment sees by itself that the client is closing.
        if watched.take_over() || self.watchdogs.are_closing() {
            return;
        }
        let again = self.watchdogs.clock.now() + call.limit;
        let mut runtimes = self.watchdogs.runtimes();
        if let Some(at) = self.place(&runtimes) {
            runtimes[at].insert(again, call);
        }
    }

    fn place(&self, runtimes: &[Watchdog]) -> Option<usize> {
        let mut runtimes = runtimes.iter();
        runtimes.position(|known| Arc::ptr_eq(&known.ring, &self.ring))
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
