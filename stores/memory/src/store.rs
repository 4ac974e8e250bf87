//! The memory of [`MemoryProvider`](crate::MemoryProvider)s: records, clocks that tests can step,
//! and a way to lose writes. It decides nothing; `rules` does.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use dlock_core::{
    Name,
    provider::{Discipline, Wakeup, WakeupSender, Wakeups},
};
use tokio::time::Instant;

use crate::rules::{Now, Stored, Write, micros};

/// Where a store's clocks begin: 2026-01-01T00:00:00Z in microseconds since 1970. Fixed, so that
/// tokens repeat from run to run in paused time.
const EPOCH: i64 = 1_767_225_600_000_000;

/// How many writes [`MemoryStore::rollback`] can undo.
const HISTORY: usize = 1024;

/// A store in this process's memory, shared by every provider made on it.
///
/// Its clock is [`tokio::time::Instant`] plus an offset: paused time moves it, and so do
/// [`clock_forward`](Self::clock_forward) and [`clock_backward`](Self::clock_backward). It needs no
/// runtime.
#[derive(Clone)]
pub struct MemoryStore(Arc<Inner>);

struct Inner {
    discipline: Discipline,
    start: Instant,
    rate: f64,
    state: Mutex<State>,
}

/// A name as it is stored: prefix and name, which no separator can confuse.
#[doc(hidden)]
pub type Key = (Arc<str>, String);

#[derive(Default)]
struct State {
    records: BTreeMap<Key, Stored>,
    /// The records that recent writes replaced, oldest first.
    undo: VecDeque<(Key, Option<Stored>)>,
    writes: u64,
    read_only: bool,
    clock_offset: i64,
    wall_offset: i64,
    watchers: Vec<(String, WakeupSender)>,
    observer: Option<Observer>,
}

type Observer = Box<dyn Fn(&Commit<'_>) + Send>;

/// A change of a record.
#[doc(hidden)]
#[derive(Debug)]
#[non_exhaustive]
pub struct Commit<'a> {
    pub key: &'a Key,
    pub before: Option<&'a Stored>,
    pub after: Option<&'a Stored>,
    /// Whether this is no write, but a write undone or forgotten.
    pub undone: bool,
    pub now: &'a Now,
}

impl MemoryStore {
    /// A store whose clock decides when a lease has ended, as in Postgres or Redis.
    #[must_use]
    pub fn store_clock() -> Self {
        Self::new(Discipline::StoreClock)
    }

    /// A store whose clock decides nothing, as in `DynamoDB`.
    #[must_use]
    pub fn observer() -> Self {
        Self::new(Discipline::Observer)
    }

    /// A store of this discipline.
    #[must_use]
    pub fn new(discipline: Discipline) -> Self {
        Self::drifting(discipline, 1.0)
    }

    /// A store whose clock runs `rate` times as fast as Tokio's: 1.1 gains 10 %.
    #[must_use]
    pub fn drifting(discipline: Discipline, rate: f64) -> Self {
        Self(Arc::new(Inner {
            discipline,
            start: Instant::now(),
            rate,
            state: Mutex::default(),
        }))
    }

    /// Whether the store's clock or an observer decides that a lease has ended.
    #[must_use]
    pub fn discipline(&self) -> Discipline {
        self.0.discipline
    }

    /// Steps the store's clock forward: leases end early, tokens jump.
    pub fn clock_forward(&self, by: Duration) {
        self.lock().clock_offset += micros(by);
    }

    /// Steps the store's clock backward: leases end late, tokens continue from the last one.
    pub fn clock_backward(&self, by: Duration) {
        self.lock().clock_offset -= micros(by);
    }

    /// Steps only the wall clock forward, from which tokens and `since` come; expiries stay.
    pub fn wall_forward(&self, by: Duration) {
        self.lock().wall_offset += micros(by);
    }

    /// Steps only the wall clock backward, from which tokens and `since` come; expiries stay.
    pub fn wall_backward(&self, by: Duration) {
        self.lock().wall_offset -= micros(by);
    }

    /// While set, nothing can be written: every operation but `read` and `list` answers
    /// [`NotApplied`](dlock_core::ErrorKind::NotApplied).
    pub fn set_read_only(&self, read_only: bool) {
        self.lock().read_only = read_only;
    }

    /// The number of writes applied so far. A refused or repeated request makes none.
    #[must_use]
    pub fn writes(&self) -> u64 {
        self.lock().writes
    }

