//! A queue that a former release has made, with tasks in it. What is in the folder of schemas stays as it is; a schema
//! that changes is added to it.

use std::time::{Duration, UNIX_EPOCH};

use dlock_core::{
    FencingToken, Name,
    provider::{Renew, RenewOutcome},
};
use dlock_postgres::tasks::PostgresTasks;
use dlock_tasks::{
    Claim, ClaimKey, ClaimedTask, Ended, Enqueued, How, NewTask, Served, State, TaskId, TaskStore,
};
use serde_json::json;
use uuid::Uuid;

use crate::{LONG, Postgres, finish, pool, server, task};

const FORMS: [&str; 4] = [
    include_str!("../schemas/tasks-1.sql"),
    include_str!("../schemas/tasks-2.sql"),
    include_str!("../schemas/tasks-3.sql"),
    include_str!("../schemas/tasks-4.sql"),
];
const ROWS: &str = include_str!("../schemas/tasks-1-rows.sql");

/// A schema without its comments.
fn essence(sql: &str) -> Vec<&str> {
    let lines = sql.lines();
    let lines = lines.map(|line| line.split("--").next().unwrap_or_default().trim());
    lines.filter(|line| !line.is_empty()).collect()
}

#[tokio::test]
async fn schema_of_today_is_the_newest_in_the_folder() {
    let tasks = PostgresTasks::builder().pool(pool(server().await, 1));
    let tasks = tasks.schema("dlock").build().unwrap();
    assert!(
        essence(&tasks.schema_sql()) == essence(FORMS[FORMS.len() - 1]),
        "the schema has changed: add it to tests/schemas, and what becomes of tasks to these tests"
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

async fn claimed(tasks: &PostgresTasks, queue: &str) -> Vec<ClaimedTask> {
    let claim = Claim::new(queue, Uuid::new_v4(), LONG).max(9);
    tasks.claim(&claim).await.unwrap().tasks
}

fn numbers(claimed: &[ClaimedTask]) -> Vec<i64> {
    claimed.iter().map(|task| task.key.id.get()).collect()
}

async fn complete(tasks: &PostgresTasks, key: ClaimKey) -> Ended {
    finish(tasks, key, How::Complete(json!("done"))).await
}

/// A queue of this schema with its tasks.
async fn former(form: &str) -> Postgres {
    let queue = Postgres {
        schema: format!("test-{}", Uuid::new_v4().simple()),
    };
    let client = queue.client().await;
    for sql in [form, ROWS] {
        let sql = sql.replace("\"dlock\"", &format!("\"{}\"", queue.schema));
        client.batch_execute(&sql).await.unwrap();
    }
    queue
}

/// One that a process of today has set up as its own.
async fn made_by(form: &str) -> PostgresTasks {
    let tasks = former(form).await.tasks(2).await;
    tasks.create_schema().await.unwrap();
    tasks
}

/// What claims of number 8 and before were made for.
async fn has_former_index(queue: &Postgres) -> bool {
    let there = "SELECT to_regclass('dlock_task_next') IS NOT NULL";
    let row = queue.client().await.query_one(there, &[]).await;
    row.unwrap().get(0)
}

/// Workers of the former release go on until the last of them is replaced: its functions work along the new index, too.
#[tokio::test]
async fn index_of_the_former_release_is_replaced() {
    let queue = former(FORMS[2]).await;
    assert!(has_former_index(&queue).await);
    let tasks = queue.tasks(2).await;
    tasks.create_schema().await.unwrap();
    assert!(!has_former_index(&queue).await);
    tasks.enqueue(&vec![task(); 3]).await.unwrap();
    let claim = "SELECT array_agg(c.id) FILTER (WHERE c.id IS NOT NULL) FROM dlock_task_claim_8(
        '{default}', md5(random()::text)::uuid, 9, 60000, 'x', false, NULL, NULL, true, NULL) AS c";
    let claimed = queue.client().await.query_one(claim, &[]).await.unwrap();
    assert_eq!(claimed.get::<_, Vec<i64>>(0), [2, 10, 11, 12]);
}

/// All workers would have to wait until the transaction that uses the index has ended.
#[tokio::test]
async fn index_that_is_in_use_stays() {
    let queue = former(FORMS[2]).await;
    let client = queue.client().await;
    client
        .batch_execute("BEGIN; SELECT FROM dlock_task")
        .await
        .unwrap();
    queue.tasks(2).await.create_schema().await.unwrap();
    assert!(has_former_index(&queue).await);
}

#[tokio::test]
async fn workers_of_the_former_release_keep_their_tasks() {
    for form in FORMS {
        are_kept(made_by(form).await).await;
    }
}

async fn are_kept(tasks: PostgresTasks) {
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
    for form in FORMS {
        are_as_they_were(made_by(form).await).await;
    }
}

async fn are_as_they_were(tasks: PostgresTasks) {
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
