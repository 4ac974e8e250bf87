//! The provider passes the conformance suite, on one file in a scratch directory.

use std::{
    io,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use dlock_core::{
    Name,
    provider::{Admin, Capabilities, Discipline},
};
use dlock_sqlite::SqliteProvider;
use dlock_testkit::Fixture;
use rusqlite::Connection;
use tempfile::TempDir;

struct Sqlite {
    directory: PathBuf,
    first: SqliteProvider,
    _cleaner: Child,
}

impl Sqlite {
    /// The file as SQLite shows it to any program.
    fn raw(&self) -> rusqlite::Result<Connection> {
        let raw = Connection::open(self.first.path())?;
        raw.busy_timeout(Self::LIMIT)?;
        Ok(raw)
    }

    fn open(directory: &Path) -> SqliteProvider {
        SqliteProvider::open(directory.join("locks.db")).unwrap_or_else(|error| panic!("{error}"))
    }
}

/// Removes the directory when this process ends, in whatever way: the pipe to the shell closes
/// then. (A fixture is never dropped.)
fn remove_at_the_end(directory: &Path) -> io::Result<Child> {
    Command::new("sh")
        .args(["-c", "trap '' INT TERM HUP; cat; rm -rf \"$0\""])
        .arg(directory)
        .stdin(Stdio::piped())
        .spawn()
}

impl Fixture for Sqlite {
    type Provider = SqliteProvider;

    const CAPABILITIES: Capabilities = Capabilities::new("sqlite", Discipline::StoreClock)
        .closing(true)
        .marks(true)
        .watch(true)
        .batch(true);

    const BLOCKS: bool = true;
    // Other tests keep the machine busy.
    const UNANSWERED: u32 = 2;

    async fn start() -> Self {
        let started = tempfile::tempdir()
            .map(TempDir::keep)
            .and_then(|directory| {
                let cleaner = remove_at_the_end(&directory)?;
                Ok((directory, cleaner))
            });
        match started {
            Ok((directory, cleaner)) => Self {
                first: Self::open(&directory),
                directory,
                _cleaner: cleaner,
            },
            Err(error) => panic!("no scratch directory: {error}"),
        }
    }

    async fn provider(&self) -> SqliteProvider {
        Self::open(&self.directory)
    }

    fn admin(provider: &SqliteProvider) -> Option<Arc<dyn Admin>> {
        Some(Arc::new(provider.clone()))
    }

    async fn prefixed(&self, prefix: &str) -> Option<SqliteProvider> {
        self.first.with_prefix(prefix).ok()
    }

    async fn age(&self, name: &Name, by: Duration) -> bool {
        let nanos = i64::try_from(by.as_nanos()).unwrap_or(i64::MAX);
        let aged = self.raw().and_then(|raw| {
            raw.execute(
                "UPDATE lock SET expiry = expiry - ?1 WHERE prefix = '' AND name = ?2",
                (nanos, name.as_str()),
            )
        });
        matches!(aged, Ok(1))
    }
}

dlock_testkit::conformance!(Sqlite);
