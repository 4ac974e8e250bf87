//! Damage that a person or another program may have done to rows.

use std::{sync::Arc, time::Duration};

use dlock_core::{ErrorKind, FencingToken, Name, provider::Renew};
use dlock_postgres::tasks::PostgresTasks;
use dlock_tasks::{
    DEAD_IN_A_CLAIM, Ended, Ending, Filter, How, NewTask, State, Task, TaskId, TaskStore, When,
};
use dlock_testkit::tasks::TaskFixture;
use serde_json::{Value, json};

use crate::{LONG, Postgres, claim, database, finish, pool, take, task};

/// T1 with tokens far ahead of the clock, and across a retry.
#[tokio::test]
async fn tokens_grow_whatever_the_clock_does() {
    let queue = Postgres::start().await;
    let (client, tasks) = (queue.client().await, queue.tasks(2).await);
    tasks.enqueue(&[task()]).await.unwrap();
    let far = FencingToken::MAX.get() - 10;
    let jump = format!("UPDATE dlock_task SET token = {far}");
    assert_eq!(client.execute(&jump, &[]).await.unwrap(), 1);
    let key = take(&tasks, LONG).await.key;
    assert_eq!(key.token.get(), far + 1);
    finish(&tasks, key, How::Discard { error: "x".into() }).await;
    tasks.retry(key.id).await.unwrap();
    assert_eq!(take(&tasks, LONG).await.key.token.get(), far + 2);
}

#[tokio::test]
async fn damaged_row_keeps_nobody_from_the_others() {
    let queue = Postgres::start().await;
    let (client, tasks) = (queue.client().await, queue.tasks(2).await);
    for damage in [
        "uuid = md5(random()::text)::uuid",
        "uuid = md5(random()::text)::uuid, renewals = 0, owner = 'x', since = now(), duration = 7, expiry = now(), \
         released = false, asked = false, token = 5",
        "token = -1",
        "token = 9007199254740991",
        "attempt = -1",
        "priority = 77",
        "run_at = 'infinity'",
    ] {
        let added = tasks.enqueue(&[task(), task()]).await.unwrap();
        let bad = added[0].id();
        let update = format!("UPDATE dlock_task SET {damage} WHERE id = {bad}");
        assert_eq!(client.execute(&update, &[]).await.unwrap(), 1);
        let claimed = tasks.claim(&claim(LONG).max(5)).await.unwrap();
        let got: Vec<_> = claimed.tasks.iter().map(|task| task.key.id).collect();
        assert_eq!(got, [added[1].id()], "{damage}");
        // Whether it can be shown or not: the other one can, on a page that has room for one.
        let seen = match tasks.task(bad).await {
            Ok(_) => bad,
            Err(_) => added[1].id(),
        };
        let page = Filter::default().after(TaskId::new(bad.get() - 1)).limit(1);
        let listed = tasks
            .list(&page)
            .await
            .unwrap_or_else(|error| panic!("{damage}: {error}"));
        let listed: Vec<_> = listed.into_iter().map(|task| task.id).collect();
        assert_eq!(listed, [seen], "{damage}");
        finish(&tasks, claimed.tasks[0].key, How::Complete(Value::Null)).await;
        tasks.counts().await.unwrap();
        if !["token", "attempt", "uuid"]
            .iter()
            .any(|column| damage.starts_with(column))
        {
            let error = tasks.task(bad).await;
            assert!(
                error.is_err() || damage.starts_with("priority"),
                "{damage}: {error:?}"
            );
        }
        if damage.starts_with("uuid") {
            let error = tasks.task(bad).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Fatal, "{damage}");
            assert!(
                error.to_string().contains(&format!("task {bad}")),
                "{error}"
            );
            assert!(error.to_string().contains("`dlock_task`"), "{error}");
        }
        // The way out, whatever is wrong with it.
        tasks.cancel(bad, true).await.unwrap();
        let ended = "SELECT state FROM dlock_task_done WHERE id = $1";
        let ended: String = client.query_one(ended, &[&bad.get()]).await.unwrap().get(0);
        assert_eq!(ended, "cancelled", "{damage}");
    }
}

