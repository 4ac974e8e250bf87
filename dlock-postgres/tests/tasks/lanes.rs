//! Another session cannot see which tasks one session is about to claim. A lock of the lane, or of the queue, shows it.

use std::time::Duration;

use dlock_core::ProviderError;
use dlock_postgres::{deadpool_postgres::tokio_postgres::Client, tasks::PostgresTasks};
use dlock_tasks::{Claimed, How, NewTask, TaskStore};
use dlock_testkit::tasks::TaskFixture;
use tokio::task::JoinHandle;

use crate::{LONG, Postgres, claim, finish, take};

/// How many tasks an uncommitted claim of one task gets.
const CLAIM: &str = "SELECT count(c.id)
    FROM dlock_task_claim_1('{default}', md5(random()::text)::uuid, 1, 60000, 'x', false, NULL, NULL, true, NULL) AS c";

async fn claimed(client: &Client) -> i64 {
    client.query_one(CLAIM, &[]).await.unwrap().get(0)
}

fn claiming(tasks: &PostgresTasks, max: usize) -> JoinHandle<Result<Claimed, ProviderError>> {
    let tasks = tasks.clone();
    tokio::spawn(async move { tasks.claim(&claim(LONG).max(max)).await })
}

fn in_lane(priority: u8) -> NewTask {
    let task = NewTask::builder().kind("a").lane("l");
    task.priority(priority).build()
}

/// A more urgent task becomes visible while another claim is about to take one of its lane.
#[tokio::test]
async fn lane_that_another_session_claims_is_passed_over() {
    let queue = Postgres::start().await;
    let (client, tasks) = (queue.client().await, queue.tasks(1).await);
    tasks.enqueue(&[in_lane(5)]).await.unwrap();
    client.batch_execute("BEGIN").await.unwrap();
    assert_eq!(claimed(&client).await, 1);
    let plain = NewTask::builder().kind("a").build();
    tasks.enqueue(&[in_lane(0), plain]).await.unwrap();
    let beside = tasks.claim(&claim(LONG).max(9)).await.unwrap();
    assert_eq!(beside.tasks.len(), 1, "the one without a lane: {beside:?}");
    let next = beside.next.unwrap();
    assert!(
        next <= Duration::from_millis(100),
        "it may come to nothing: {next:?}"
    );
    client.batch_execute("COMMIT").await.unwrap();
    let nothing = tasks.claim(&claim(LONG)).await.unwrap();
    assert!(nothing.tasks.is_empty(), "two of a lane: {nothing:?}");
}

/// A claim has seen that there are no lanes, and then one appears: the claim does not give out a task that it has not
/// judged.
#[tokio::test]
async fn lane_that_appears_during_a_claim_is_left_to_the_next_one() {
    let queue = Postgres::start().await;
    queue.wait_for_rows().await;
    let (client, tasks) = (queue.client().await, queue.tasks(1).await);
    // Readers continue, and sessions that lock rows wait.
    let lock = "BEGIN; LOCK TABLE dlock_task IN EXCLUSIVE MODE";
    client.batch_execute(lock).await.unwrap();
    let early = claiming(&tasks, 2);
    queue.until_blocked_by(&client, &early).await;
    let enqueue =
        "SELECT dlock_enqueue('default', 'a', lane => 'l', run_at => now() - interval '1 minute')
        FROM generate_series(1, 2)";
    client.batch_execute(enqueue).await.unwrap();
    client.batch_execute("COMMIT").await.unwrap();
    let early = early.await.unwrap().unwrap().tasks.len();
    let next = tasks.claim(&claim(LONG).max(2)).await.unwrap();
    assert_eq!(early + next.tasks.len(), 1, "{early} and {next:?}");
}

/// Claims of a process begin after the task that it claimed last, except where the next task of a lane may lie before
/// it.
#[tokio::test]
async fn next_task_of_a_lane_comes_before_later_ones() {
    let queue = Postgres::start().await;
    let tasks = queue.tasks(1).await;
    let plain = || NewTask::builder().kind("plain").build();
    let all = [in_lane(5), in_lane(5), plain(), plain()];
    tasks.enqueue(&all).await.unwrap();
    let first = take(&tasks, LONG).await;
    assert_eq!(take(&tasks, LONG).await.kind, "plain");
    finish(&tasks, first.key, How::Complete(().into())).await;
    assert_eq!(take(&tasks, LONG).await.kind, "a");
}

/// The claim between the two commits sees neither the end of the first task nor the one that joined behind it.
#[tokio::test]
async fn task_that_joins_while_the_first_one_ends_is_found() {
    let queue = Postgres::start().await;
    let (client, tasks) = (queue.client().await, queue.tasks(1).await);
    tasks.enqueue(&[in_lane(5)]).await.unwrap();
    let first = take(&tasks, LONG).await;
    let join = "BEGIN; SELECT dlock_enqueue('default', 'second', lane => 'l')";
    client.batch_execute(join).await.unwrap();
    finish(&tasks, first.key, How::Complete(().into())).await;
    assert!(tasks.claim(&claim(LONG)).await.unwrap().tasks.is_empty());
    client.batch_execute("COMMIT").await.unwrap();
    assert_eq!(take(&tasks, LONG).await.kind, "second");
}

#[tokio::test]
async fn task_that_joins_before_the_end_of_the_first_is_kept_is_found() {
    for isolation in ["READ COMMITTED", "SERIALIZABLE"] {
        let queue = Postgres::start().await;
        let (client, tasks) = (queue.client().await, queue.tasks(1).await);
        tasks.enqueue(&[in_lane(5)]).await.unwrap();
        let key = take(&tasks, LONG).await.key;
        let complete = format!(
            "BEGIN ISOLATION LEVEL {isolation}; SELECT dlock_complete({}, '{}', {})",
            key.id, key.uuid, key.token
        );
        client.batch_execute(&complete).await.unwrap();
        tasks.enqueue(&[in_lane(5)]).await.unwrap();
        assert!(tasks.claim(&claim(LONG)).await.unwrap().tasks.is_empty());
        client.batch_execute("COMMIT").await.unwrap();
        take(&tasks, LONG).await;
    }
}

