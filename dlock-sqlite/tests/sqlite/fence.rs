//! Storage that refuses a stale token: in the user's own transaction, with a table of fences or with
//! the token in the resource's own row.

mod processes;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use dlock_core::{FencingToken, Stale};
use dlock_sqlite::{
    SqliteProvider,
    fence::{Fence, FenceError, integer},
};
use dlock_testkit::storage::{self, Storage};
use rusqlite::{Connection, ErrorCode, OptionalExtension, Transaction, TransactionBehavior, ffi};

use crate::support::{PATIENCE, Scratch};

fn token(value: u64) -> FencingToken {
    FencingToken::new(value).unwrap()
}

/// An application's own database, in addition to the lock file.
fn database(scratch: &Scratch) -> PathBuf {
    scratch.directory().join("accounts.db")
}

fn connect(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(PATIENCE).unwrap();
    connection
}

/// A database with a resource in it: the value that was written last, and the number of writes.
fn prepared(path: &Path, journal: &str) -> Connection {
    let connection = connect(path);
    connection
        .pragma_update(None, "journal_mode", journal)
        .unwrap();
    connection
        .execute_batch(
            "CREATE TABLE resource (id INTEGER PRIMARY KEY, value INTEGER NOT NULL, writes INTEGER NOT NULL,
                 token INTEGER NOT NULL DEFAULT 0) STRICT;
             INSERT INTO resource VALUES (1, 0, 0, 0)",
        )
        .unwrap();
    fence().create_schema(&connection).unwrap();
    connection
}

fn fence() -> Fence {
    Fence::new("the \"fence\"; DROP TABLE resource; --")
}

fn immediate(connection: &mut Connection) -> Transaction<'_> {
    connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .unwrap()
}

/// A writer's work between check and commit.
fn change(transaction: &Transaction<'_>, value: u64) {
    let value = i64::try_from(value).unwrap();
    transaction
        .execute(
            "UPDATE resource SET value = ?1, writes = writes + 1 WHERE id = 1",
            [value],
        )
        .unwrap();
}

fn write(connection: &mut Connection, token: FencingToken, value: u64) -> Result<(), FenceError> {
    let transaction = immediate(connection);
    fence().check(&transaction, "resource 1", token)?;
    change(&transaction, value);
    transaction.commit()?;
    Ok(())
}

/// Value, number of writes, and the token that the fence remembers.
fn state(connection: &Connection) -> (u64, u64, Option<u64>) {
    let numbers: [Option<i64>; 3] = connection
        .query_row(
            "SELECT value, writes, (SELECT token FROM \"the \"\"fence\"\"; DROP TABLE resource; --\"
                 WHERE resource = 'resource 1') FROM resource",
            [],
            |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?]),
        )
        .unwrap();
    let [value, writes, highest] = numbers.map(|number| number.map(|n| u64::try_from(n).unwrap()));
    (value.unwrap(), writes.unwrap(), highest)
}

fn stale(result: Result<(), FenceError>) -> Result<(), Stale> {
    match result {
        Ok(()) => Ok(()),
        Err(FenceError::Stale(stale)) => Err(stale),
        Err(other) => panic!("{other:?}"),
    }
}

/// One writer of a story: its connection, and whether it keeps the token in the row itself.
struct Account {
    connection: Arc<Mutex<Connection>>,
    path: PathBuf,
    row: bool,
}

impl Account {
    fn new(path: &Path, row: bool) -> Self {
        Self {
            connection: Arc::new(Mutex::new(connect(path))),
            path: path.to_owned(),
            row,
        }
    }

    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> T + Send + 'static,
    ) -> T {
        let connection = Arc::clone(&self.connection);
        tokio::task::spawn_blocking(move || {
            work(&mut connection.lock().unwrap_or_else(PoisonError::into_inner))
        })
        .await
        .unwrap()
    }
}

#[async_trait]
impl Storage for Account {
    async fn another(&self) -> Self {
        Self::new(&self.path, self.row)
    }

    async fn write(&self, token: FencingToken, value: u64) -> Result<(), Stale> {
        if !self.row {
            return stale(
                self.with(move |connection| write(connection, token, value))
                    .await,
            );
        }
        // The one-line predicate of the module's page.
        self.with(move |connection| {
            let value = i64::try_from(value).unwrap();
            let changed = connection
                .execute(
                    "UPDATE resource SET value = ?1, writes = writes + 1, token = ?2 WHERE id = 1 AND token <= ?2",
                    [value, integer(token)],
                )
                .unwrap();
            if changed == 1 {
                return Ok(());
            }
            // It only grows, so a later read still shows the token that refused us, or a greater
            // one.
            let highest: i64 = connection
                .query_row("SELECT token FROM resource", [], |row| row.get(0))
                .unwrap();
            Err(Stale {
                presented: token,
                highest: u64::try_from(highest).ok().and_then(FencingToken::new).unwrap(),
            })
        })
        .await
    }

    async fn read(&self) -> Option<(u64, FencingToken)> {
        let highest = if self.row {
            "SELECT value, nullif(token, 0) FROM resource"
        } else {
            "SELECT value, (SELECT token FROM \"the \"\"fence\"\"; DROP TABLE resource; --\") FROM resource"
        };
        self.with(move |connection| {
            let (value, token): (i64, Option<i64>) = connection
                .query_row(highest, [], |row| Ok((row.get(0)?, row.get(1)?)))
                .unwrap();
            let number = |n: i64| u64::try_from(n).unwrap();
            Some((number(value), FencingToken::new(number(token?)).unwrap()))
        })
        .await
    }
}