/// A task that cannot be read now cannot be read by another attempt.
#[tokio::test]
async fn task_that_no_worker_can_read_is_dead_for_its_reason() {
    let queue = Postgres::start().await;
    let (client, tasks) = (queue.client().await, queue.tasks(2).await);
    let deep = format!("payload = '{}{}'", "[".repeat(101), "]".repeat(101));
    for (damage, reason) in [
        ("payload = '1e999'", "the number 1e999"),
        (
            "payload = '12345678901234567890123'",
            "would become 1.2345678901234568e+22",
        ),
        (
            "payload = '\"\\u0000\\ud800\"'",
            "its payload cannot be read",
        ),
        (deep.as_str(), "more than 100 levels"),
        ("checkpoint = '-1e999'", "its checkpoint cannot be read"),
    ] {
        let added = tasks
            .enqueue(&[task(), task(), task(), task()])
            .await
            .unwrap();
        let [cancelled, dead, good] = [added[0].id(), added[1].id(), added[3].id()];
        let update = format!("UPDATE dlock_task SET {damage} WHERE id < {good}");
        assert_eq!(client.execute(&update, &[]).await.unwrap(), 3);
        let seen = tasks.task(cancelled).await.unwrap().unwrap();
        assert_eq!((seen.state, seen.payload), (State::Ready, Value::Null));
        assert!(
            seen.errors[0].error.contains(reason),
            "{damage}: {:?}",
            seen.errors
        );
        let page = Filter::default().after(TaskId::new(cancelled.get() - 1));
        assert_eq!(tasks.list(&page).await.unwrap().len(), 4, "{damage}");
        let was = tasks.cancel(cancelled, false).await.unwrap();
        assert_eq!(was, Some(State::Ready), "{damage}");

        let key = take(&tasks, LONG).await.key;
        assert_eq!(key.id, good, "{damage}");
        let seen = tasks.task(dead).await.unwrap().unwrap();
        assert_eq!((seen.state, seen.attempt), (State::Dead, 1), "{damage}");
        assert_eq!(seen.errors.len(), 1, "{damage}: {:?}", seen.errors);
        assert!(
            seen.errors[0].error.contains(reason),
            "{damage}: {:?}",
            seen.errors
        );
        finish(&tasks, key, How::Complete(Value::Null)).await;
    }
}

/// As if a clock that was an hour ahead, and is right again, had enqueued it.
#[tokio::test]
async fn task_that_may_run_at_once_is_due_whatever_the_clock_said() {
    let queue = Postgres::start().await;
    let (client, tasks) = (queue.client().await, queue.tasks(2).await);
    let later = NewTask::builder()
        .kind("later")
        .when(When::In(LONG))
        .build();
    let added = tasks.enqueue(&[later, task()]).await.unwrap();
    let ahead = "UPDATE dlock_task SET run_at = run_at + interval '1 hour', created = created + interval '1 hour'";
    client.batch_execute(ahead).await.unwrap();
    let claimed = tasks.claim(&claim(LONG).max(5)).await.unwrap().tasks;
    let got: Vec<_> = claimed.iter().map(|task| task.key.id).collect();
    assert_eq!(got, [added[1].id()]);
    // A task that its worker has put off is not due.
    finish(&tasks, claimed[0].key, How::Snooze(LONG)).await;
    assert!(tasks.claim(&claim(LONG)).await.unwrap().tasks.is_empty());
}

/// Its heartbeats fail alone, and no other worker gets the task.
#[tokio::test]
async fn locked_row_holds_up_nobody() {
    let queue = Postgres::start().await;
    let (client, tasks) = (queue.client().await, queue.tasks(4).await);
    tasks.enqueue(&[task(), task(), task()]).await.unwrap();
    let claimed = tasks.claim(&claim(LONG).max(2)).await.unwrap().tasks;
    let lock = format!(
        "BEGIN; SELECT FROM dlock_task WHERE id = {} FOR UPDATE",
        claimed[0].key.id
    );
    client.batch_execute(&lock).await.unwrap();
    let beats: Vec<Renew> = claimed
        .iter()
        .map(|task| {
            let name = Name::new(task.key.name().to_string()).unwrap();
            Renew::new(name, task.key.uuid, 1)
        })
        .collect();
    let renewed = tasks.claims().renew_many(&beats).await;
    assert_eq!(
        renewed[0].as_ref().unwrap_err().kind(),
        ErrorKind::NotApplied
    );
    assert!(renewed[1].is_ok(), "{renewed:?}");
    // The others end, and this one can be ended later.
    let endings: Vec<_> = claimed
        .iter()
        .map(|task| dlock_tasks::Ending::new(task.key, How::Complete(Value::Null)))
        .collect();
    let error = tasks.finish(&endings).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotApplied, "{error:?}");
    let seen = tasks.task(claimed[1].key.id).await.unwrap().unwrap();
    assert_eq!(seen.state, State::Succeeded);
    take(&tasks, LONG).await;
    client.batch_execute("COMMIT").await.unwrap();
    let ended = tasks.finish(&endings).await.unwrap();
    assert_eq!(ended, [dlock_tasks::Ended::Own(State::Succeeded); 2]);
}

