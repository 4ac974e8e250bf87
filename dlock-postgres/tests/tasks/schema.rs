//! Making the tables: many at once, again, next to those of another release and next to objects that are not ours.

use dlock_postgres::{SchemaError, tasks::PostgresTasks};
use dlock_tasks::TaskStore;
use dlock_testkit::tasks::TaskFixture;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::{LONG, Postgres, pool, server, take, task};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_who_start_at_once_make_one_queue() {
    let schema = format!("test-{}", Uuid::new_v4().simple());
    let mut starting = JoinSet::new();
    for _ in 0..16 {
        let queue = Postgres {
            schema: schema.clone(),
        };
        starting.spawn(async move {
            let tasks = queue.tasks(1).await;
            tasks.create_schema().await?;
            tasks.enqueue(&[task()]).await?;
            tasks.verify_schema().await
        });
    }
    for started in starting.join_all().await {
        started.unwrap();
    }
    let tasks = Postgres { schema }.tasks(1).await;
    assert_eq!(tasks.counts().await.unwrap()[0].tasks, 16);
}

/// Names are resolved as they are now, and rows are read as they were when the statement began. Between the two another
/// process may have made the schema: here a transaction keeps them apart.
#[tokio::test]
async fn schema_that_is_made_while_it_is_looked_for_is_not_found_in_part() {
    let queue = Postgres {
        schema: format!("test-{}", Uuid::new_v4().simple()),
    };
    let sessions = pool(server().await, 1);
    let looking = PostgresTasks::builder()
        .pool(sessions.clone())
        .schema(&queue.schema)
        .build()
        .unwrap();
    // The first statement over a connection has a separate transaction.
    looking.verify_schema().await.unwrap_err();
    let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM pg_class LIMIT 1";
    let session = sessions.get().await.unwrap();
    session.batch_execute(begin).await.unwrap();
    drop(session);
    queue.tasks(1).await.create_schema().await.unwrap();

    let Err(SchemaError::Differs { lacks, .. }) = looking.verify_schema().await else {
        panic!("it sees what was made after its transaction began");
    };
    for of in ["table", "function", "column"] {
        let is_missing = |lack: &String| lack.starts_with(&format!("the {of} "));
        assert!(lacks.iter().any(is_missing), "{of}: {lacks:?}");
    }
    let session = sessions.get().await.unwrap();
    session.batch_execute("ROLLBACK").await.unwrap();
    drop(session);
    looking.create_schema().await.unwrap();
}

#[tokio::test]
async fn making_it_again_keeps_what_is_there() {
    let queue = Postgres::start().await;
    let (client, tasks) = (queue.client().await, queue.tasks(2).await);
    tasks.enqueue(&[task()]).await.unwrap();
    let key = take(&tasks, LONG).await.key;
    client.batch_execute(&tasks.schema_sql()).await.unwrap();
    tasks.create_schema().await.unwrap();
    let holder = tasks.task(key.id).await.unwrap().unwrap().holder.unwrap();
    assert_eq!(holder.token, key.token);
    // The missing parts are made.
    client
        .batch_execute("DROP FUNCTION dlock_enqueue; DROP INDEX dlock_task_held_uuid")
        .await
        .unwrap();
    let differs = tasks.verify_schema().await.unwrap_err().to_string();
    for missing in [
        "dlock_enqueue is missing",
        "dlock_task_held_uuid is missing",
    ] {
        assert!(differs.contains(missing), "{differs}");
    }
    tasks.create_schema().await.unwrap();
}

#[tokio::test]
async fn tables_of_a_newer_release_are_refused() {
    let queue = Postgres::start().await;
    let (client, tasks) = (queue.client().await, queue.tasks(1).await);
    client
        .batch_execute("UPDATE dlock_task_layout SET version = 2")
        .await
        .unwrap();
    for refused in [tasks.create_schema().await, tasks.verify_schema().await] {
        assert!(
            matches!(
                refused,
                Err(SchemaError::Layout {
                    found: 2,
                    known: 1,
                    ..
                })
            ),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn table_of_somebody_else_is_left_alone() {
    let queue = Postgres {
        schema: format!("test-{}", Uuid::new_v4().simple()),
    };
    let client = queue.client().await;
    let table = format!(
        "CREATE SCHEMA \"{}\"; CREATE TABLE dlock_task (id bigint)",
        queue.schema
    );
    client.batch_execute(&table).await.unwrap();
    let refused = queue.tasks(1).await.create_schema().await;
    let Err(SchemaError::Differs { lacks, .. }) = refused else {
        panic!("{refused:?}")
    };
    assert!(
        lacks
            .iter()
            .any(|lack| lack.contains("dlock_task queue text")),
        "{lacks:?}"
    );
    assert!(
        !lacks.iter().any(|lack| lack.contains("dlock_task id")),
        "{lacks:?}"
    );
}
