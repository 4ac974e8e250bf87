//! The thread that looks for releases by other processes, with a connection of its own. There is
//! none as long as nobody is refused.
//!
//! When somebody has written to the file, and every few milliseconds, it asks SQLite whether another
//! connection has committed anything, which takes two locks on shared memory and reads no page; only
//! then, or when somebody new waits, does it look at the records that are waited for.

use std::{sync::PoisonError, thread, time::Duration};

use dlock_core::ProviderError;
use rusqlite::{Connection, OpenFlags, OptionalExtension, config::DbConfig};

use super::{Shared, State, changes::Changes};
use crate::{files::Files, key::Key};

/// How often, where the system does not say that somebody has written. A hand-over to another process takes half of
/// it on average then.
const EVERY: Duration = Duration::from_millis(5);
/// The pause after a look, in the processor time that it took: others may write all the time, and thousands of names
/// may be waited for, but looking gets a twentieth of one processor at most.
const RESTING: u32 = 19;
/// After a failure. Waiters poll meanwhile.
const RETRY: Duration = Duration::from_secs(1);
/// How long to stay when nobody waits any more: locks that are fought for have pauses too.
const LINGER: Duration = Duration::from_secs(10);
/// How long a look may wait for a process that repairs or closes the file.
const BUSY: Duration = Duration::from_millis(100);

/// Looks until nobody has waited for a while, or the file was closed.
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

/// What this thread has had of a processor: a look that waits for one has taken nothing.
#[cfg(target_os = "linux")]
fn processor_time() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.try_into().unwrap_or_default()
}

/// No less than what this thread has had of a processor: the time that has passed.
#[cfg(not(target_os = "linux"))]
fn processor_time() -> Duration {
    use std::{sync::OnceLock, time::Instant};
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    BEGAN.get_or_init(Instant::now).elapsed()
}

impl Shared {
    /// Sleeps. `false`: there is nothing to look for, and the thread is to end.
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

    /// Drops the names that nobody can be waiting for any more.
    fn forget(&self, state: &mut State) {
        state.listeners.retain(|(_, sender)| !sender.is_closed());
        if state.listeners.is_empty() {
            state.waited.clear();
        }
        let now = self.clock.now().instant;
        state.waited.retain(|_, until| *until > now);
        self.count(state);
    }

    /// What to look at, if anything can have changed.
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
    /// What tells when to look, if the system does.
    changes: Option<Changes>,
    /// SQLite's number of the state that was looked at last; it means nothing to another
    /// connection.
    seen: Option<i64>,
}

impl Eyes {
    fn open(files: &Files) -> Result<Self, Blind> {
        files.check()?;
        // No URI: a path is a path. No creating: a file that is gone stays gone.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(files.database().0, flags)?;
        connection.busy_timeout(BUSY)?;
        // Also when it closes after all others: whatever it has opened, it never writes.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        // A few pages are all it ever reads.
        connection.execute_batch("PRAGMA query_only = ON; PRAGMA cache_size = -64")?;
        Ok(Self {
            connection,
            changes: Changes::of(files.log()),
            seen: None,
        })
    }

    /// Sleeps until somebody has written, and at most so long.
    fn sleep(&self, limit: Duration) {
        match &self.changes {
            Some(changes) => changes.sleep(limit),
            None => thread::sleep(limit),
        }
    }

    /// Tells the waiters of each lock that is free. After a failure this connection is given up,
    /// and the next one looks at everything.
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

/// Why there was no look.
#[derive(Debug, thiserror::Error)]
enum Blind {
    #[error("SQLite cannot read the lock file")]
    Sqlite(#[from] rusqlite::Error),
    #[error("the lock file is not there")]
    Moved(#[from] ProviderError),
}
