//! The promises of only this store, one for each of its own ways to fail.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::{
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use dlock_core::{ErrorKind, FencingToken};
use dlock_sqlite::{
    OpenError,
    rusqlite::{Connection, Transaction, TransactionBehavior},
    tasks::{SqliteTasks, TransactionError},
};
use dlock_tasks::{
    Claim, ClaimKey, ClaimedTask, Ended, Ending, Enqueued, How, NewTask, State, TaskStore,
};
use serde_json::json;
use tempfile::TempDir;
use uuid::Uuid;

const LONG: Duration = Duration::from_secs(600);

pub(crate) fn shop() -> (TempDir, Connection, SqliteTasks) {
    let folder = tempfile::tempdir().unwrap();
    let connection = Connection::open(folder.path().join("shop.db")).unwrap();
    let table = "CREATE TABLE purchase (item TEXT NOT NULL) STRICT";
    connection.execute_batch(table).unwrap();
    let tasks = SqliteTasks::open(folder.path().join("shop.db")).unwrap();
    (folder, connection, tasks)
}

fn task() -> NewTask {
    NewTask::builder().kind("invoice").build()
}

async fn take(tasks: &SqliteTasks, lease: Duration) -> ClaimedTask {
    let claim = Claim::new(NewTask::QUEUE, Uuid::new_v4(), lease);
    tasks.claim(&claim).await.unwrap().tasks.remove(0)
}

fn begin(connection: &mut Connection) -> Transaction<'_> {
    let begun = connection.transaction_with_behavior(TransactionBehavior::Immediate);
    begun.unwrap()
}

fn purchases(connection: &Connection) -> i64 {
    let count = "SELECT count(*) FROM purchase";
    connection.query_row(count, [], |row| row.get(0)).unwrap()
}

/// Tasks and data are both kept, or neither.
#[tokio::test]
async fn tasks_are_added_and_completed_with_the_data_or_not_at_all() {
    let (_folder, mut connection, tasks) = shop();
    let transaction = begin(&mut connection);
    let buy = "INSERT INTO purchase (item) VALUES ('book')";
    transaction.execute(buy, []).unwrap();
    tasks.enqueue_in(&transaction, &[task()]).unwrap();
    transaction.rollback().unwrap();
    assert!(tasks.counts().await.unwrap().is_empty());

    let transaction = begin(&mut connection);
    transaction.execute(buy, []).unwrap();
    let added = tasks.enqueue_in(&transaction, &[task()]).unwrap();
    transaction.commit().unwrap();
    let [Enqueued::New(id)] = added[..] else {
        panic!("{added:?}")
    };

    let key = take(&tasks, LONG).await.key;
    let transaction = begin(&mut connection);
    tasks
        .checkpoint_in(&transaction, &key, 1, &json!("half"))
        .unwrap();
    tasks.complete_in(&transaction, &key, json!(1)).unwrap();
    transaction.rollback().unwrap();
    let seen = tasks.task(id).await.unwrap().unwrap();
    assert_eq!((seen.state, seen.checkpoint), (State::Running, None));

    let transaction = begin(&mut connection);
    tasks.complete_in(&transaction, &key, json!(1)).unwrap();
    // A repeat in a later transaction answers as the first.
    transaction.commit().unwrap();
    let transaction = begin(&mut connection);
    tasks.complete_in(&transaction, &key, json!(2)).unwrap();
    transaction.commit().unwrap();
    assert_eq!(
        tasks.task(id).await.unwrap().unwrap().output,
        Some(json!(1))
    );
    assert_eq!(purchases(&connection), 1);
}

