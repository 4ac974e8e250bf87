//! A claim keeps the rules of a lock: the suite for locks, over the lease in a task's row.

use std::{
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use dlock_core::{
    ProviderError,
    provider::{Capabilities, Discipline},
};
use dlock_sqlite::{
    rusqlite::{Connection, Error, OptionalExtension},
    tasks::SqliteTasks,
};
use dlock_tasks::ClaimName;
use dlock_testkit::{
    Fixture,
    tasks::columns::{Columns, Seats},
};
use tempfile::TempDir;

/// The table, read without the store.
struct Table(Mutex<Connection>);

#[async_trait]
impl Seats for Table {
    async fn seat(&self, queue: &str) -> Result<Option<ClaimName>, ProviderError> {
        const SEAT: &str =
            "SELECT id || '/' || token FROM dlock_task WHERE queue = ?1 AND uuid IS NOT NULL";
        let look = || -> Result<Option<String>, Error> {
            let connection = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let mut look = connection.prepare_cached(SEAT)?;
            look.query_row([queue], |row| row.get(0)).optional()
        };
        let seat = look().map_err(|error| ProviderError::unknown(error.to_string()))?;
        Ok(seat.map(|seat| seat.parse().unwrap_or_else(|error| panic!("{error}"))))
    }
}

/// A folder that a shell removes when this process ends, in whatever way: a fixture is never dropped.
struct Locks {
    folder: PathBuf,
    _cleaner: Child,
}

impl Fixture for Locks {
    type Provider = Columns;

    const CAPABILITIES: Capabilities =
        Capabilities::new("sqlite", Discipline::StoreClock).batch(true);
    // An acquire is several calls here, and other tests keep the machine busy.
    const LEASE: Duration = Duration::from_millis(800);
    const UNANSWERED: u32 = 2;
    // The limit of a queue's name is 128.
    const NAME_BYTES: usize = 120;

    async fn start() -> Self {
        let folder = tempfile::tempdir().map(TempDir::keep);
        let folder = folder.unwrap_or_else(|error| panic!("no folder: {error}"));
        let cleaner = Command::new("sh")
            .args(["-c", "trap '' INT TERM HUP; cat; rm -rf \"$0\""])
            .arg(&folder)
            .stdin(Stdio::piped())
            .spawn();
        Self {
            folder,
            _cleaner: cleaner.unwrap_or_else(|error| panic!("no shell: {error}")),
        }
    }

    async fn provider(&self) -> Columns {
        let store = SqliteTasks::open(self.folder.join("shop.db"));
        let store = store.unwrap_or_else(|error| panic!("{error}"));
        let beside = Connection::open(store.path());
        let beside = beside.unwrap_or_else(|error| panic!("{error}"));
        Columns::new(store, Table(Mutex::new(beside)))
    }
}

dlock_testkit::task_columns!(Locks, ignore = "as over tasks in memory: .ci/run");
