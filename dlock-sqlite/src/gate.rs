//! The order in which calls of this process write to a file that has both locks and tasks.
//!
//! SQLite gives the file to the first call that tries, and calls that found it taken retry after a pause, which grows
//! to 100 ms. So one thread that writes without a pause, for example with one claim after another, can keep a renewal
//! of a lock out until the lease has ended. This gate knows of the calls of locks that wait: those of tasks give way to
//! them, and wake them when they end.

use std::{
    collections::BTreeMap,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use crate::files::FileId;

/// How long a call of tasks gives way.
#[cfg(feature = "tasks")]
pub(crate) const LONGEST: Duration = Duration::from_millis(500);

/// The first and the longest pause between two attempts of a call that waits: calls of other processes do not wake it.
pub(crate) const PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(10)];

/// The gate of one file.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    waiting: Mutex<usize>,
    none: Condvar,
    ended: Condvar,
}

/// A call of a lock that waits for the file, until this is dropped.
#[derive(Debug)]
pub(crate) struct Waiting(Arc<Gate>);

impl Gate {
    /// The gate of this file in this process.
    pub(crate) fn of(file: FileId) -> Arc<Self> {
        static GATES: Mutex<BTreeMap<FileId, Weak<Gate>>> = Mutex::new(BTreeMap::new());
        let mut gates = GATES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(gate) = gates.get(&file).and_then(Weak::upgrade) {
            return gate;
        }
        gates.retain(|_, gate| gate.strong_count() > 0);
        let gate = Arc::new(Self::default());
        gates.insert(file, Arc::downgrade(&gate));
        gate
    }

    /// A call of a lock waits.
    pub(crate) fn wait(self: &Arc<Self>) -> Waiting {
        *self.waiting() += 1;
        Waiting(Arc::clone(self))
    }

    /// Whether a call of a lock waits.
    #[cfg(feature = "tasks")]
    pub(crate) fn is_wanted(&self) -> bool {
        *self.waiting() > 0
    }

    /// Waits until no call of a lock waits, but no longer than this.
    #[cfg(feature = "tasks")]
    pub(crate) fn give_way(&self, longest: Duration) {
        let waiting = self.waiting();
        drop(
            self.none
                .wait_timeout_while(waiting, longest, |waiting| *waiting > 0),
        );
    }

    /// A call of tasks has written.
    #[cfg(feature = "tasks")]
    pub(crate) fn has_ended(&self) {
        let _waiting = self.waiting();
        self.ended.notify_all();
    }

    fn waiting(&self) -> MutexGuard<'_, usize> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// A pause before the next attempt at the file, which ends early when a call of tasks has written.
    pub(crate) fn pause(&self, longest: Duration) {
        let waiting = self.0.waiting();
        drop(self.0.ended.wait_timeout(waiting, longest));
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut waiting = self.0.waiting();
        *waiting -= 1;
        if *waiting == 0 {
            self.0.none.notify_all();
        }
    }
}

#[cfg(all(test, feature = "tasks"))]
mod tests {
    use std::{
        sync::atomic::{AtomicBool, Ordering},
        thread,
    };

    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    #[test]
    fn tasks_give_way_to_locks_of_the_same_file_alone() {
        let folder = tempfile::tempdir().unwrap();
        let gate = |name: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, "").unwrap();
            Gate::of(FileId::of(&path).unwrap())
        };
        let (one, other) = (gate("one"), gate("other"));
        assert!(Arc::ptr_eq(&one, &gate("one")));
        let waits = [one.wait(), one.wait()];
        assert!(one.is_wanted() && !other.is_wanted());
        other.give_way(HOUR);
        one.give_way(Duration::from_millis(1));
        let served = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                one.give_way(HOUR);
                assert!(served.load(Ordering::SeqCst));
            });
            let [first, second] = waits;
            drop(first);
            thread::yield_now();
            served.store(true, Ordering::SeqCst);
            drop(second);
        });
    }

    #[test]
    fn call_that_has_written_wakes_those_of_locks() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let gate = Gate::of(FileId::of(file.path()).unwrap());
        let waiting = gate.wait();
        let paused = thread::spawn(move || waiting.pause(HOUR));
        let is_woken = (0..60_000).any(|_| {
            gate.has_ended();
            thread::sleep(Duration::from_millis(1));
            paused.is_finished()
        });
        assert!(is_woken);
    }
}
