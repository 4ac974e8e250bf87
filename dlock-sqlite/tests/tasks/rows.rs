//! Damage that a person or another program may have done to rows.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::time::Duration;

use dlock_core::ErrorKind;
use dlock_sqlite::{rusqlite::Connection, tasks::SqliteTasks};
use dlock_tasks::{Claim, Ended, Ending, Filter, How, NewTask, State, TaskStore, When};
use serde_json::Value;
use uuid::Uuid;

const LONG: Duration = Duration::from_secs(600);

fn task() -> NewTask {
    NewTask::builder().kind("a").build()
}

fn queue() -> (tempfile::TempDir, Connection, SqliteTasks) {
    let folder = tempfile::tempdir().unwrap();
    let tasks = SqliteTasks::open(folder.path().join("shop.db")).unwrap();
    let beside = Connection::open(tasks.path()).unwrap();
    // As by a program that was built without them, or a file that was repaired.
    beside
        .execute_batch("PRAGMA ignore_check_constraints = ON")
        .unwrap();
    (folder, beside, tasks)
}

async fn listed(tasks: &SqliteTasks, filter: &Filter) -> Vec<i64> {
    let tasks = tasks.list(filter).await.unwrap();
    tasks.into_iter().map(|task| task.id.get()).collect()
}

#[tokio::test]
async fn file_that_is_made_is_its_owners_alone() {
    let (_folder, beside, _tasks) = queue();
    let path = beside.path().unwrap();
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(path).unwrap());
    assert_eq!(mode & 0o777, 0o600);
}

/// An error names it to a caller that reads it, and no other task is affected.
#[tokio::test]
async fn damaged_task_hides_no_other() {
    let held = "uuid = 'f1fbd3e9-c7d0-4504-90c4-e5ed5ac51cfa'";
    let rest = "renewals = 0, owner = 'x', since = 1, token = 5, duration = 1000, released = 0, asked = 0, \
                boot = 'no boot', expiry = 1";
    for damage in [
        held.to_owned(),
        format!("{held}, {rest}"),
        format!("{held}, {rest}, boot = NULL"),
        format!("{held}, {rest}, duration = 7"),
        format!("{held}, {rest}, renewals = -1"),
        format!("{held}, {rest}, released = NULL"),
        "uuid = 'not-a-uuid-but-of-the-same-length-36', boot = '?'".to_owned(),
        "attempt = -1".to_owned(),
        "max_attempts = -1".to_owned(),
        "priority = 777".to_owned(),
    ] {
        let (_folder, beside, tasks) = queue();
        let added = tasks.enqueue(&[task(), task(), task()]).await.unwrap();
        let [first, bad, last] = [added[0].id(), added[1].id(), added[2].id()];
        let update = format!("UPDATE dlock_task SET {damage} WHERE id = {bad}");
        assert_eq!(beside.execute(&update, []).unwrap(), 1);

        let error = tasks.task(bad).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Fatal, "{damage}");
        let words = error.to_string();
        assert!(
            words.contains(&format!("task {bad} in")),
            "{damage}: {words}"
        );
        assert!(
            words.contains("mend its row in the table `dlock_task`, or delete it"),
            "{words}"
        );

        let every = Filter::default();
        assert_eq!(
            listed(&tasks, &every).await,
            [first.get(), last.get()],
            "{damage}"
        );
        assert_eq!(
            listed(&tasks, &every.clone().limit(2)).await,
            [first.get(), last.get()]
        );
        let ready = every.state(Some(State::Ready));
        assert_eq!(listed(&tasks, &ready).await, [first.get(), last.get()]);
        tasks
            .counts()
            .await
            .unwrap_or_else(|error| panic!("{damage}: {error}"));
        let claim = Claim::new(NewTask::QUEUE, Uuid::new_v4(), LONG).max(5);
        let claimed = tasks.claim(&claim).await.unwrap().tasks;
        let got: Vec<_> = claimed.iter().map(|task| task.key.id).collect();
        assert_eq!(got, [first, last], "{damage}");
        let endings = claimed
            .iter()
            .map(|task| Ending::new(task.key, How::Complete(Value::Null)));
        let ended = tasks.finish(&endings.collect::<Vec<_>>()).await.unwrap();
        assert_eq!(ended, [Ended::Own(State::Succeeded); 2]);
    }
}

