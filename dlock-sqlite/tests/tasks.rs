//! The queue in a database of the user's: the suite for stores of tasks, and what is SQLite's own.

use dlock_sqlite::tasks::SqliteTasks;
use dlock_testkit::tasks::TaskFixture;
use tempfile::TempDir;

struct Sqlite(TempDir);

impl TaskFixture for Sqlite {
    type Store = SqliteTasks;

    async fn start() -> Self {
        Self(tempfile::tempdir().unwrap_or_else(|error| panic!("no folder: {error}")))
    }

    async fn store(&self) -> SqliteTasks {
        let path = self.0.path().join("shop.db");
        SqliteTasks::open(path).unwrap_or_else(|error| panic!("{error}"))
    }
}

mod suite {
    dlock_testkit::task_store!(super::Sqlite);
}
