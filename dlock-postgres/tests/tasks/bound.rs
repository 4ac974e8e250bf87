//! Whether a queue has lanes is looked up only while the index of lanes is small.

use dlock_postgres::deadpool_postgres::tokio_postgres::Client;
use dlock_tasks::{Claim, ClaimedTask, How, NewTask, TaskStore};
use dlock_testkit::tasks::TaskFixture;

use crate::{LONG, Postgres, claim, finish};

/// The bound, as `claim.sql` has it.
const BOUND: i64 = 131_072;

/// Two tasks of a lane and two without one.
async fn enqueue(tasks: &impl TaskStore) {
    let plain = || NewTask::builder().kind("plain").build();
    let laned = || NewTask::builder().kind("laned").lane("l").build();
    let all = [laned(), plain(), laned(), plain()];
    tasks.enqueue(&all).await.unwrap();
}

/// The tasks that a claim of everything gets.
async fn claimed(tasks: &impl TaskStore) -> Vec<ClaimedTask> {
    let wanted: Claim = claim(LONG).max(9);
    tasks.claim(&wanted).await.unwrap().tasks
}

/// Makes the index of lanes larger than the bound, with tasks of another queue.
async fn fill(client: &Client) {
    let fill = "SELECT dlock_enqueue('other', 'a', lane => repeat('x', 100) || n) FROM generate_series(1, 2000) AS n";
    client.query(fill, &[]).await.unwrap();
    let size = "SELECT pg_relation_size('dlock_task_lane')";
    let size: i64 = client.query_one(size, &[]).await.unwrap().get(0);
    assert!(size > BOUND, "{size}");
}

/// How often this session has scanned the index of lanes.
async fn scans(client: &Client) -> i64 {
    let scans = "SELECT pg_stat_get_xact_numscans('dlock_task_lane'::regclass)";
    client.query_one(scans, &[]).await.unwrap().get(0)
}

/// How often a claim in a queue without lanes scans their index.
async fn looks(client: &Client) -> i64 {
    client.batch_execute("BEGIN").await.unwrap();
    let before = scans(client).await;
    let claim = "SELECT count(c.id)
        FROM dlock_task_claim_1('{default}', md5(random()::text)::uuid, 1, 60000, 'x', false, NULL, NULL, true, NULL) AS c";
    let tasks: i64 = client.query_one(claim, &[]).await.unwrap().get(0);
    let after = scans(client).await;
    client.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(tasks, 1);
    after - before
}

#[tokio::test]
async fn large_index_of_lanes_is_not_looked_at() {
    let queue = Postgres::start().await;
    let (client, tasks) = (queue.client().await, queue.tasks(1).await);
    let plain = NewTask::builder().kind("plain").build();
    tasks.enqueue(&[plain]).await.unwrap();
    assert_eq!(looks(&client).await, 1, "a small one is");
    fill(&client).await;
    assert_eq!(looks(&client).await, 0);
}

#[tokio::test]
async fn claims_beside_a_large_index_of_lanes_get_what_they_should() {
    let queue = Postgres::start().await;
    let (client, tasks) = (queue.client().await, queue.tasks(1).await);
    fill(&client).await;
    enqueue(&tasks).await;
    let first = claimed(&tasks).await;
    let kinds: Vec<&str> = first.iter().map(|task| task.kind.as_str()).collect();
    assert_eq!(kinds, ["laned", "plain", "plain"]);
    assert_eq!(claimed(&tasks).await, [], "two of a lane");
    finish(&tasks, first[0].key, How::Complete(().into())).await;
    let next = claimed(&tasks).await;
    assert_eq!(next.len(), 1, "{next:?}");
    assert_eq!(next[0].kind, "laned");
    assert!(next[0].key.id > first[0].key.id);
}
