//! Statements that are prepared once per connection, and sessions that forget them.

use dlock_postgres::deadpool_postgres::Pool;
use dlock_tasks::{Filter, How, State, TaskStore};
use dlock_testkit::tasks::TaskFixture;
use serde_json::json;

use crate::{LONG, Postgres, PostgresTasks, finish, pool, server, take, task};

/// How many statements the only session of this pool knows.
async fn known(pool: &Pool) -> i64 {
    let session = pool.get().await.unwrap();
    let count = "SELECT count(*) FROM pg_prepared_statements";
    session.query_typed_one(count, &[]).await.unwrap().get(0)
}

/// A task from its beginning to its end.
async fn use_once(tasks: &PostgresTasks) {
    tasks.enqueue(&[task()]).await.unwrap();
    let key = take(tasks, LONG).await.key;
    tasks.checkpoint(&key, 1, &json!(1)).await.unwrap();
    finish(tasks, key, How::Complete(json!(2))).await;
    let listed = tasks.list(&Filter::default()).await.unwrap();
    assert_eq!(listed.last().unwrap().state, State::Succeeded);
}

#[tokio::test]
async fn statements_are_prepared_once_a_connection_until_it_has_forgotten_them() {
    let queue = Postgres::start().await;
    let pool = pool(server().await, 1);
    let tasks = PostgresTasks::builder()
        .pool(pool.clone())
        .schema(&queue.schema)
        .build()
        .unwrap();
    for forget in ["DEALLOCATE ALL", "DISCARD ALL"] {
        for _ in 0..3 {
            use_once(&tasks).await;
        }
        assert_eq!(known(&pool).await, 5);
        let session = pool.get().await.unwrap();
        session.batch_execute(forget).await.unwrap();
        drop(session);
        for _ in 0..3 {
            use_once(&tasks).await;
        }
        assert_eq!(known(&pool).await, 0, "{forget}");
        assert_eq!(pool.status().size, 1, "its connection was closed");
        // The next connection starts afresh.
        pool.retain(|_, _| false);
    }
}
