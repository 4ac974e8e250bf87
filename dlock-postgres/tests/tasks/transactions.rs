//! Tasks are enqueued and completed in the user's own transaction, from Rust and from SQL.

use dlock_postgres::{
    deadpool_postgres::tokio_postgres::Client,
    tasks::{PostgresTasks, TransactionError},
};
use dlock_tasks::{Enqueued, How, KeyUntil, NewTask, State, TaskId, TaskStore};
use dlock_testkit::tasks::TaskFixture;
use serde_json::json;
use uuid::Uuid;

use crate::{LONG, Postgres, claim, finish, take, task};

const BUY: &str = "INSERT INTO purchase (item) VALUES ('book')";

async fn shop() -> (Client, PostgresTasks) {
    let queue = Postgres::start().await;
    let client = queue.client().await;
    let table = "CREATE TABLE purchase (item text NOT NULL)";
    client.batch_execute(table).await.unwrap();
    (client, queue.tasks(4).await)
}

async fn purchases(client: &Client) -> i64 {
    let count = "SELECT count(*) FROM purchase";
    client.query_one(count, &[]).await.unwrap().get(0)
}

/// Tasks and data are both kept, or neither.
#[tokio::test]
async fn tasks_are_added_and_completed_with_the_data_or_not_at_all() {
    let (mut client, tasks) = shop().await;
    let transaction = client.transaction().await.unwrap();
    transaction.execute(BUY, &[]).await.unwrap();
    tasks.enqueue_in(&transaction, &[task()]).await.unwrap();
    transaction.rollback().await.unwrap();
    assert!(tasks.counts().await.unwrap().is_empty());

    let transaction = client.transaction().await.unwrap();
    transaction.execute(BUY, &[]).await.unwrap();
    let added = tasks.enqueue_in(&transaction, &[task()]).await.unwrap();
    assert!(
        tasks.counts().await.unwrap().is_empty(),
        "not before its commit"
    );
    transaction.commit().await.unwrap();
    let [Enqueued::New(id)] = added[..] else {
        panic!("{added:?}")
    };

    let key = take(&tasks, LONG).await.key;
    let transaction = client.transaction().await.unwrap();
    let half = json!("half");
    tasks
        .checkpoint_in(&transaction, &key, 1, &half)
        .await
        .unwrap();
    tasks
        .complete_in(&transaction, &key, json!(1))
        .await
        .unwrap();
    transaction.rollback().await.unwrap();
    let seen = tasks.task(id).await.unwrap().unwrap();
    assert_eq!((seen.state, seen.checkpoint), (State::Running, None));

    // A repeat in a later transaction answers as the first.
    for output in [1, 2] {
        let transaction = client.transaction().await.unwrap();
        tasks
            .complete_in(&transaction, &key, json!(output))
            .await
            .unwrap();
        transaction.commit().await.unwrap();
    }
    let seen = tasks.task(id).await.unwrap().unwrap();
    assert_eq!(
        (seen.state, seen.output),
        (State::Succeeded, Some(json!(1)))
    );
    assert_eq!(purchases(&client).await, 1);
}

/// Its handler would not see the writes of the transaction.
#[tokio::test]
async fn task_whose_key_ends_with_its_start_waits_for_who_counts_on_it() {
    let (mut client, tasks) = shop().await;
    let change = NewTask::builder().kind("index").key("page 7");
    let change = change.key_until(KeyUntil::Started).build();
    let added = tasks.enqueue(std::slice::from_ref(&change)).await.unwrap();
    let transaction = client.transaction().await.unwrap();
    transaction.execute(BUY, &[]).await.unwrap();
    let found = tasks
        .enqueue_in(&transaction, std::slice::from_ref(&change))
        .await;
    assert_eq!(found.unwrap(), [Enqueued::Duplicate(added[0].id())]);
    let beside = tasks.claim(&claim(LONG)).await.unwrap();
    assert!(beside.tasks.is_empty(), "{beside:?}");
    transaction.commit().await.unwrap();
    assert_eq!(take(&tasks, LONG).await.key.id, added[0].id());
    // The key ended with the start, so SQL adds another task.
    let enqueue = "SELECT dlock_enqueue('default', 'index', key => 'page 7', key_until => $1)";
    let number = client.query_one(enqueue, &[&"started"]).await.unwrap();
    assert!(number.get::<_, i64>(0) > added[0].id().get());
    let refused = client.query_one(enqueue, &[&"later"]).await.unwrap_err();
    let refused = refused.as_db_error().unwrap().message();
    assert!(refused.contains("ended or started"), "{refused}");
}

