//! The thread that watches for releases by other processes, with its own connection. It does not exist as long as no
//! caller is refused.
//!
//! After a write to the file, and every few milliseconds, it checks, through SQLite, whether another connection has
//! committed anything, which takes two locks on shared memory and reads no page; only then, or for a new waiter, does
//! it read the records that are waited for.

use std::{sync::PoisonError, thread, time::Duration};

use dlock_core::ProviderError;
use rusqlite::{Connection, OpenFlags, OptionalExtension, config::DbConfig};

use super::{Shared, State, changes::Changes};
use crate::{files::Files, key::Key};

/// How often the thread checks without a notification from the system. A hand-over to another process then takes half
/// of it on average.
const EVERY: Duration = Duration::from_millis(5);
/// The pause after a read, as a multiple of the processor time that it took: others may write all the time, and
/// thousands of names may be waited for, but reads get a twentieth of one processor at most.
const RESTING: u32 = 19;
/// The pause after a failure. Waiters poll meanwhile.
const RETRY: Duration = Duration::from_secs(1);
/// How long the thread stays without a waiter: contended locks have pauses too.
const LINGER: Duration = Duration::from_secs(10);
/// How long a read may wait for a process that repairs or closes the file.
const BUSY: Duration = Duration::from_millis(100);

/// Watches until there has been no waiter for a while, or the file was closed.
pub(super) fn look_while_somebody_waits(shared: &Shared) {
    let mut eyes: Option<Eyes> = None;
    let mut pause = Duration::ZERO;
    while shared.rest(pause) {
        if let Some(eyes) = &eyes {
            eyes.sleep(EVERY.saturating_sub(pause));
        }
        let before = processor_time();
        let looked = match eyes.take() {
            Some(eyes) => Ok(eyes),
            None => Eyes::open(&shared.files),
        }
        .and_then(|eyes| eyes.look(shared));
        pause = match looked {
            Ok(same) => {
                eyes = Some(same);
                processor_time().saturating_sub(before) * RESTING
            }
            Err(error) => {
                tracing::debug!(
                    error = &error as &dyn std::error::Error,
                    "cannot look for released locks; waiters poll"
                );
                RETRY
            }
        };
    }
}

/// The processor time that this thread has used: a read that waits for a processor has used none.
#[cfg(target_os = "linux")]
fn processor_time() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.try_into().unwrap_or_default()
}

/// An upper bound of the processor time of this thread: the time that has passed.
#[cfg(not(target_os = "linux"))]
fn processor_time() -> Duration {
    use std::{sync::OnceLock, time::Instant};
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    BEGAN.get_or_init(Instant::now).elapsed()
}

impl Shared {
    /// Sleeps. `false`: there is nothing to watch for, and the thread is to end.
    fn rest(&self, pause: Duration) -> bool {
        let mut state = self.state();
        self.forget(&mut state);
        if state.waited.is_empty() {
            state = self
                .changed
                .wait_timeout_while(state, LINGER, |state| {
                    state.waited.is_empty() && !state.over
                })
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        if !state.waited.is_empty() {
            state = self
                .changed
                .wait_timeout_while(state, pause, |state| !state.over)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        // Under the same lock as the verdict: the next refused waiter starts another thread.
        state.looking = !state.over && !state.waited.is_empty();
        state.looking
    }

    /// Drops the names that no caller can still be waiting for.
    fn forget(&self, state: &mut State) {
        state.listeners.retain(|(_, sender)| !sender.is_closed());
        if state.listeners.is_empty() {
            state.waited.clear();
        }
        let now = self.clock.now().instant;
        state.waited.retain(|_, until| *until > now);
        self.count(state);
    }

    /// The names to read, if anything can have changed.
    fn worth_a_look(&self, changed: bool) -> Vec<Key> {
        let mut state = self.state();
        if std::mem::take(&mut state.fresh) || changed {
            state.waited.keys().cloned().collect()
        } else {
            Vec::new()
        }
    }
}

/// A connection that only reads.
struct Eyes {
    connection: Connection,
    /// The system's notification of a write, if it has one.
    changes: Option<Changes>,
    /// SQLite's number of the state that was last read; it means nothing to another connection.
    seen: Option<i64>,
}

impl Eyes {
    fn open(files: &Files) -> Result<Self, Blind> {
        files.check()?;
        // No URI: a path is a path. No creating: a file that is gone stays gone.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(files.database().0, flags)?;
        connection.busy_timeout(BUSY)?;
        // Even if it closes after all others: whatever it has opened, it never writes.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        // It only ever reads a few pages.
        connection.execute_batch("PRAGMA query_only = ON; PRAGMA cache_size = -64")?;
        Ok(Self {
            connection,
            changes: Changes::of(files.log()),
            seen: None,
        })
    }

    /// Sleeps until a write, and at most `limit`.
    fn sleep(&self, limit: Duration) {
        match &self.changes {
            Some(changes) => changes.sleep(limit),
            None => thread::sleep(limit),
        }
    }

    /// Notifies the waiters of each lock that is free. After a failure this connection is given up, and the next one
    /// reads everything.
    fn look(mut self, shared: &Shared) -> Result<Self, Blind> {
        let version = self
            .connection
            .prepare_cached("PRAGMA data_version")?
            .query_row([], |row| row.get(0))?;
        let changed = self.seen.replace(version) != Some(version);
        let keys = shared.worth_a_look(changed);
        if keys.is_empty() {
            return Ok(self);
        }
        // One state of the file, and one pair of locks, for all of them.
        let transaction = self.connection.unchecked_transaction()?;
        let mut held = transaction.prepare_cached(include_str!("../sql/waited.sql"))?;
        for key in keys {
            let parameters = (key.prefix(), key.name());
            if held.query_row(parameters, |_| Ok(())).optional()?.is_none() {
                shared.hint(&mut shared.state(), &key);
            }
        }
        drop(held);
        drop(transaction);
        Ok(self)
    }
}

/// The reason why nothing could be read.
#[derive(Debug, thiserror::Error)]
enum Blind {
    #[error("SQLite cannot read the lock file")]
    Sqlite(#[from] rusqlite::Error),
    #[error("the lock file is not there")]
    Moved(#[from] ProviderError),
}
