//! The call that comes first while the database is busy: that of a worker that has a task.

#![expect(clippy::unwrap_used, reason = "a test panics where it fails")]

use std::{fmt::Debug, time::Duration};

use dlock_core::{
    Name,
    provider::{Release, Renew},
};
use dlock_sqlite::{rusqlite::Connection, tasks::SqliteTasks};
use dlock_tasks::{Claim, ClaimKey, Ending, Filter, How, NewTask, TaskStore};
use serde_json::json;
use uuid::Uuid;

const LEASE: Duration = Duration::from_secs(600);

/// The answer to a worker's call. It was made after the call that took its task away by force, while another program
/// was writing and another call waited for that. Meanwhile lists are answered.
#[expect(clippy::future_not_send, reason = "a test runs it where it is")]
async fn late<T: Debug>(call: impl AsyncFnOnce(&SqliteTasks, ClaimKey) -> T) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.db");
    let tasks = SqliteTasks::open(&path).unwrap();
    let task = || NewTask::builder().kind("invoice").build();
    tasks.enqueue(&[task()]).await.unwrap();
    let claim = Claim::new(NewTask::QUEUE, Uuid::new_v4(), LEASE);
    let key = tasks.claim(&claim).await.unwrap().tasks.remove(0).key;
    let more = [task()];
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (added, cancelled, answer, ()) = tokio::join!(
        biased;
        tasks.enqueue(&more),
        tasks.cancel(key.id, true),
        call(&tasks, key),
        async {
            assert_eq!(tasks.list(&Filter::default()).await.unwrap().len(), 1);
            assert_eq!(tasks.counts().await.unwrap().len(), 1);
            assert!(tasks.task(key.id).await.unwrap().is_some());
            writer.execute_batch("COMMIT").unwrap();
        },
    );
    added.unwrap();
    cancelled.unwrap();
    format!("{answer:?}")
}

#[tokio::test]
async fn calls_of_workers_with_a_task_come_before_those_that_wait_longer() {
    let name = |key: ClaimKey| Name::new(key.name().to_string()).unwrap();
    let beat = late(async |tasks, key| {
        let renewal = Renew::new(name(key), key.uuid, 1);
        tasks.claims().renew(&renewal).await
    });
    assert_eq!(beat.await, "Ok(Renewed { asked: false })");
    let kept = late(async |tasks, key| tasks.checkpoint(&key, 1, &json!(1)).await);
    assert_eq!(kept.await, "Ok(Kept)");
    let ended = late(async |tasks, key| {
        let ending = Ending::new(key, How::Complete(json!(1)));
        tasks.finish(&[ending]).await
    });
    assert_eq!(ended.await, "Ok([Own(Succeeded)])");
    let released = late(async |tasks, key| {
        let release = Release::new(name(key), key.uuid, Some(key.token));
        tasks.claims().release(&release).await
    });
    assert_eq!(released.await, "Ok(Released { wanted: false })");
}
