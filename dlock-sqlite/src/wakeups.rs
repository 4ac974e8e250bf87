//! Wake-ups: the meeting place of the providers of one process on one file. It remembers the listeners and the names on
//! which a caller was refused; those names are read until they are free (`wakeups/watcher.rs`).
//!
//! A hint follows from the contents of the file, not from a separate message. So a releaser that dies cannot lose one,
//! a release by another process needs no help from it and costs it nothing, and renewals, which change the file too,
//! wake no waiter. In the process of the releaser the hint is sent at once.

mod changes;
mod watcher;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use dlock_core::{
    Record,
    provider::{Prefix, Wakeup, WakeupSender, Wakeups},
};

use crate::{
    clock::StoreClock,
    files::{FileId, Files},
    key::Key,
};

/// How many hints a listener may leave unread. One that leaves more unread loses its stream, and that wakes it.
const UNREAD: usize = 1024;

/// A waiter that still waits when the record expires tries again then, so its name need not be remembered for longer;
/// the extra second is for jitter and a busy machine.
const LATEST_QUESTION: Duration = Duration::from_secs(1);

/// The name of the thread, for people.
const THREAD: &str = "dlock-watch";

/// One file: its path, and its identity among files of that name.
type Place = (PathBuf, FileId);

/// The files that this process has open. They are found by identity and not handed around, because two parts of a
/// program that know nothing of each other may open the same one.
static OPEN: Mutex<BTreeMap<Place, Weak<Watch>>> = Mutex::new(BTreeMap::new());

/// The waiting for locks of one file in this process.
#[derive(Debug)]
pub(crate) struct Watch(Arc<Shared>);

/// The part that the watching thread shares.
#[derive(Debug)]
struct Shared {
    files: Files,
    clock: StoreClock,
    /// How many names are waited for: a release without waiters costs one load.
    waited: AtomicUsize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    listeners: Vec<(Prefix, WakeupSender)>,
    /// Names on which a caller was refused, each with the instant after which no caller can still be waiting.
    waited: BTreeMap<Key, i64>,
    /// Whether a caller was refused since the last read.
    fresh: bool,
    /// Whether a watching thread runs.
    looking: bool,
    /// The newest of those threads.
    thread: Option<JoinHandle<()>>,
    /// Whether the file was closed.
    over: bool,
}

impl Watch {
    /// The watch of this file; all providers that have it open share one.
    pub(crate) fn of(files: &Files, clock: &StoreClock) -> Arc<Self> {
        let (path, id) = files.database();
        // One path for all links to it.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let place = (path, id);
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(watch) = open.get(&place).and_then(Weak::upgrade) {
            return watch;
        }
        open.retain(|_, watch| watch.strong_count() > 0);
        let watch = Arc::new(Self(Arc::new(Shared {
            files: files.clone(),
            clock: clock.clone(),
            waited: AtomicUsize::new(0),
            state: Mutex::default(),
            changed: Condvar::new(),
        })));
        open.insert(place, Arc::downgrade(&watch));
        watch
    }

    pub(crate) fn files(&self) -> &Files {
        &self.0.files
    }

    /// Opens a stream of hints about locks with this prefix.
    pub(crate) fn listen(&self, prefix: &Prefix) -> Wakeups {
        let (sender, wakeups) = Wakeups::channel(UNREAD);
        let mut state = self.0.state();
        state.listeners.retain(|(_, sender)| !sender.is_closed());
        state.listeners.push((prefix.clone(), sender));
        wakeups
    }

    /// Notes that a caller was refused by this record, or has read it, and may wait. May start a thread: do not call it
    /// in a caller's poll.
    pub(crate) fn refused(&self, key: &Key, record: &Record) {
        let shared = &self.0;
        let mut state = shared.state();
        if !state.listeners.iter().any(|(p, _)| *p == key.prefix) {
            return;
        }
        let patience = record.remaining.unwrap_or(record.duration) + LATEST_QUESTION;
        let until = StoreClock::expiry(shared.clock.now(), patience);
        state.waited.insert(key.clone(), until);
        state.fresh = true;
        shared.count(&state);
        if state.looking {
            shared.changed.notify_all();
            return;
        }
        let started = thread::Builder::new().name(THREAD.into()).spawn({
            let shared = Arc::clone(shared);
            move || watcher::look_while_somebody_waits(&shared)
        });
        match started {
            Ok(thread) => {
                state.looking = true;
                state.thread = Some(thread);
            }
            Err(error) => tracing::warn!(
                error = &error as &dyn std::error::Error,
                "no thread to look for released locks; waiters poll"
            ),
        }
    }

    /// Notes that this process released a lock: the waiters in this process are notified at once.
    pub(crate) fn released(&self, key: &Key) {
        // A refusal that is being recorded at this moment is read soon.
        if self.0.waited.load(Ordering::SeqCst) > 0 {
            self.0.hint(&mut self.0.state(), key);
        }
    }
}

#[cfg(test)]
impl Watch {
    /// How many names are waited for.
    pub(crate) fn waited(&self) -> usize {
        self.0.waited.load(Ordering::SeqCst)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.over = true;
        state.listeners.clear();
        self.0.changed.notify_all();
        let thread = state.thread.take();
        drop(state);
        // Its connection is closed when this returns, so that the provider's is the last one. The thread is asleep, or
        // its read is about to end.
        if let Some(Err(panic)) = thread.map(JoinHandle::join) {
            tracing::warn!(
                ?panic,
                "the thread that looked for released locks had panicked"
            );
        }
    }
}

impl Shared {
    /// Notifies the listeners once: a waiter that is refused again registers again.
    fn hint(&self, state: &mut State, key: &Key) {
        if state.waited.remove(key).is_none() {
            return;
        }
        self.count(state);
        let wakeup = Wakeup::Name(key.name.clone());
        state
            .listeners
            .retain(|(prefix, sender)| *prefix != key.prefix || sender.send(wakeup.clone()));
    }

    fn count(&self, state: &State) {
        self.waited.store(state.waited.len(), Ordering::SeqCst);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
