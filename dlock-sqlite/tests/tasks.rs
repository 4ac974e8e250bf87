//! The queue in a user's database: the suite for stores of tasks, and SQLite's own cases.

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

#[path = "tasks/columns.rs"]
mod columns;
#[path = "tasks/hints.rs"]
mod hints;
#[path = "tasks/own.rs"]
mod own;
#[path = "tasks/plans.rs"]
mod plans;
#[path = "tasks/rows.rs"]
mod rows;
#[path = "tasks/turns.rs"]
mod turns;
