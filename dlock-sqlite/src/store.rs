//! One blocking connection and the steps around a call on it: the lock, the check of the files, the
//! clock, commit and rollback. `requests.rs` decides the outcome of a call.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use dlock_core::{ProviderError, Record};
use rusqlite::{
    Connection, OpenFlags, Params, Row, Transaction, TransactionBehavior, config::DbConfig,
};

use crate::{
    clock::{Now, StoreClock},
    error::{self, OpenError},
    files::Files,
    gate::{Gate, PAUSES},
    key::Key,
    open,
    record::{self, Flaw},
    synchronous::Synchronous,
    wakeups::Watch,
};

/// How long a reader waits for a process that repairs the file or closes it; no other process keeps a
/// reader waiting.
const READING: Duration = Duration::from_secs(1);

/// An open lock file.
#[derive(Debug)]
pub(crate) struct Store {
    connection: Connection,
    path: PathBuf,
    files: Files,
    gate: Arc<Gate>,
    clock: StoreClock,
    busy_timeout: Duration,
    /// The instant at which the running call was made: its time in the queue counts.
    called: i64,
    /// For each call that wanted the write lock: since when it has found the lock taken.
    locked_since: Option<i64>,
}

/// One state of the file, with the clock.
#[derive(Clone, Copy)]
pub(crate) struct View<'s> {
    connection: &'s Connection,
    path: &'s Path,
    clock: &'s StoreClock,
}

/// The file with its write lock. If this is dropped without [`Writing::commit`], nothing was
/// written.
pub(crate) struct Writing<'s> {
    transaction: Transaction<'s>,
    view: View<'s>,
}

/// The reason why a call has no outcome.
pub(crate) enum Failure {
    /// SQLite failed, and the transaction with it.
    Sqlite(rusqlite::Error),
    /// An answer of our own; the transaction is as good as before.
    Answer(ProviderError),
}

impl Store {
    pub(crate) fn open(
        path: &Path,
        synchronous: Synchronous,
        busy_timeout: Duration,
        any_file_system: bool,
    ) -> Result<Self, OpenError> {
        let clock = StoreClock::system().map_err(|source| OpenError::Clock { source })?;
        let (connection, files) = open::open(path, synchronous, any_file_system)?;
        connection
            .busy_timeout(busy_timeout)
            .map_err(|error| OpenError::from_sqlite(path, error, Duration::ZERO))?;
        Ok(Self {
            connection,
            path: path.to_owned(),
            gate: Gate::of(files.database().1),
            files,
            called: clock.now().instant,
            clock,
            busy_timeout,
            locked_since: None,
        })
    }

    /// A further connection to the open file, which writes nothing.
    ///
    /// # Errors
    /// `Fatal` if the file does not exist any more, and SQLite's error.
    pub(crate) fn only_to_read(files: &Files, clock: &StoreClock) -> Result<Self, ProviderError> {
        files.check()?;
        let (path, _) = files.database();
        let open = || {
            // No URI: a path is a path. No creating: a file that is gone stays gone.
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = Connection::open_with_flags(path, flags)?;
            connection.busy_timeout(READING)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            connection.execute_batch("PRAGMA query_only = ON")?;
            Ok(connection)
        };
        Ok(Self {
            connection: open().map_err(|error| error::provider_error(path, error))?,
            path: path.to_owned(),
            gate: Gate::of(files.database().1),
            files: files.clone(),
            called: clock.now().instant,
            clock: clock.clone(),
            busy_timeout: READING,
            locked_since: None,
        })
    }

    /// Notes that the next call was made at this instant of the store's clock.
    pub(crate) const fn call_of(&mut self, called: i64) {
        self.called = called;
    }

    pub(crate) const fn clock(&self) -> &StoreClock {
        &self.clock
    }

    /// The place where the waiters of this process on this file meet.
    pub(crate) fn watch(&self) -> Arc<Watch> {
        Watch::of(&self.files, &self.clock)
    }

    /// Reads one statement's state of the file, without a lock.
    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(View<'_>) -> Result<T, Failure>,
    ) -> Result<T, ProviderError> {
        self.files.check()?;
        work(self.view()).map_err(|failure| failure.into_error(&self.path))
    }