/// No ending is lost for a character that the database's encoding lacks.
#[tokio::test]
async fn endings_hold_in_a_database_of_another_encoding() {
    let latin = "ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0";
    let config = database(latin).await;
    let tasks = PostgresTasks::builder()
        .pool(pool(config, 4))
        .build()
        .unwrap();
    tasks.create_schema().await.unwrap();
    tasks.enqueue(&vec![task(); 4]).await.unwrap();
    let claimed = tasks.claim(&claim(LONG).max(4)).await.unwrap().tasks;
    let fail = |error: &str| How::Discard {
        error: error.into(),
    };
    let endings = [
        fail("schlo\u{df} \u{1f512}"),
        How::Complete(json!({"\u{1f512}": "\u{df}"})),
        fail("schlo\u{df}"),
        fail("a\0b"),
    ];
    let endings = claimed.iter().zip(endings);
    let endings = endings.map(|(task, how)| Ending::new(task.key, how));
    let endings: Vec<_> = endings.collect();
    let ended = tasks.finish(&endings[..1]).await.unwrap();
    assert_eq!(ended, [Ended::Own(State::Dead)]);
    for ended in tasks.finish(&endings).await.unwrap() {
        assert!(matches!(ended, Ended::Own(_)), "{ended:?}");
    }
    let mut kept = Vec::new();
    for task in &claimed {
        let task = tasks.task(task.key.id).await.unwrap().unwrap();
        kept.push((
            task.output,
            task.errors.first().map(|failed| failed.error.clone()),
        ));
    }
    let error = |text: &str| (None, Some(text.to_owned()));
    assert_eq!(
        kept,
        [
            error(r"schlo\u{df} \u{1f512}"),
            (Some(json!({"\u{1f512}": "\u{df}"})), None),
            error("schlo\u{df}"),
            error(r"a\u{fffd}b"),
        ]
    );
}

/// The server's texts cannot contain a NUL, and an ending must not fail because of a handler's
/// text.
#[tokio::test]
async fn error_with_a_nul_is_kept() {
    let queue = Postgres::start().await;
    let tasks = queue.tasks(2).await;
    tasks.enqueue(&[task()]).await.unwrap();
    let key = take(&tasks, LONG).await.key;
    finish(
        &tasks,
        key,
        How::Discard {
            error: "a\0b".into(),
        },
    )
    .await;
    let errors = tasks.task(key.id).await.unwrap().unwrap().errors;
    assert_eq!(errors[0].error, "a\u{fffd}b");
}

/// No worker reports it: the last one is gone.
#[tokio::test]
async fn task_that_dies_in_a_claim_is_in_the_log() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let keeps = tracing_subscriber::fmt().with_writer(Arc::new(log.reopen().unwrap()));
    let _until_the_end = tracing::subscriber::set_default(keeps.finish());
    for (number, lane) in [(1, None), (2, Some("l".to_owned()))] {
        let queue = Postgres::start().await;
        let tasks = queue.tasks(1).await;
        let last = NewTask::builder().kind("resize").max_attempts(1);
        let added = tasks.enqueue(&[last.lane_opt(lane).build()]).await.unwrap();
        take(&tasks, Duration::from_millis(100)).await;
        let has_ended = |task: Task| task.state.has_ended();
        while !tasks
            .task(added[0].id())
            .await
            .unwrap()
            .is_some_and(has_ended)
        {
            let nothing = tasks.claim(&claim(LONG)).await.unwrap();
            assert!(nothing.tasks.is_empty(), "{nothing:?}");
        }
        let log = std::fs::read_to_string(log.path()).unwrap();
        let dead = log.lines().filter(|line| line.contains(DEAD_IN_A_CLAIM));
        let dead = dead.filter(|line| line.contains("resize")).count();
        assert_eq!(dead, number, "{log}");
    }
}