    /// From now on, calls `observer` with each change that really happens to a record, whatever answers the clients
    /// get.
    #[doc(hidden)]
    pub fn observe(&self, observer: impl Fn(&Commit<'_>) + Send + 'static) {
        self.lock().observer = Some(Box::new(observer));
    }

    /// Undoes the last `writes` writes, as a failover to a replica that had not received them does. The clocks keep
    /// running. At most the last 1,024 can be undone.
    pub fn rollback(&self, writes: usize) {
        let mut state = self.lock();
        for _ in 0..writes {
            let Some((key, before)) = state.undo.pop_back() else {
                return;
            };
            let now = self.now(&state);
            let undone = match &before {
                Some(stored) => state.records.insert(key.clone(), stored.clone()),
                None => state.records.remove(&key),
            };
            state.tell(&Commit {
                key: &key,
                before: undone.as_ref(),
                after: before.as_ref(),
                undone: true,
                now: &now,
            });
        }
    }

    /// Forgets every record, as a store that is restored empty does. Cannot be rolled back.
    pub fn wipe(&self) {
        let mut state = self.lock();
        let now = self.now(&state);
        for (key, stored) in &std::mem::take(&mut state.records) {
            state.tell(&Commit {
                key,
                before: Some(stored),
                after: None,
                undone: true,
                now: &now,
            });
        }
        state.undo.clear();
    }

    /// Ends every stream of wake-ups, as a lost connection does.
    pub fn break_watches(&self) {
        self.lock().watchers.clear();
    }

    /// Moves the expiry of a record into the past, and returns whether the record exists. For purges, which consider
    /// only records a week old.
    #[must_use]
    pub fn age(&self, name: &Name, by: Duration) -> bool {
        let mut state = self.lock();
        let mut found = false;
        for ((_, key), stored) in &mut state.records {
            if key == name.as_str() {
                stored.expiry -= micros(by);
                found = true;
            }
        }
        found
    }

    #[doc(hidden)]
    #[must_use]
    pub fn read_only(&self) -> bool {
        self.lock().read_only
    }

    /// One atomic step: `decide` sees the record and the clock, and its write is applied before any other access.
    #[doc(hidden)]
    pub fn decide<T>(
        &self,
        key: &Key,
        decide: impl FnOnce(Option<&Stored>, &Now) -> (Write, T),
    ) -> T {
        let mut state = self.lock();
        let now = self.now(&state);
        let (write, answer) = decide(state.records.get(key), &now);
        state.apply(key, write, &now);
        answer
    }

    /// Reads without writing.
    #[doc(hidden)]
    pub fn look<T>(&self, look: impl FnOnce(&BTreeMap<Key, Stored>, &Now) -> T) -> T {
        let state = self.lock();
        look(&state.records, &self.now(&state))
    }

    /// Deletes the records that `doomed` picks, at most `limit`, in one step, and returns their number.
    #[doc(hidden)]
    pub fn delete(&self, limit: usize, doomed: impl Fn(&Key, &Stored, &Now) -> bool) -> u64 {
        let mut state = self.lock();
        let now = self.now(&state);
        let keys: Vec<Key> = state
            .records
            .iter()
            .filter(|(key, stored)| doomed(key, stored, &now))
            .map(|(key, _)| key.clone())
            .take(limit)
            .collect();
        let mut deleted = 0;
        for key in keys {
            state.apply(&key, Write::Delete, &now);
            deleted += 1;
        }
        deleted
    }

    /// Listens for the names under a prefix.
    #[doc(hidden)]
    #[must_use]
    pub fn watch(&self, prefix: &str) -> Wakeups {
        let (sender, wakeups) = Wakeups::channel(256);
        self.lock().watchers.push((prefix.to_owned(), sender));
        wakeups
    }

    /// Wakes the watchers of the key's prefix, and drops one that is gone or full, which ends its stream.
    #[doc(hidden)]
    pub fn wake(&self, (prefix, _): &Key, name: &Name) {
        let wakeup = Wakeup::Name(name.clone());
        self.lock()
            .watchers
            .retain(|(watched, sender)| **watched != **prefix || sender.send(wakeup.clone()));
    }

    fn now(&self, state: &State) -> Now {
        let clock =
            EPOCH + micros(self.0.start.elapsed().mul_f64(self.0.rate)) + state.clock_offset;
        let wall = u64::try_from(clock.saturating_add(state.wall_offset)).unwrap_or(0);
        Now {
            discipline: self.0.discipline,
            clock,
            rate: self.0.rate,
            wall,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code panics between two related changes, so a poisoned state is whole.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn apply(&mut self, key: &Key, write: Write, now: &Now) {
        let before = match write {
            Write::Nothing => return,
            Write::Put(stored) => self.records.insert(key.clone(), *stored),
            Write::Delete => self.records.remove(key),
        };
        self.tell(&Commit {
            key,
            before: before.as_ref(),
            after: self.records.get(key),
            undone: false,
            now,
        });
        self.writes += 1;
        if self.undo.len() == HISTORY {
            self.undo.pop_front();
        }
        self.undo.push_back((key.clone(), before));
    }

    fn tell(&self, commit: &Commit<'_>) {
        if let Some(observer) = &self.observer {
            observer(commit);
        }
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        f.debug_struct("MemoryStore")
            .field("discipline", &self.0.discipline)
            .field("records", &state.records.len())
            .finish_non_exhaustive()
    }
}