/// Runs a story on each way to keep a token, in both kinds of journal; it gets a lock file too.
async fn everywhere<F: Future<Output = ()>>(story: impl Fn(PathBuf, Account) -> F) {
    for (journal, row) in [("wal", false), ("delete", false), ("wal", true)] {
        let scratch = Scratch::new();
        let path = database(&scratch);
        prepared(&path, journal);
        story(scratch.path(), Account::new(&path, row)).await;
    }
}

#[tokio::test]
async fn stale_token_is_refused_and_changes_nothing() {
    everywhere(|_locks, account| async move {
        storage::only_lower_tokens_are_refused(&account).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_with_random_tokens_leave_the_highest() {
    everywhere(|_locks, account| async move {
        storage::random_tokens_leave_the_highest(account).await;
    })
    .await;
}

#[tokio::test]
async fn writer_that_was_paused_past_its_lease_is_refused() {
    everywhere(|locks, account| async move {
        let provider = move || {
            let locks = locks.clone();
            async move { SqliteProvider::open(locks).unwrap() }
        };
        storage::paused_holder_is_refused(provider, &account).await;
    })
    .await;
}

#[tokio::test]
async fn refused_writer_raises_its_floor_and_gets_above() {
    everywhere(|locks, account| async move {
        let provider = || async { SqliteProvider::open(&locks).unwrap() };
        storage::refused_holder_gets_above(provider, &account).await;
    })
    .await;
}

#[test]
fn rolled_back_token_was_never_seen() {
    let scratch = Scratch::new();
    let mut connection = prepared(&database(&scratch), "wal");
    write(&mut connection, token(5), 5).unwrap();
    let transaction = immediate(&mut connection);
    fence().check(&transaction, "resource 1", token(9)).unwrap();
    drop(transaction);
    write(&mut connection, token(6), 6).unwrap();
    assert_eq!(state(&connection), (6, 2, Some(6)));
}

#[test]
fn deferred_transaction_that_read_before_somebody_wrote_admits_nothing() {
    let scratch = Scratch::new();
    let path = database(&scratch);
    let (mut deferred, mut other) = (prepared(&path, "wal"), connect(&path));
    let transaction = deferred.transaction().unwrap();
    let read: Option<i64> = transaction
        .query_row("SELECT value FROM resource", [], |row| row.get(0))
        .optional()
        .unwrap();
    assert_eq!(read, Some(0));
    write(&mut other, token(6), 6).unwrap();
    let refused = fence().check(&transaction, "resource 1", token(7));
    match refused {
        Err(FenceError::Store(error)) => {
            let error = error.sqlite_error().copied().unwrap();
            assert_eq!(error.code, ErrorCode::DatabaseBusy);
            assert_eq!(error.extended_code, ffi::SQLITE_BUSY_SNAPSHOT);
        }
        other => panic!("on a state that is over: {other:?}"),
    }
    drop(transaction);
    assert_eq!(state(&deferred), (6, 1, Some(6)));
    // A transaction that begins with the check sees the current state.
    let transaction = deferred.transaction().unwrap();
    let late = stale(fence().check(&transaction, "resource 1", token(5)));
    assert_eq!(late.unwrap_err().highest, token(6));
    fence().check(&transaction, "resource 1", token(7)).unwrap();
    change(&transaction, 7);
    transaction.commit().unwrap();
    assert_eq!(state(&deferred), (7, 2, Some(7)));
}

#[test]
fn transaction_that_is_over_admits_nothing() {
    let scratch = Scratch::new();
    let mut connection = prepared(&database(&scratch), "wal");
    let transaction = immediate(&mut connection);
    // SQLite itself does this when the disk is full.
    transaction.execute_batch("ROLLBACK").unwrap();
    let refused = fence().check(&transaction, "resource 1", token(7));
    assert!(matches!(refused, Err(FenceError::Store(_))), "{refused:?}");
    drop(transaction);
    assert_eq!(state(&connection), (0, 0, None));
}

#[test]
fn fence_of_this_connection_alone_is_not_taken_for_the_shared_one() {
    let scratch = Scratch::new();
    let path = database(&scratch);
    let (mut connection, mut other) = (prepared(&path, "wal"), connect(&path));
    write(&mut other, token(7), 7).unwrap();
    connection
        .execute_batch(
            "CREATE TEMPORARY TABLE \"the \"\"fence\"\"; DROP TABLE resource; --\"
                 (resource TEXT PRIMARY KEY, token INTEGER)",
        )
        .unwrap();
    let late = stale(write(&mut connection, token(6), 6));
    assert_eq!(late.unwrap_err().highest, token(7));
}

#[test]
fn fence_that_remembers_nonsense_admits_nothing() {
    let scratch = Scratch::new();
    let mut connection = prepared(&database(&scratch), "wal");
    write(&mut connection, token(5), 5).unwrap();
    connection
        .execute_batch("PRAGMA ignore_check_constraints = on")
        .unwrap();
    for nonsense in [0, -1, i64::MAX] {
        connection
            .execute(
                "UPDATE \"the \"\"fence\"\"; DROP TABLE resource; --\" SET token = ?1",
                [nonsense],
            )
            .unwrap();
        match write(&mut connection, token(9), 9) {
            Err(FenceError::Foreign { place }) => assert!(place.contains("resource 1"), "{place}"),
            other => panic!("{nonsense}: {other:?}"),
        }
        let value: i64 = connection
            .query_row("SELECT value FROM resource", [], |row| row.get(0))
            .unwrap();
        assert_eq!(value, 5);
    }
}
