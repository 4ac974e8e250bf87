//! Hints follow from the contents of the database, written by any program.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::time::Duration;

use dlock_core::provider::{Wakeup, Wakeups};
use dlock_sqlite::{
    rusqlite::{Connection, TransactionBehavior},
    tasks::SqliteTasks,
};
use dlock_tasks::{Claim, Context, NewTask, Payload, TaskStore, Worker};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

#[derive(Serialize, Deserialize)]
struct Nothing;

impl Payload for Nothing {
    const KIND: &'static str = "nothing";
}

const PATIENCE: Duration = Duration::from_secs(30);
const TICK: Duration = Duration::from_millis(5);

fn shop() -> (TempDir, SqliteTasks) {
    let folder = tempfile::tempdir().unwrap();
    let tasks = SqliteTasks::open(folder.path().join("shop.db")).unwrap();
    (folder, tasks)
}

async fn listen(tasks: &SqliteTasks) -> Wakeups {
    let hints = tasks
        .watch(&Claim::new(NewTask::QUEUE, Uuid::nil(), PATIENCE))
        .await;
    hints.unwrap().unwrap()
}

async fn hears(stream: &mut Wakeups) {
    let heard = timeout(PATIENCE, stream.next()).await;
    assert_eq!(heard.unwrap(), Some(Wakeup::Everyone));
}

fn version(connection: &Connection) -> i64 {
    let version = "PRAGMA data_version";
    connection.query_row(version, [], |row| row.get(0)).unwrap()
}

/// In the user's own transaction, and by programs that know nothing of this store.
#[tokio::test]
async fn whatever_program_commits_a_task_is_heard() {
    let (_folder, tasks) = shop();
    let mut connection = Connection::open(tasks.path()).unwrap();
    let mut stream = listen(&tasks).await;
    let immediate = TransactionBehavior::Immediate;
    let begun = connection.transaction_with_behavior(immediate).unwrap();
    tasks
        .enqueue_in(&begun, &[NewTask::builder().kind("a").build()])
        .unwrap();
    let early = timeout(20 * TICK, stream.next()).await;
    assert!(early.is_err(), "{early:?}");
    begun.commit().unwrap();
    hears(&mut stream).await;

    connection.execute("DELETE FROM dlock_task", []).unwrap();
    let raw = "INSERT INTO dlock_task (queue, priority, run_at, attempt, max_attempts, kind, payload, errors, created,
        checkpoints, token) VALUES ('default', 5, 0, 0, 1, 'a', 'null', '[]', 0, 0, 0)";
    connection.execute(raw, []).unwrap();
    hears(&mut stream).await;
}

/// One thread watches for all of them, and ends with the last; the next stream starts another.
#[tokio::test]
async fn streams_come_and_go_and_each_hears_of_its_own_queue() {
    let (_folder, tasks) = shop();
    let name = |number: usize| format!("queue-{number}");
    let open = async |number| {
        let claim = Claim::new(name(number), Uuid::nil(), PATIENCE);
        tasks.watch(&claim).await.unwrap().unwrap()
    };
    for round in 0..20 {
        let mut streams = Vec::new();
        for number in 0..=round {
            streams.push(open(number).await);
        }
        let task = NewTask::builder().kind("a").queue(name(round)).build();
        tasks.enqueue(&[task]).await.unwrap();
        hears(&mut streams[round]).await;
        // Tasks of earlier rounds are there from the beginning.
        for earlier in &mut streams[..round] {
            hears(earlier).await;
        }
    }
    let mut idle = open(20).await;
    let heard = timeout(20 * TICK, idle.next()).await;
    assert!(heard.is_err(), "{heard:?}");
}

/// Users choose the journal of their database.
#[tokio::test]
async fn hints_need_no_write_ahead_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.db");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch("CREATE TABLE purchase (item TEXT)")
        .unwrap();
    let tasks = SqliteTasks::open(&path).unwrap();
    let mode = "PRAGMA journal_mode";
    let mode: String = connection.query_row(mode, [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "delete");
    let mut stream = listen(&tasks).await;
    for _ in 0..50 {
        let task = NewTask::builder().kind("a").build();
        tasks.enqueue(&[task]).await.unwrap();
        hears(&mut stream).await;
        connection.execute("DELETE FROM dlock_task", []).unwrap();
    }
}

/// It reads all the time, and writes nothing.
#[tokio::test]
async fn idle_worker_writes_nothing() {
    let (_folder, tasks) = shop();
    let connection = Connection::open(tasks.path()).unwrap();
    let mut others = listen(&tasks).await;
    let before = version(&connection);
    let worker = Worker::builder().store(tasks.clone()).poll(TICK).build();
    let worker = worker
        .unwrap()
        .handle(|_: Context, _: Nothing| async { Ok(()) });
    worker.run(sleep(Duration::from_millis(300))).await.unwrap();
    assert_eq!(version(&connection), before);
    let heard = timeout(TICK, others.next()).await;
    assert!(heard.is_err(), "{heard:?}");
}

/// The thread ends with its stream, and its connection closes like every other: the last one tidies
/// up.
#[tokio::test]
async fn nothing_looks_when_nobody_listens() {
    let (folder, tasks) = shop();
    let mut stream = listen(&tasks).await;
    let task = NewTask::builder().kind("a").build();
    tasks.enqueue(&[task]).await.unwrap();
    hears(&mut stream).await;
    let log = folder.path().join("shop.db-wal");
    assert!(log.exists());
    drop(tasks);
    drop(stream);
    let began = Instant::now();
    while log.exists() {
        assert!(began.elapsed() < PATIENCE, "somebody has it open");
        sleep(TICK).await;
    }
}

/// A database that is gone, or no longer has a queue.
#[tokio::test]
async fn stream_ends_where_nothing_can_be_seen() {
    let (_folder, tasks) = shop();
    let connection = Connection::open(tasks.path()).unwrap();
    let mut stream = listen(&tasks).await;
    connection
        .execute_batch("DROP TABLE dlock_task; DROP TABLE dlock_task_layout")
        .unwrap();
    let heard = timeout(PATIENCE, stream.next()).await;
    assert_eq!(heard.unwrap(), None);
    let mut stream = listen(&tasks).await;
    let heard = timeout(PATIENCE, stream.next()).await;
    assert_eq!(heard.unwrap(), None);
}