/// No work of a worker that is too late is kept.
#[tokio::test]
async fn work_of_a_stale_claim_cannot_be_committed_with_its_ending() {
    let (_folder, mut connection, tasks) = shop();
    tasks.enqueue(&[task()]).await.unwrap();
    let key = take(&tasks, LONG).await.key;
    tasks
        .finish(&[Ending::new(key, How::GiveBack)])
        .await
        .unwrap();
    let newer = take(&tasks, LONG).await.key;
    let transaction = connection.transaction().unwrap();
    transaction
        .execute("INSERT INTO purchase (item) VALUES ('book')", [])
        .unwrap();
    for refused in [
        tasks.complete_in(&transaction, &key, json!(1)),
        tasks.checkpoint_in(&transaction, &key, 1, &json!(1)),
    ] {
        let Err(TransactionError::Lost(error)) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(error.state, Some(State::Running));
        assert!(
            error
                .to_string()
                .contains("must not be kept: the task is running"),
            "{error}"
        );
    }
    drop(transaction);
    assert_eq!(purchases(&connection), 0);
    let own = tasks
        .finish(&[Ending::new(newer, How::Complete(json!(2)))])
        .await
        .unwrap();
    assert_eq!(own, [Ended::Own(State::Succeeded)]);
    // A released task is not completed, whichever claim tries.
    tasks.enqueue(&[task()]).await.unwrap();
    let key = take(&tasks, LONG).await.key;
    tasks
        .finish(&[Ending::new(key, How::GiveBack)])
        .await
        .unwrap();
    let transaction = connection.transaction().unwrap();
    let refused = tasks.complete_in(&transaction, &key, json!(1));
    assert!(
        matches!(refused, Err(TransactionError::Lost { .. })),
        "{refused:?}"
    );
}

/// T1 on a wall clock that went back by years, and across a retry.
#[tokio::test]
async fn tokens_grow_whatever_the_wall_clock_does() {
    let (_folder, connection, tasks) = shop();
    tasks.enqueue(&[task()]).await.unwrap();
    let far = FencingToken::MAX.get() - 10;
    let jump = format!("UPDATE dlock_task SET token = {far}");
    assert_eq!(connection.execute(&jump, []).unwrap(), 1);
    let key = take(&tasks, LONG).await.key;
    assert_eq!(key.token.get(), far + 1);
    let discard = How::Discard { error: "x".into() };
    tasks.finish(&[Ending::new(key, discard)]).await.unwrap();
    tasks.retry(key.id).await.unwrap();
    assert_eq!(take(&tasks, LONG).await.key.token.get(), far + 2);
}

#[tokio::test]
async fn row_that_was_damaged_by_hand_keeps_nobody_from_the_others() {
    let (_folder, connection, tasks) = shop();
    let added = tasks.enqueue(&[task(), task()]).await.unwrap();
    let damage = "UPDATE dlock_task SET uuid = 'not-a-uuid-but-of-the-same-length-36', boot = '?' WHERE id = ?";
    let bad = added[0].id();
    assert_eq!(connection.execute(damage, [bad.get()]).unwrap(), 1);
    assert_eq!(take(&tasks, LONG).await.key.id, added[1].id());
    let error = tasks.task(bad).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal);
    assert!(error.to_string().contains("task 1 in"), "{error}");
    assert!(error.to_string().contains("`dlock_task`"), "{error}");
}

/// An idle worker only reads.
#[tokio::test]
async fn idle_worker_takes_no_write_lock() {
    let (_folder, connection, tasks) = shop();
    tasks.enqueue(&[task()]).await.unwrap();
    take(&tasks, LONG).await;
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    let claim = Claim::new(NewTask::QUEUE, Uuid::new_v4(), LONG);
    let claimed = tasks.claim(&claim).await.unwrap();
    assert!(claimed.tasks.is_empty() && claimed.next > Some(LONG / 2));
}

#[test]
fn tables_of_a_newer_release_are_refused() {
    let (folder, connection, _) = shop();
    connection
        .execute_batch("UPDATE dlock_task_layout SET version = 2")
        .unwrap();
    let refused = SqliteTasks::open(folder.path().join("shop.db"));
    assert!(
        matches!(
            refused,
            Err(OpenError::Newer {
                found: 2,
                known: 1,
                ..
            })
        ),
        "{refused:?}"
    );
}