/// Not even by a caller that overlooks the error.
#[tokio::test]
async fn work_of_a_stale_claim_cannot_be_committed() {
    let (mut client, tasks) = shop().await;
    tasks.enqueue(&[task()]).await.unwrap();
    let key = take(&tasks, LONG).await.key;
    finish(&tasks, key, How::GiveBack).await;
    let newer = take(&tasks, LONG).await.key;
    for number in 0..2 {
        let transaction = client.transaction().await.unwrap();
        transaction.execute(BUY, &[]).await.unwrap();
        let refused = if number == 0 {
            tasks.complete_in(&transaction, &key, json!(1)).await
        } else {
            tasks.checkpoint_in(&transaction, &key, 1, &json!(1)).await
        };
        let Err(TransactionError::Lost(lost)) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!((lost.id, lost.state), (key.id, Some(State::Running)));
        let told = TransactionError::Lost(lost).to_string();
        assert!(
            told.contains("must not be kept: the task is running"),
            "{told}"
        );
        // The database rolls back instead.
        transaction.commit().await.ok();
        assert_eq!(purchases(&client).await, 0);
    }
    let own = finish(&tasks, newer, How::Complete(json!(2))).await;
    assert_eq!(own, dlock_tasks::Ended::Own(State::Succeeded));

    // A released task is not completed, whichever claim tries.
    tasks.enqueue(&[task()]).await.unwrap();
    let key = take(&tasks, LONG).await.key;
    finish(&tasks, key, How::GiveBack).await;
    let transaction = client.transaction().await.unwrap();
    let refused = tasks.complete_in(&transaction, &key, json!(1)).await;
    assert!(
        matches!(
            refused,
            Err(TransactionError::Lost(lost)) if lost.state == Some(State::Ready)
        ),
        "{refused:?}"
    );
}

/// A claim that is taken over while the transaction is open. Under the stricter levels the transaction does not see
/// that, but is nevertheless refused.
#[tokio::test]
async fn stale_completion_is_refused_at_every_isolation_level() {
    for level in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"] {
        let (client, tasks) = shop().await;
        tasks.enqueue(&[task()]).await.unwrap();
        let key = take(&tasks, LONG).await.key;
        let begin = format!("BEGIN ISOLATION LEVEL {level}; {BUY}");
        client.batch_execute(&begin).await.unwrap();
        finish(&tasks, key, How::GiveBack).await;
        take(&tasks, LONG).await;
        let complete = "SELECT dlock_complete($1, $2, $3)";
        let token = i64::try_from(key.token.get()).unwrap();
        let refused = client
            .execute(complete, &[&key.id.get(), &key.uuid, &token])
            .await;
        let code = refused.unwrap_err().code().cloned().unwrap();
        assert!(
            ["LK001", "40001"].contains(&code.code()),
            "{level}: {code:?}"
        );
        client.batch_execute("COMMIT").await.unwrap();
        assert_eq!(purchases(&client).await, 0, "{level}");
    }
}

