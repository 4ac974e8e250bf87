//! A queue that a former release has made, with tasks in it. What is in the folder of schemas stays as it is; a layout
//! that changes is added to it.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::time::{Duration, UNIX_EPOCH};

use dlock_core::{
    FencingToken, Name,
    provider::{Renew, RenewOutcome},
};
use dlock_sqlite::{rusqlite::Connection, tasks::SqliteTasks};
use dlock_tasks::{
    Claim, ClaimKey, ClaimedTask, Ended, Ending, Enqueued, How, NewTask, Served, State, TaskId,
    TaskStore,
};
use serde_json::json;
use tempfile::TempDir;
use uuid::Uuid;

const LONG: Duration = Duration::from_secs(600);
const NEWEST: &str = include_str!("../schemas/tasks-1.sql");
const ROWS: &str = include_str!("../schemas/tasks-1-rows.sql");

/// A layout without its comments.
fn essence(sql: &str) -> Vec<&str> {
    let lines = sql.lines().map(str::trim);
    lines.filter(|line| !line.starts_with("--")).collect()
}

#[test]
fn layout_of_today_is_the_newest_in_the_folder() {
    assert!(
        essence(include_str!("../../src/sql/tasks/schema.sql")) == essence(NEWEST),
        "the layout has changed: add it to tests/schemas, and what becomes of tasks to these tests"
    );
}

fn id(number: i64) -> TaskId {
    TaskId::new(number).unwrap()
}

/// The claim of a worker that began with the former release.
fn key(number: i64, uuid: &str, token: u64) -> ClaimKey {
    let token = FencingToken::new(token).unwrap();
    ClaimKey::new(id(number), uuid.parse().unwrap(), token)
}

async fn claimed(tasks: &SqliteTasks, queue: &str) -> Vec<ClaimedTask> {
    let claim = Claim::new(queue, Uuid::new_v4(), LONG).max(9);
    tasks.claim(&claim).await.unwrap().tasks
}

fn numbers(claimed: &[ClaimedTask]) -> Vec<i64> {
    claimed.iter().map(|task| task.key.id.get()).collect()
}

async fn complete(tasks: &SqliteTasks, key: ClaimKey) -> Ended {
    let ending = Ending::new(key, How::Complete(json!("done")));
    tasks.finish(&[ending]).await.unwrap()[0]
}

/// A file of layout 1 with its tasks, whose leases of this boot go on for long.
async fn of_layout_1() -> (TempDir, SqliteTasks) {
    // What a worker of today writes: which boot it is, and when the lease ends.
    let folder = tempfile::tempdir().unwrap();
    let today = SqliteTasks::open(folder.path().join("today.db")).unwrap();
    let task = NewTask::builder().kind("a").build();
    today.enqueue(&[task]).await.unwrap();
    claimed(&today, NewTask::QUEUE).await;
    let row = Connection::open(today.path()).unwrap().query_row(
        "SELECT boot, expiry FROM dlock_task",
        [],
        |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)),
    );
    let (boot, expiry) = row.unwrap();

    let file = folder.path().join("former.db");
    let former = Connection::open(&file).unwrap();
    former.execute_batch(NEWEST).unwrap();
    let rows = ROWS
        .replace("?1", &format!("'{boot}'"))
        .replace("?2", &expiry.to_string());
    former.execute_batch(&rows).unwrap();
    (folder, SqliteTasks::open(file).unwrap())
}

#[tokio::test]
async fn workers_of_the_former_release_keep_their_tasks() {
    let (_folder, tasks) = of_layout_1().await;
    let running = key(
        1,
        "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
        1_795_253_490_374_226,
    );
    let name = Name::new(running.name().to_string()).unwrap();
    let renew = Renew::new(name, running.uuid, 5);
    let renewed = tasks.claims().renew(&renew).await.unwrap();
    assert_eq!(renewed, RenewOutcome::Renewed { asked: false });

    // Of the others nobody has one but the worker that is gone.
    let taken = claimed(&tasks, NewTask::QUEUE).await;
    assert_eq!(numbers(&taken), [2]);
    assert_eq!(taken[0].key.token.get(), 9_007_199_254_740_001);
    assert_eq!(taken[0].attempt, 2);
    assert_eq!(taken[0].checkpoint, Some(json!({"page": 8})));
    let late = key(
        2,
        "3f2504e0-4f89-41d3-9a0c-0305e82c3302",
        9_007_199_254_740_000,
    );
    let ended = complete(&tasks, late).await;
    assert_eq!(ended, Ended::Lost(Some(State::Running)));

    assert_eq!(
        complete(&tasks, running).await,
        Ended::Own(State::Succeeded)
    );
    assert_eq!(numbers(&claimed(&tasks, NewTask::QUEUE).await), [3]);
}

#[tokio::test]
async fn tasks_limits_pauses_and_schedules_are_as_they_were() {
    let (_folder, tasks) = of_layout_1().await;
    let again = NewTask::builder().kind("invoice").key("order-17").build();
    let known = tasks.enqueue(&[again]).await.unwrap();
    assert_eq!(known, [Enqueued::Duplicate(id(1))]);
    let new = NewTask::builder().kind("b").queue("other").build();
    let new = tasks.enqueue(&[new]).await.unwrap();
    assert_eq!(new, [Enqueued::New(id(10))]);

    assert_eq!(numbers(&claimed(&tasks, "mail").await), [0_i64; 0]);
    tasks.set_paused("mail", false).await.unwrap();
    assert_eq!(numbers(&claimed(&tasks, "mail").await), [5]);

    assert_eq!(numbers(&claimed(&tasks, "image").await), [0_i64; 0]);
    let running = key(
        6,
        "3f2504e0-4f89-41d3-9a0c-0305e82c3303",
        1_795_253_490_374_227,
    );
    assert_eq!(
        complete(&tasks, running).await,
        Ended::Own(State::Succeeded)
    );
    assert_eq!(numbers(&claimed(&tasks, "image").await), [7]);

    let nightly = UNIX_EPOCH + Duration::from_secs(1_795_219_200);
    let task = NewTask::builder().kind("report").build();
    let served = tasks.enqueue_periodic("nightly", nightly, &task).await;
    assert_eq!(served.unwrap(), Served::Before);

    let succeeded = tasks.task(id(8)).await.unwrap().unwrap();
    assert_eq!(
        (succeeded.state, succeeded.output),
        (State::Succeeded, Some(json!("sent")))
    );
    let dead = tasks.task(id(9)).await.unwrap().unwrap();
    assert_eq!((dead.state, dead.errors.len()), (State::Dead, 2));
    let revived = tasks.retry(id(9)).await.unwrap();
    assert_eq!(revived, Some(Enqueued::New(id(9))));
    let taken = claimed(&tasks, NewTask::QUEUE).await;
    assert_eq!(numbers(&taken), [2, 9]);
    assert_eq!(taken[1].key.token.get(), 9_007_199_254_740_002);
}
