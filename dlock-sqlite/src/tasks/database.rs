//! One blocking connection to the database of a queue, and the steps around a call on it. The sibling modules decide
//! the outcome of a call.

use std::{
    path::{self, Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use dlock_core::ProviderError;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Params, TransactionBehavior};

use crate::{
    clock::{Now, StoreClock},
    error::{OpenError, is_busy},
    file_system,
    files::FileId,
    gate::{self, Gate},
    open,
    store::{Failure, immediate},
};

/// The layout that this release makes and understands.
const LAYOUT: i64 = 1;

/// An open database.
#[derive(Debug)]
pub(super) struct Database {
    connection: Connection,
    path: PathBuf,
    gate: Arc<Gate>,
    clock: StoreClock,
    busy_timeout: Duration,
    has_log: bool,
}

/// The database in a transaction, with the clock.
#[derive(Clone, Copy)]
pub(super) struct Work<'w> {
    pub(super) connection: &'w Connection,
    pub(super) path: &'w Path,
    pub(super) clock: &'w StoreClock,
}

impl Database {
    /// The database of this file with the tables of a queue; without them `None`, unless `make`.
    pub(super) fn open(
        file: &Path,
        make: bool,
        busy_timeout: Duration,
    ) -> Result<Option<Self>, OpenError> {
        let clock = StoreClock::system().map_err(|source| OpenError::Clock { source })?;
        let file = path::absolute(file).map_err(|error| OpenError::other(file, error))?;
        let exists = file.exists();
        if !make && !exists {
            return Ok(None);
        }
        // Several machines have several clocks.
        file_system::check(&file, false)?;
        if !exists {
            open::make(&file)?;
        }
        let sqlite = |error| OpenError::from_sqlite(&file, error, busy_timeout);
        // No URI: a path is a path. Only `make` makes a file.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(&file, flags).map_err(sqlite)?;
        connection.busy_timeout(busy_timeout).map_err(sqlite)?;
        connection.set_prepared_statement_cache_capacity(64);
        let found = match layout(&connection).map_err(sqlite)? {
            Some(found) => found,
            None if make => set_up(&mut connection, busy_timeout).map_err(sqlite)?,
            None => return Ok(None),
        };
        if found != LAYOUT {
            return Err(OpenError::Newer {
                path: file,
                found,
                known: LAYOUT,
            });
        }
        let mode: String = connection
            .query_row("PRAGMA journal_mode", [], |row| row.get(0))
            .map_err(sqlite)?;
        Ok(Some(Self {
            has_log: mode == "wal",
            gate: Gate::of(FileId::of(&file).map_err(|error| OpenError::other(&file, error))?),
            connection,
            path: file,
            clock,
            busy_timeout,
        }))
    }

    /// A further connection to an open database, which writes nothing.
    ///
    /// # Errors
    /// `Fatal` if the file or its tables do not exist any more; `NotApplied` if it cannot be opened.
    pub(super) fn only_to_read(file: &Path) -> Result<Self, ProviderError> {
        const BUSY: Duration = Duration::from_secs(1);
        let database = Self::open(file, false, BUSY).map_err(|error| {
            ProviderError::not_applied("the database cannot be opened to read it")
                .with_source(error)
        })?;
        let database = database.ok_or_else(|| {
            ProviderError::fatal("the database of the tasks is not there any more")
        })?;
        let settled = database.connection.execute_batch("PRAGMA query_only = ON");
        settled.map_err(|error| database.error(error.into()))?;
        Ok(database)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) const fn clock(&self) -> &StoreClock {
        &self.clock
    }

    /// Whether readers and the writer do not wait for each other.
    pub(super) const fn has_log(&self) -> bool {
        self.has_log
    }

    /// Nothing is ever written over this connection, and it reads only a few pages.
    pub(super) fn only_look(&self) -> rusqlite::Result<()> {
        self.connection
            .execute_batch("PRAGMA query_only = ON; PRAGMA cache_size = -256")
    }

    /// SQLite's number of the state of the database, which another connection's commit changes; it means nothing to
    /// other connections. `None` if a connection locks out all readers.
    pub(super) fn version(&self) -> rusqlite::Result<Option<i64>> {
        let version = self
            .connection
            .prepare_cached("PRAGMA data_version")?
            .query_row([], |row| row.get(0));
        match version {
            Err(error) if is_busy(&error) => Ok(None),
            version => version.map(Some),
        }
    }