#[tokio::test]
async fn functions_enqueue_and_complete_from_sql() {
    let (client, tasks) = shop().await;
    let enqueue = "SELECT dlock_enqueue('default', 'invoice', '{\"item\": \"book\"}', key => 'book 1', priority => 2)";
    let id: i64 = client.query_one(enqueue, &[]).await.unwrap().get(0);
    let again: i64 = client.query_one(enqueue, &[]).await.unwrap().get(0);
    assert_eq!(again, id, "its key is in use");
    let later = "SELECT dlock_enqueue('default', 'later', run_at => now() + interval '1 hour')";
    let later: i64 = client.query_one(later, &[]).await.unwrap().get(0);
    let later = tasks
        .task(TaskId::new(later).unwrap())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (later.state, later.payload),
        (State::Scheduled, json!(null))
    );

    let claimed = take(&tasks, LONG).await;
    assert_eq!(
        (claimed.key.id.get(), claimed.kind.as_str()),
        (id, "invoice")
    );
    assert_eq!(claimed.payload, json!({"item": "book"}));
    let token = i64::try_from(claimed.key.token.get()).unwrap();
    let complete = "SELECT dlock_complete($1, $2, $3, '{\"number\": 4}')";
    for (uuid, token) in [(Uuid::new_v4(), token), (claimed.key.uuid, token + 1)] {
        let refused = client
            .execute(complete, &[&id, &uuid, &token])
            .await
            .unwrap_err();
        let refused = refused.as_db_error().unwrap();
        assert_eq!(refused.code().code(), "LK001");
        assert!(
            refused.message().contains("the task is running"),
            "{refused}"
        );
    }
    for _ in 0..2 {
        client
            .execute(complete, &[&id, &claimed.key.uuid, &token])
            .await
            .unwrap();
    }
    let ended = tasks.task(claimed.key.id).await.unwrap().unwrap();
    assert_eq!(
        (ended.state, ended.output),
        (State::Succeeded, Some(json!({"number": 4})))
    );

    for bad in [
        "'', 'a'",
        "'a', ''",
        "NULL, 'a'",
        "'a', NULL",
        "'a', 'a', priority => 10",
        "'a', 'a', key => ''",
        "'a', 'a', max_attempts => 0",
        "'a', 'a', run_at => 'infinity'",
        "repeat('a', 129), 'a'",
        "'a', 'a', to_jsonb(repeat('a', 262144))",
    ] {
        let refused = client
            .execute(&format!("SELECT dlock_enqueue({bad})"), &[])
            .await;
        let code = refused.unwrap_err().code().cloned().unwrap();
        assert_eq!(code.code(), "22023", "{bad}");
    }
    let past = "SELECT dlock_enqueue('default', 'old', run_at => '-infinity')";
    client.execute(past, &[]).await.unwrap();
    assert_eq!(take(&tasks, LONG).await.kind, "old");
}

/// Enqueuing a key that an open transaction has enqueued waits for that transaction, and then finds its task.
#[tokio::test]
async fn key_of_an_open_transaction_is_nobody_elses() {
    let queue = Postgres::start().await;
    queue.wait_for_rows().await;
    let (mut client, tasks) = (queue.client().await, queue.tasks(2).await);
    let keyed = NewTask::builder().kind("a").key("k").build();
    let transaction = client.transaction().await.unwrap();
    let first = tasks
        .enqueue_in(&transaction, std::slice::from_ref(&keyed))
        .await
        .unwrap()[0];
    let other = tokio::spawn({
        let (tasks, keyed) = (tasks.clone(), keyed.clone());
        async move { tasks.enqueue(&[keyed]).await }
    });
    queue.until_blocked_by(transaction.client(), &other).await;
    transaction.commit().await.unwrap();
    let other = other.await.unwrap().unwrap();
    assert_eq!(other, [Enqueued::Duplicate(first.id())]);
}

/// JSON that SQL accepts is read by workers with the same meaning.
#[tokio::test]
async fn json_that_no_worker_could_read_is_refused_in_sql() {
    let (client, tasks) = shop().await;
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    for (json, why) in [
        ("[1e999]", "which no worker can read"),
        ("1e-999", "which no worker can read"),
        (
            "{\"a\": 123456789012345678901234567890}",
            "1.2345678901234568e+29",
        ),
        ("9007199254740993.0", "9.007199254740992"),
        (&deep(101), "more than 100 levels"),
        (&format!("{{\"a\": {}}}", deep(100)), "more than 100 levels"),
    ] {
        for call in [
            "SELECT dlock_enqueue('default', 'invoice', $1::text::jsonb)",
            "SELECT dlock_complete(1, '00000000-0000-0000-0000-000000000001', 1, $1::text::jsonb)",
        ] {
            let refused = client.execute(call, &[&json]).await.unwrap_err();
            let refused = refused.as_db_error().unwrap();
            assert_eq!(refused.code().code(), "22023", "{json}: {refused}");
            assert!(refused.message().contains(why), "{json}: {refused}");
        }
    }
    for json in [
        "-9223372036854775808",
        "18446744073709551615",
        "0.1",
        "1e20",
        "5e-324",
        "1.7976931348623157e308",
        &deep(100),
        "{\"a\": [\"1e999\", 1.50]}",
    ] {
        let call = "SELECT dlock_enqueue('default', 'invoice', $1::text::jsonb)";
        client.execute(call, &[&json]).await.unwrap();
        let read: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(take(&tasks, LONG).await.payload, read, "{json}");
    }
}
