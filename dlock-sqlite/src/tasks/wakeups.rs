//! K6: hints to workers that there may be something to claim.
//!
//! A hint follows from what the database says: a thread looks, with a connection of its own, as long as a stream is
//! open. So those who enqueue need not tell anybody, whatever program they are and in whatever transaction, and it
//! costs them nothing. Every few milliseconds the thread asks SQLite whether another connection has committed anything,
//! which takes two locks on shared memory and reads no page; only then does it look into the queues. Heartbeats change
//! the database, too, but free no task, so they wake nobody. While a hint has not been read, the worker has
//! something to do, and the thread looks at nothing.

use std::{
    io,
    path::{Path, PathBuf},
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

/// How often, and how often after a second in which nobody has written anything. A worker hears of a task after half
/// of it on average.
const EVERY: Duration = Duration::from_millis(5);
const SELDOM: Duration = Duration::from_millis(20);
const SILENCE: Duration = Duration::from_secs(1);
/// Or, where a look takes long because the queue is full of tasks that others have, so many times as long as the last
/// one took: looks get a twentieth of one processor at most.
const RESTING: u32 = 19;
/// The name of the thread, for people.
const THREAD: &str = "dlock-watch";

/// Opens a stream of hints about what this claim is for.
pub(super) fn open(path: PathBuf, claim: Claim) -> io::Result<Wakeups> {
    let (sender, wakeups) = Wakeups::channel(1);
    let look = move || {
        if let Err(error) = look_while_somebody_listens(&path, &claim, &sender) {
            tracing::debug!(
                error = &error as &dyn std::error::Error,
                "cannot look for tasks; workers poll"
            );
        }
        // The stream ends with its sender.
    };
    thread::Builder::new().name(THREAD.into()).spawn(look)?;
    Ok(wakeups)
}

fn look_while_somebody_listens(
    path: &Path,
    claim: &Claim,
    sender: &WakeupSender,
) -> Result<(), Blind> {
    let Some(database) = Database::open(path, false, BUSY)? else {
        return Err(Blind::Gone);
    };
    database.only_look()?;
    // Unknown yet: something may have changed since the stream was asked for.
    let (mut seen, mut due) = (None, None);
    let clock = database.clock().clone();
    let since = |began: i64| {
        let span = clock.now().instant.saturating_sub(began);
        Duration::from_nanos(span.unsigned_abs())
    };
    let mut changed = clock.now().instant;
    while !sender.is_closed() {
        let mut pause = if since(changed) < SILENCE {
            EVERY
        } else {
            SELDOM
        };
        let version = if sender.is_full() {
            seen
        } else {
            database.version()?
        };
        // Unknown while somebody keeps all readers out.
        if version.is_some() && version != seen {
            changed = clock.now().instant;
            let found = database.read(|work| work.look(claim))?;
            seen = version;
            let is_sooner = found
                .due
                .is_some_and(|now| due.is_none_or(|before| now < before));
            due = found.due;
            if (found.something || is_sooner) && !sender.send(Wakeup::Everyone) {
                // Nobody else sends: it is closed.
                break;
            }
            pause = (since(changed) * RESTING).clamp(EVERY, SILENCE);
        }
        thread::sleep(pause);
    }
    Ok(())
}

/// What a look has found.
struct Found {
    /// A task that is due and free, or over: there is something for a claim to do.
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
                        // Claims say what is wrong with it.
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

/// Why there is no look.
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