    /// Reads one state of the database.
    pub(super) fn read<T>(
        &self,
        work: impl FnOnce(Work<'_>) -> Result<T, Failure>,
    ) -> Result<T, ProviderError> {
        let look = || {
            let transaction = self.connection.unchecked_transaction()?;
            work(Work::new(&transaction, &self.path, &self.clock))
        };
        look().map_err(|failure| self.error(failure))
    }

    /// Runs one transaction. It waits for other writers at most the busy timeout, and at most an eighth of the lease
    /// that it is about, or half of that if calls of locks wait for the file. `lease` is called only if it waits.
    pub(super) fn write<T>(
        &self,
        lease: impl FnOnce(Work<'_>) -> Option<Duration>,
        work: impl FnOnce(Work<'_>) -> Result<T, Failure>,
    ) -> Result<T, ProviderError> {
        let run = || {
            let gives_way = self.gate.is_wanted();
            let at_once = (!gives_way).then(|| immediate(&self.connection, Duration::ZERO));
            let transaction = match at_once {
                Some(begun) if !begun.as_ref().is_err_and(is_busy) => begun,
                _ => {
                    let lease = lease(Work::new(&self.connection, &self.path, &self.clock));
                    let mut patience = lease.map_or(self.busy_timeout, |lease| {
                        (lease / 8).min(self.busy_timeout)
                    });
                    if gives_way {
                        patience /= 2;
                        self.gate.give_way(patience.min(gate::LONGEST));
                    }
                    immediate(&self.connection, patience)
                }
            };
            self.connection.busy_timeout(self.busy_timeout)?;
            let transaction = transaction?;
            let answer = work(Work::new(&transaction, &self.path, &self.clock))?;
            transaction.commit()?;
            Ok(answer)
        };
        let answer = run();
        self.gate.has_ended();
        answer.map_err(|failure| self.error(failure))
    }

    fn error(&self, failure: Failure) -> ProviderError {
        failure.into_error(&self.path)
    }
}

/// Makes the tables. Returns the layout that the database then has.
fn set_up(connection: &mut Connection, busy_timeout: Duration) -> rusqlite::Result<i64> {
    // With the log, readers and the writer do not wait for each other. A database remembers it, and one that is not
    // empty keeps its owner's choice.
    let things: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if things == 0 {
        open::use_log(connection, busy_timeout)?;
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    if layout(&transaction)?.is_none() {
        transaction.execute_batch(include_str!("../sql/tasks/schema.sql"))?;
    }
    transaction.commit()?;
    Ok(layout(connection)?.unwrap_or_default())
}

fn layout(connection: &Connection) -> rusqlite::Result<Option<i64>> {
    const TABLE: &str =
        "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'dlock_task_layout'";
    if connection
        .query_row(TABLE, [], |_| Ok(()))
        .optional()?
        .is_none()
    {
        return Ok(None);
    }
    connection
        .query_row("SELECT max(version) FROM dlock_task_layout", [], |row| {
            row.get(0)
        })
        .map(Some)
}

impl<'w> Work<'w> {
    pub(super) const fn new(
        connection: &'w Connection,
        path: &'w Path,
        clock: &'w StoreClock,
    ) -> Self {
        Self {
            connection,
            path,
            clock,
        }
    }

    /// The time, as the caller's transaction sees it: read after the wait for other writers.
    pub(super) fn now(&self) -> Now {
        self.clock.now()
    }

    /// Changes exactly one row.
    pub(super) fn change(&self, sql: &str, parameters: impl Params) -> Result<(), Failure> {
        match self.connection.prepare_cached(sql)?.execute(parameters)? {
            1 => Ok(()),
            // Only a trigger that was added to the database can interfere here.
            rows => Err(Failure::Sqlite(rusqlite::Error::StatementChangedRows(rows))),
        }
    }

    /// The one column of at most one row.
    pub(super) fn value<T: rusqlite::types::FromSql>(
        &self,
        sql: &str,
        parameters: impl Params,
    ) -> Result<Option<T>, Failure> {
        let mut statement = self.connection.prepare_cached(sql)?;
        Ok(statement
            .query_row(parameters, |row| row.get(0))
            .optional()?)
    }
}