/// A task that cannot be read now cannot be read by another attempt.
#[tokio::test]
async fn task_that_no_worker_can_read_is_dead_for_its_reason() {
    let deep = format!("payload = '{}{}'", "[".repeat(101), "]".repeat(101));
    for (damage, reason) in [
        ("payload = '{'", "EOF"),
        ("payload = '1e999'", "the number 1e999"),
        (
            "payload = '12345678901234567890123'",
            "would become 1.2345678901234568e+22",
        ),
        (deep.as_str(), "more than 100 levels"),
        ("checkpoint = '{'", "its checkpoint cannot be read: EOF"),
    ] {
        let (_folder, beside, tasks) = queue();
        let added = tasks.enqueue(&[task(), task(), task()]).await.unwrap();
        let [cancelled, dead, good] = [added[0].id(), added[1].id(), added[2].id()];
        let update = format!("UPDATE dlock_task SET {damage} WHERE id < {good}");
        assert_eq!(beside.execute(&update, []).unwrap(), 2);
        let seen = tasks.task(cancelled).await.unwrap().unwrap();
        assert_eq!((seen.state, seen.payload), (State::Ready, Value::Null));
        assert!(
            seen.errors[0].error.contains(reason),
            "{damage}: {:?}",
            seen.errors
        );
        assert_eq!(
            listed(&tasks, &Filter::default()).await.len(),
            3,
            "{damage}"
        );
        let was = tasks.cancel(cancelled, false).await.unwrap();
        assert_eq!(was, Some(State::Ready), "{damage}");

        let claim = Claim::new(NewTask::QUEUE, Uuid::new_v4(), LONG);
        let claimed = tasks.claim(&claim).await.unwrap().tasks;
        assert_eq!(claimed[0].key.id, good, "{damage}");
        let seen = tasks.task(dead).await.unwrap().unwrap();
        assert_eq!(seen.state, State::Dead, "{damage}");
        assert_eq!(seen.errors.len(), 1, "{damage}: {:?}", seen.errors);
        assert!(
            seen.errors[0].error.contains(reason),
            "{damage}: {:?}",
            seen.errors
        );
    }
}

#[tokio::test]
async fn output_that_cannot_be_read_is_left_out() {
    let (_folder, beside, tasks) = queue();
    let id = tasks.enqueue(&[task()]).await.unwrap()[0].id();
    tasks.cancel(id, false).await.unwrap();
    beside
        .execute("UPDATE dlock_task_done SET output = '{'", [])
        .unwrap();
    let seen = tasks.task(id).await.unwrap().unwrap();
    assert_eq!((seen.state, seen.output), (State::Cancelled, None));
    assert!(seen.errors[0].error.contains("its output cannot be read"));
}

/// As if a clock that was an hour ahead, and is right again, had enqueued it.
#[tokio::test]
async fn task_that_may_run_at_once_is_due_whatever_the_clock_said() {
    let (_folder, beside, tasks) = queue();
    let later = NewTask::builder()
        .kind("later")
        .when(When::In(LONG))
        .build();
    let added = tasks.enqueue(&[later, task()]).await.unwrap();
    let ahead =
        "UPDATE dlock_task SET run_at = run_at + 3600000000, created = created + 3600000000";
    beside.execute(ahead, []).unwrap();
    let claim = || Claim::new(NewTask::QUEUE, Uuid::new_v4(), LONG).max(5);
    let claimed = tasks.claim(&claim()).await.unwrap().tasks;
    let got: Vec<_> = claimed.iter().map(|task| task.key.id).collect();
    assert_eq!(got, [added[1].id()]);
    // A task that its worker has put off is not due.
    let snoozed = Ending::new(claimed[0].key, How::Snooze(LONG));
    tasks.finish(&[snoozed]).await.unwrap();
    assert!(tasks.claim(&claim()).await.unwrap().tasks.is_empty());
}

/// This includes tasks that have ended.
#[tokio::test]
async fn damaged_task_that_has_ended_hides_no_other() {
    for damage in ["state = 'x'", "priority = 777", "attempt = -1"] {
        let (_folder, beside, tasks) = queue();
        let added = tasks.enqueue(&[task(), task(), task()]).await.unwrap();
        for added in &added {
            tasks.cancel(added.id(), false).await.unwrap();
        }
        let [first, bad, last] = [added[0].id(), added[1].id(), added[2].id()];
        let update = format!("UPDATE dlock_task_done SET {damage} WHERE id = {bad}");
        assert_eq!(beside.execute(&update, []).unwrap(), 1);
        assert_eq!(
            tasks.task(bad).await.unwrap_err().kind(),
            ErrorKind::Fatal,
            "{damage}"
        );
        let page = Filter::default().limit(2);
        assert_eq!(
            listed(&tasks, &page).await,
            [first.get(), last.get()],
            "{damage}"
        );
        tasks.counts().await.unwrap();
    }
}

/// An impossible value is no reason to hand a task out for ever: more attempts than are allowed means that none remain.
#[tokio::test]
async fn task_with_more_attempts_than_it_may_have_dies() {
    let (_folder, beside, tasks) = queue();
    let id = tasks.enqueue(&[task()]).await.unwrap()[0].id();
    beside
        .execute("UPDATE dlock_task SET attempt = 99, errors = '{'", [])
        .unwrap();
    let claim = Claim::new(NewTask::QUEUE, Uuid::new_v4(), LONG);
    assert!(tasks.claim(&claim).await.unwrap().tasks.is_empty());
    let seen = tasks.task(id).await.unwrap().unwrap();
    assert_eq!((seen.state, seen.attempt), (State::Dead, 99));
}
