//! Hints to workers that there may be something to claim.
//!
//! A hint follows from the contents of the database: as long as a stream is open, one thread checks for all streams of
//! a store, with its own connection. So programs that enqueue need not notify any worker, whatever program they are and
//! in whatever transaction, and it costs them nothing. Every few milliseconds the thread checks, through SQLite,
//! whether another connection has committed anything, which takes two locks on shared memory and reads no page; only
//! then does it read the queues. Heartbeats change the database, too, but free no task, so they wake no worker. While a
//! hint has not been read, the worker is busy, and the thread reads nothing for it.

use std::{
    io,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use dlock_core::{
    ProviderError,
    provider::{Wakeup, WakeupSender, Wakeups},
};

use dlock_tasks::Claim;

use super::{
    BUSY,
    claim::kinds,
    database::{Database, Work},
    row::micros,
};
use crate::{error::OpenError, store::Failure};

/// How often the thread checks, and how often after a second without a write. A worker learns of a task after half of
/// that time on average.
const EVERY: Duration = Duration::from_millis(5);
const SELDOM: Duration = Duration::from_millis(20);
const SILENCE: Duration = Duration::from_secs(1);
/// If a read takes long because the queue is full of tasks that others have, the pause is that many times as long as
/// the last read took: reads get a twentieth of one processor at most.
const RESTING: u32 = 19;
/// The name of the thread, for people.
const THREAD: &str = "dlock-watch";

/// The meeting place of the streams of one store: one thread checks for all of them, as long as there is one.
#[derive(Clone, Debug, Default)]
pub(super) struct Looking(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// Streams that the thread has not seen yet.
    fresh: Vec<Stream>,
    has_thread: bool,
}

/// One stream, and what was last found for it.
#[derive(Debug)]
struct Stream {
    claim: Claim,
    sender: WakeupSender,
    /// The state of the database that was read. `None`: something may have changed since the stream was opened.
    seen: Option<i64>,
    due: Option<i64>,
}

impl Looking {
    /// Opens a stream of hints about the tasks that this claim wants.
    pub(super) fn open(&self, path: &Arc<Path>, claim: Claim) -> io::Result<Wakeups> {
        let (sender, wakeups) = Wakeups::channel(1);
        let mut state = self.state();
        state.fresh.push(Stream {
            claim,
            sender,
            seen: None,
            due: None,
        });
        if !state.has_thread {
            let (looking, path) = (self.clone(), Arc::clone(path));
            let look = move || {
                let thread = Thread {
                    looking,
                    has_ended: false,
                };
                if let Err(error) = thread.look_while_there_are_streams(&path) {
                    tracing::debug!(
                        error = &error as &dyn std::error::Error,
                        "cannot look for tasks; workers poll"
                    );
                }
            };
            thread::Builder::new().name(THREAD.into()).spawn(look)?;
            state.has_thread = true;
        }
        Ok(wakeups)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread. If it fails, all streams end with it, including those that it has not seen.
struct Thread {
    looking: Looking,
    /// The thread has no stream: those that exist now belong to another thread.
    has_ended: bool,
}

impl Drop for Thread {
    fn drop(&mut self) {
        if !self.has_ended {
            *self.looking.state() = State::default();
        }
    }
}

impl Thread {
    fn look_while_there_are_streams(mut self, path: &Path) -> Result<(), Blind> {
        let Some(database) = Database::open(path, false, BUSY)? else {
            return Err(Blind::Gone);
        };
        database.only_look()?;
        let clock = database.clock().clone();
        let since = |began: i64| {
            let span = clock.now().instant.saturating_sub(began);
            Duration::from_nanos(span.unsigned_abs())
        };
        let mut changed = clock.now().instant;
        let mut streams = Vec::new();
        while self.has_streams(&mut streams) {
            let mut pause = if since(changed) < SILENCE {
                EVERY
            } else {
                SELDOM
            };
            let waiting = streams.iter().any(|stream| !stream.sender.is_full());
            // Unknown while a writer keeps all readers out.
            let version = if waiting { database.version()? } else { None };
            let behind = streams.iter_mut().filter(|stream| {
                version.is_some() && stream.seen != version && !stream.sender.is_full()
            });
            let mut looked = None;
            for stream in behind {
                looked.get_or_insert_with(|| clock.now().instant);
                let found = database.read(|work| work.look(&stream.claim))?;
                stream.seen = version;
                stream.tell(&found);
            }
            if let Some(began) = looked {
                changed = began;
                pause = (since(began) * RESTING).clamp(EVERY, SILENCE);
            }
            thread::sleep(pause);
        }
        Ok(())
    }

    /// Takes over the new streams, and drops those that are closed. Without any stream the thread ends.
    fn has_streams(&mut self, streams: &mut Vec<Stream>) -> bool {
        let mut state = self.looking.state();
        streams.append(&mut state.fresh);
        streams.retain(|stream| !stream.sender.is_closed());
        state.has_thread = !streams.is_empty();
        self.has_ended = streams.is_empty();
        !self.has_ended
    }
}

impl Stream {
    fn tell(&mut self, found: &Found) {
        let is_sooner = found
            .due
            .is_some_and(|now| self.due.is_none_or(|before| now < before));
        self.due = found.due;
        if found.something || is_sooner {
            // A closed stream is dropped in the next round.
            let _heard = self.sender.send(Wakeup::Everyone);
        }
    }
}

/// The result of a read.
struct Found {
    /// A task is due and free, or out of attempts: a claim has something to do.
    something: bool,
    /// When the next task falls due, as unix time.
    due: Option<i64>,
}

impl Work<'_> {
    fn look(&self, claim: &Claim) -> Result<Found, Failure> {
        let (mut something, mut due) = (false, None);
        let limits = self.limits()?;
        for (queue, priority) in self.places(claim)? {
            if let Some(limit) = limits.get(queue)
                && self.running(queue, *limit)?.free == 0
            {
                continue;
            }
            let now = micros(self.now());
            let parameters = (queue, priority, now, kinds(claim));
            let place = (queue, priority);
            self.walk(
                include_str!("../sql/tasks/due.sql"),
                parameters,
                |row, read| {
                    match self.seat_of(row, read) {
                        Ok(seat) if seat.is_free() => {
                            something |= seat.is_over() || !self.waits(place, &seat, row, now)?;
                        }
                        Ok(_) => {}
                        // Claims report what is wrong with it.
                        Err(Failure::Answer(_)) => {}
                        Err(failure) => return Err(failure),
                    }
                    Ok(!something)
                },
            )?;
            let next: Option<Option<i64>> = self.value(
                include_str!("../sql/tasks/next.sql"),
                (queue, priority, now),
            )?;
            due = due.into_iter().chain(next.flatten()).min();
        }
        Ok(Found { something, due })
    }
}

/// The reason why nothing could be read.
#[derive(Debug, thiserror::Error)]
enum Blind {
    #[error("SQLite cannot read the database")]
    Sqlite(#[from] rusqlite::Error),
    #[error("the database cannot be opened")]
    Closed(#[from] OpenError),
    #[error("the database or its tables are not there any more")]
    Gone,
    #[error("the queue cannot be read")]
    Unreadable(#[from] ProviderError),
}