#[test]
fn programs_that_look_make_nothing() {
    let (folder, connection, _) = shop();
    let elsewhere = folder.path().join("other.db");
    assert!(SqliteTasks::find(&elsewhere).unwrap().is_none());
    assert!(!elsewhere.exists());
    let other = Connection::open(&elsewhere).unwrap();
    other
        .execute_batch("CREATE TABLE a (b INTEGER) STRICT")
        .unwrap();
    assert!(SqliteTasks::find(&elsewhere).unwrap().is_none());
    let tables = "SELECT count(*) FROM sqlite_schema";
    assert_eq!(
        other
            .query_row(tables, [], |row| row.get::<_, i64>(0))
            .unwrap(),
        1
    );
    drop(connection);
    assert!(
        SqliteTasks::find(folder.path().join("shop.db"))
            .unwrap()
            .is_some()
    );
}

/// The log mode stays the one that its owner has chosen, and its tables are untouched.
#[tokio::test]
async fn database_of_somebody_keeps_its_settings() {
    let (_folder, connection, tasks) = shop();
    let mode: String = connection
        .query_row("PRAGMA journal_mode", [], |row| row.get(0))
        .unwrap();
    assert_eq!(mode, "delete");
    tasks.enqueue(&[task()]).await.unwrap();
    let id: i64 = connection
        .query_row("PRAGMA application_id", [], |row| row.get(0))
        .unwrap();
    assert_eq!(id, 0);
}

/// The task of a worker that is killed passes to another worker when its lease ends, and not before.
#[tokio::test]
async fn task_of_a_killed_process_is_taken_when_its_lease_ends() {
    const LEASE: Duration = Duration::from_secs(1);
    const FILE: &str = "DLOCK_TASKS_TEST_FILE";
    if let Ok(file) = std::env::var(FILE) {
        let tasks = SqliteTasks::open(file).unwrap();
        let key = take(&tasks, LEASE).await.key;
        eprintln!("claimed {}", key.name());
        std::future::pending::<()>().await;
    }
    let (folder, _, tasks) = shop();
    tasks.enqueue(&[task()]).await.unwrap();
    let began = tokio::time::Instant::now();
    let mut worker = Command::new(std::env::current_exe().unwrap())
        .args([
            "own::task_of_a_killed_process_is_taken_when_its_lease_ends",
            "--exact",
            "--nocapture",
        ])
        .env(FILE, folder.path().join("shop.db"))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = std::io::BufReader::new(worker.stderr.take().unwrap());
    let claimed = std::io::BufRead::lines(lines)
        .map_while(Result::ok)
        .find(|line| line.starts_with("claimed"))
        .unwrap();
    worker.kill().unwrap();
    worker.wait().unwrap();
    let first: u64 = claimed.rsplit('/').next().unwrap().parse().unwrap();
    let second = loop {
        let claim = Claim::new(NewTask::QUEUE, Uuid::new_v4(), LONG);
        if let Some(task) = tasks.claim(&claim).await.unwrap().tasks.pop() {
            break task;
        }
        assert!(began.elapsed() < LONG, "its lease does not end");
        tokio::time::sleep(LEASE / 100).await;
    };
    assert!(began.elapsed() >= LEASE, "before the lease was over");
    assert!(second.key.token.get() > first && second.attempt == 2);
    let late = ClaimKey::new(
        second.key.id,
        second.key.uuid,
        FencingToken::new(first).unwrap(),
    );
    let ended = tasks
        .finish(&[Ending::new(late, How::Complete(json!(1)))])
        .await
        .unwrap();
    assert_eq!(ended, [Ended::Lost(Some(State::Running))]);
}

/// Until it reads no more, the file cannot be switched to the write-ahead log.
#[test]
fn new_file_that_somebody_reads_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.db");
    let reader = Connection::open(&path).unwrap();
    reader
        .execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema")
        .unwrap();
    thread::scope(|scope| {
        let opened = scope.spawn(|| SqliteTasks::open(&path).map(drop));
        thread::sleep(Duration::from_millis(500));
        reader.execute_batch("COMMIT").unwrap();
        opened.join().unwrap().unwrap();
    });
}
