//! Statements use the indexes, so a claim costs the same however many tasks wait.

#![expect(clippy::unwrap_used, reason = "a test panics where it fails")]

use std::time::Duration;

use dlock_sqlite::rusqlite::StatementStatus;
use dlock_tasks::{Claim, Ending, How, NewTask, TaskStore as _};
use uuid::Uuid;

use crate::own::shop;

/// However many wait in a lane, whether it is busy or free, and however its earlier tasks ended.
#[tokio::test]
async fn claim_costs_the_same_however_many_wait_in_a_lane() {
    let (few, many) = (
        steps_of_a_full_lane(10).await,
        steps_of_a_full_lane(3000).await,
    );
    let same = many.iter().zip(&few).all(|(many, few)| *many <= few * 2);
    assert!(same, "steps with few and with many: {few:?}, {many:?}");
}

/// How many steps of SQLite's machine it takes to find the tasks of a claim and those they wait for: in a busy
/// lane, in a free one, and in one of whose tasks some have failed.
#[expect(clippy::future_not_send, reason = "its test awaits it where it is")]
async fn steps_of_a_full_lane(waiting: usize) -> [i32; 3] {
    let (_folder, connection, tasks) = shop();
    let task = NewTask::builder().kind("a").lane("l").build();
    tasks.enqueue(&vec![task; waiting + 1]).await.unwrap();
    let claim = || Claim::new(NewTask::QUEUE, Uuid::new_v4(), Duration::from_secs(600));
    let take = async || tasks.claim(&claim()).await.unwrap().tasks.remove(0).key;
    let steps = || {
        let far = i64::MAX;
        let mut due = connection
            .prepare(include_str!("../../src/sql/tasks/due.sql"))
            .unwrap();
        let mut rows = due.query((NewTask::QUEUE, 5, far, None::<String>)).unwrap();
        while rows.next().unwrap().is_some() {}
        drop(rows);
        let mut waits = connection
            .prepare(include_str!("../../src/sql/tasks/waits.sql"))
            .unwrap();
        let mut rows = waits
            .query((NewTask::QUEUE, "l", far, true, 9, far, far))
            .unwrap();
        while rows.next().unwrap().is_some() {}
        drop(rows);
        due.get_status(StatementStatus::VmStep) + waits.get_status(StatementStatus::VmStep)
    };
    let running = take().await;
    let busy = steps();
    let end = async |key, how| tasks.finish(&[Ending::new(key, how)]).await.unwrap();
    end(running, How::Complete(serde_json::Value::Null)).await;
    let free = steps();
    for _ in 0..waiting.min(50) {
        let error = "x".to_owned();
        let retry_in = Duration::ZERO;
        end(take().await, How::Fail { error, retry_in }).await;
    }
    take().await;
    [busy, free, steps()]
}

/// Statements that run all the time use the indexes.
#[test]
fn claims_endings_and_heartbeats_go_by_index() {
    let (_folder, connection, _) = shop();
    for (sql, index) in [
        (
            include_str!("../../src/sql/tasks/due.sql"),
            "dlock_task_next (queue=? AND priority=? AND run_at<?)",
        ),
        (
            include_str!("../../src/sql/tasks/next.sql"),
            "dlock_task_next (queue=? AND priority=? AND run_at>?)",
        ),
        (
            include_str!("../../src/sql/tasks/is_early.sql"),
            "dlock_task_at_once (queue=? AND run_at>?)",
        ),
        (
            include_str!("../../src/sql/tasks/early.sql"),
            "dlock_task_at_once (queue=? AND run_at>?)",
        ),
        (
            include_str!("../../src/sql/tasks/claimed.sql"),
            "dlock_task_claim (uuid=?)",
        ),
        (
            include_str!("../../src/sql/tasks/by_key.sql"),
            "dlock_task_key (queue=? AND key=?)",
        ),
        (
            include_str!("../../src/sql/tasks/one.sql"),
            "INTEGER PRIMARY KEY (rowid=?)",
        ),
        (
            include_str!("../../src/sql/tasks/claim.sql"),
            "INTEGER PRIMARY KEY (rowid=?)",
        ),
        (
            include_str!("../../src/sql/tasks/beat.sql"),
            "INTEGER PRIMARY KEY (rowid=?)",
        ),
        (
            include_str!("../../src/sql/tasks/prune.sql"),
            "dlock_task_done_ended (state=? AND ended<?)",
        ),
    ] {
        let mut explained = connection
            .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
            .unwrap();
        let mut rows = explained.raw_query();
        let mut plan = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            plan.push(row.get::<_, String>(3).unwrap());
        }
        assert!(
            plan.iter().any(|step| step.contains(index)),
            "{plan:?}: {sql}"
        );
        let sorts = plan.iter().any(|step| step.contains("TEMP B-TREE"));
        assert!(!sorts, "{plan:?}: {sql}");
    }
}