/// By a person, and while another session keeps the next one locked.
#[tokio::test]
async fn first_task_that_is_deleted_keeps_nobody_waiting() {
    let queue = Postgres::start().await;
    let (client, tasks) = (queue.client().await, queue.tasks(2).await);
    let plain = NewTask::builder().kind("plain").build();
    let all = [in_lane(5), in_lane(5), in_lane(5), plain];
    let added = tasks.enqueue(&all).await.unwrap();
    let delete = format!("DELETE FROM dlock_task WHERE id = {}", added[0].id());
    client.batch_execute(&delete).await.unwrap();
    let lock = "BEGIN; SELECT FROM dlock_task WHERE behind FOR UPDATE";
    client.batch_execute(lock).await.unwrap();
    let beside = tasks.claim(&claim(LONG).max(9)).await.unwrap();
    let got: Vec<_> = beside.tasks.iter().map(|task| task.key.id).collect();
    assert_eq!(got, [added[3].id()]);
    client.batch_execute("COMMIT").await.unwrap();
    assert_eq!(take(&tasks, LONG).await.key.id, added[1].id());
}

/// Tasks of a claim that was rolled back are given to others.
#[tokio::test]
async fn claim_that_is_rolled_back_holds_no_lane_and_no_place() {
    let queue = Postgres::start().await;
    let (client, tasks) = (queue.client().await, queue.tasks(1).await);
    tasks.set_limit(NewTask::QUEUE, Some(1)).await.unwrap();
    tasks.enqueue(&[in_lane(5)]).await.unwrap();
    client.batch_execute("BEGIN").await.unwrap();
    assert_eq!(claimed(&client).await, 1);
    client.batch_execute("ROLLBACK").await.unwrap();
    let got = tasks.claim(&claim(LONG)).await.unwrap();
    assert_eq!(got.tasks.len(), 1);
}

#[tokio::test]
async fn place_that_another_session_takes_is_waited_for() {
    let queue = Postgres::start().await;
    queue.wait_for_rows().await;
    let (client, tasks) = (queue.client().await, queue.tasks(2).await);
    tasks.set_limit(NewTask::QUEUE, Some(1)).await.unwrap();
    let plain = NewTask::builder().kind("a").build();
    tasks.enqueue(&vec![plain; 3]).await.unwrap();
    client.batch_execute("BEGIN").await.unwrap();
    assert_eq!(claimed(&client).await, 1);
    let other = claiming(&tasks, 1);
    queue.until_blocked_by(&client, &other).await;
    client.batch_execute("COMMIT").await.unwrap();
    let nothing = other.await.unwrap().unwrap();
    assert!(nothing.tasks.is_empty(), "two at a time: {nothing:?}");
}

/// A limit counts the tasks that a claim takes that began before it.
#[tokio::test]
async fn limit_waits_for_the_claims_that_are_under_way() {
    let queue = Postgres::start().await;
    queue.wait_for_rows().await;
    let (client, tasks) = (queue.client().await, queue.tasks(2).await);
    let plain = NewTask::builder().kind("a").build();
    tasks.enqueue(&vec![plain; 3]).await.unwrap();
    client.batch_execute("BEGIN").await.unwrap();
    assert_eq!(claimed(&client).await, 1);
    let limiting = tasks.clone();
    let limit = tokio::spawn(async move { limiting.set_limit(NewTask::QUEUE, Some(1)).await });
    queue.until_blocked_by(&client, &limit).await;
    client.batch_execute("COMMIT").await.unwrap();
    limit.await.unwrap().unwrap();
    let nothing = tasks.claim(&claim(LONG)).await.unwrap();
    assert!(nothing.tasks.is_empty(), "two at a time: {nothing:?}");
}

/// A snapshot that is older than the lock sees no later commits of other sessions.
#[tokio::test]
async fn older_snapshot_is_refused() {
    let queue = Postgres::start().await;
    let (client, tasks) = (queue.client().await, queue.tasks(1).await);
    tasks.enqueue(&[in_lane(5)]).await.unwrap();
    let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ";
    client.batch_execute(begin).await.unwrap();
    let refused = client.query_one(CLAIM, &[]).await.unwrap_err();
    let refused = refused.as_db_error().unwrap().message().to_owned();
    assert!(refused.contains("READ COMMITTED only"), "{refused}");
    client.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(claimed(&client).await, 1);
}

/// A claim that read all of them would take too long after a pause of the workers, and be undone each time.
#[tokio::test]
async fn lanes_that_have_changed_are_looked_at_by_several_claims() {
    let queue = Postgres::start().await;
    let (client, tasks) = (queue.client().await, queue.tasks(1).await);
    let join = "INSERT INTO dlock_task (queue, priority, run_at, max_attempts, kind, lane, payload, created, errors, attempt,
            checkpoints, token)
        SELECT 'default', 5, now(), 3, 'a', (n % 3000)::text, '{}', now(), '[]', 0, 0, 0 FROM generate_series(1, 6000) AS n";
    client.batch_execute(join).await.unwrap();
    let left = "SELECT count(DISTINCT lane) FROM dlock_task_changed";
    for lanes in [2000_i64, 1000, 0] {
        take(&tasks, LONG).await;
        let left: i64 = client.query_one(left, &[]).await.unwrap().get(0);
        assert_eq!(left, lanes);
    }
}