    /// Runs one transaction. `lease`: see [`Store::begin`].
    pub(crate) fn write<T>(
        &mut self,
        lease: impl FnOnce(View<'_>) -> Option<Duration>,
        work: impl FnOnce(View<'_>) -> Result<T, Failure>,
    ) -> Result<T, ProviderError> {
        let writing = self.begin(lease)?;
        let view = writing.view;
        let answer = work(view).map_err(|failure| failure.into_error(view.path))?;
        writing
            .commit()
            .map_err(|error| error::provider_error(view.path, error))?;
        Ok(answer)
    }

    /// Waits for the write lock, at most the busy timeout. A caller waits for its answer no longer than a sixth of the
    /// lease: it learns of the lock a little earlier than that, and a call that was given up does not block those
    /// behind it. `lease` is called only if another connection has the lock.
    pub(crate) fn begin(
        &mut self,
        lease: impl FnOnce(View<'_>) -> Option<Duration>,
    ) -> Result<Writing<'_>, ProviderError> {
        let began = self.clock.now().instant;
        let mut transaction = immediate(&self.connection, Duration::ZERO);
        if transaction.as_ref().is_err_and(error::is_busy) {
            let in_line = nanos(began.saturating_sub(self.called));
            let patience = lease(self.view()).map_or(self.busy_timeout, |lease| {
                (lease / 8).saturating_sub(in_line).min(self.busy_timeout)
            });
            let (waiting, since) = (self.gate.wait(), self.clock.now().instant);
            let [mut pause, longest] = PAUSES;
            while transaction.as_ref().is_err_and(error::is_busy) {
                let waited = nanos(self.clock.now().instant.saturating_sub(since));
                let left = patience.saturating_sub(waited);
                if left.is_zero() {
                    break;
                }
                waiting.pause(pause.min(left));
                pause = (2 * pause).min(longest);
                transaction = immediate(&self.connection, Duration::ZERO);
            }
        }
        let restored = self.connection.busy_timeout(self.busy_timeout);
        let transaction = match transaction {
            Err(error) if error::is_busy(&error) => {
                let since = *self.locked_since.get_or_insert(began);
                let locked = nanos(self.clock.now().instant.saturating_sub(since));
                return Err(error::locked(&self.path, locked, error));
            }
            transaction => {
                self.locked_since = None;
                transaction
                    .and_then(|transaction| restored.map(|()| transaction))
                    .map_err(|error| error::provider_error(&self.path, error))?
            }
        };
        self.files.check()?;
        Ok(Writing {
            transaction,
            view: self.view(),
        })
    }

    fn view(&self) -> View<'_> {
        View {
            connection: &self.connection,
            path: &self.path,
            clock: &self.clock,
        }
    }
}

#[cfg(test)]
impl Store {
    /// The same file on a clock that the test sets.
    pub(crate) fn with_clock(self, clock: StoreClock) -> Self {
        Self { clock, ..self }
    }

    pub(crate) const fn connection(&self) -> &Connection {
        &self.connection
    }
}

/// Begins a transaction that writes.
pub(crate) fn immediate(
    connection: &Connection,
    patience: Duration,
) -> rusqlite::Result<Transaction<'_>> {
    connection.busy_timeout(patience)?;
    // The store is borrowed as long as the transaction lives, so there is no second one.
    Transaction::new_unchecked(connection, TransactionBehavior::Immediate)
}

/// A span of the store's clock.
fn nanos(span: i64) -> Duration {
    Duration::from_nanos(u64::try_from(span).unwrap_or(0))
}

impl<'s> Writing<'s> {
    pub(crate) const fn view(&self) -> View<'s> {
        self.view
    }

    pub(crate) fn commit(self) -> rusqlite::Result<()> {
        self.transaction.commit()
    }
}

impl<'s> View<'s> {
    pub(crate) const fn clock(&self) -> &'s StoreClock {
        self.clock
    }

    /// The record of a lock, then the time: a verdict never rests on a time before the state it
    /// judges, nor on one before the wait for a lock.
    pub(crate) fn record(&self, key: &Key) -> Result<(Option<Record>, Now), Failure> {
        let mut statement = self
            .connection
            .prepare_cached(include_str!("sql/read.sql"))?;
        let mut rows = statement.query((key.prefix(), key.name()))?;
        let row = rows.next()?;
        let now = self.clock.now();
        let record = row.map(|row| self.read(row, key.prefix(), key.name(), now));
        Ok((record.transpose()?, now))
    }

    /// The lease of a lock's newest term, if there is a record that can be read.
    pub(crate) fn lease(&self, key: &Key) -> Option<Duration> {
        let (record, _) = self.record(key).ok()?;
        record.map(|record| record.duration)
    }

    /// Walks over the rows of a query until `each` returns `false`.
    pub(crate) fn walk(
        &self,
        sql: &str,
        parameters: impl Params,
        mut each: impl FnMut(&Row<'_>) -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(parameters)?;
        while let Some(row) = rows.next()? {
            if !each(row)? {
                break;
            }
        }
        Ok(())
    }

    /// Reads a row of `read.sql`'s columns.
    pub(crate) fn read(
        &self,
        row: &Row<'_>,
        prefix: &str,
        name: &str,
        now: Now,
    ) -> Result<Record, Failure> {
        let bad = |flaw: Flaw| Failure::Answer(self.bad_record(prefix, name, &flaw));
        let mut record = record::read(row, self.clock, now)?.map_err(bad)?;
        record.wanted = record::wanted(row)?.map_err(bad)?;
        Ok(record)
    }

    pub(crate) fn bad_record(&self, prefix: &str, name: &str, flaw: &str) -> ProviderError {
        error::bad_record(self.path, prefix, name, flaw)
    }

    /// Changes exactly one row.
    pub(crate) fn change(&self, sql: &str, parameters: impl Params) -> Result<(), Failure> {
        match self.delete(sql, parameters)? {
            1 => Ok(()),
            // Only a trigger that was added to the database can interfere here.
            rows => Err(Failure::Sqlite(rusqlite::Error::StatementChangedRows(rows))),
        }
    }

    /// Changes any number of rows, and returns how many.
    pub(crate) fn delete(&self, sql: &str, parameters: impl Params) -> Result<usize, Failure> {
        Ok(self.connection.prepare_cached(sql)?.execute(parameters)?)
    }
}

impl Failure {
    pub(crate) fn into_error(self, path: &Path) -> ProviderError {
        match self {
            Self::Sqlite(error) => error::provider_error(path, error),
            Self::Answer(error) => error,
        }
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}
