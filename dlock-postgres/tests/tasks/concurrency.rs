//! Concurrent work: sessions, batches, processes.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use dlock_core::{FencingToken, Name, provider::Renew};
use dlock_tasks::{ClaimKey, Ended, Ending, Enqueued, How, NewTask, State, TaskStore};
use dlock_testkit::tasks::TaskFixture;
use serde_json::{Value, json};
use tokio::{task::JoinSet, time::Instant};

use crate::{LONG, Postgres, claim, finish, take, task};

/// Two batches of the same claims lock their rows in one order, whatever the outcome of each.
#[tokio::test]
async fn endings_of_several_kinds_lock_rows_in_one_order() {
    let queue = Postgres::start().await;
    queue.wait_for_rows().await;
    let (client, tasks) = (queue.client().await, queue.tasks(2).await);
    tasks.enqueue(&[task(), task()]).await.unwrap();
    let claimed = tasks.claim(&claim(LONG).max(2)).await.unwrap().tasks;
    let [first, second] = [claimed[0].key, claimed[1].key];
    let lock = |of: ClaimKey| {
        format!(
            "SELECT FROM dlock_task WHERE id = {} FOR UPDATE NOWAIT",
            of.id
        )
    };
    client
        .batch_execute(&format!("BEGIN; {}", lock(first)))
        .await
        .unwrap();
    let endings = [
        Ending::new(second, How::Complete(Value::Null)),
        Ending::new(first, How::GiveBack),
    ];
    let ending = tokio::spawn(async move { tasks.finish(&endings).await });
    queue.until_blocked_by(&client, &ending).await;
    client.batch_execute(&lock(second)).await.unwrap();
    client.batch_execute("COMMIT").await.unwrap();
    let ended = ending.await.unwrap().unwrap();
    assert_eq!(
        ended,
        [Ended::Own(State::Succeeded), Ended::Own(State::Ready)]
    );
}

/// Every task once, and no session is the victim of a deadlock: keys come in opposite orders.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_sessions_claim_while_others_enqueue() {
    const WORKERS: usize = 64;
    const WRITERS: usize = 8;
    const BATCHES: usize = 10;
    const BATCH: usize = 20;
    let queue = Postgres::start().await;
    let (tasks, writers) = (queue.tasks(WORKERS + 1).await, queue.tasks(WRITERS).await);
    let left = Arc::new(AtomicUsize::new(WRITERS));
    let mut writing = JoinSet::new();
    for writer in 0..WRITERS {
        let (tasks, left) = (writers.clone(), Arc::clone(&left));
        writing.spawn(async move {
            let mut new = Vec::new();
            for batch in 0..BATCHES {
                let keyed = |number: usize| {
                    let keyed = NewTask::builder()
                        .kind("a")
                        .priority(u8::try_from(number % 3).unwrap());
                    // Keys that all writers use, in one order and the other.
                    let number = if writer % 2 == 0 {
                        number
                    } else {
                        BATCH - 1 - number
                    };
                    let key = (number % 2 == 0).then(|| format!("{batch} {number}"));
                    keyed.key_opt(key).build()
                };
                let all: Vec<NewTask> = (0..BATCH).map(keyed).collect();
                for added in tasks.enqueue(&all).await.unwrap() {
                    if let Enqueued::New(id) = added {
                        new.push(id);
                    }
                }
            }
            left.fetch_sub(1, Ordering::SeqCst);
            new
        });
    }
    let mut working = JoinSet::new();
    for worker in 0..WORKERS {
        let (tasks, left) = (tasks.clone(), Arc::clone(&left));
        working.spawn(async move {
            let mut done = Vec::new();
            loop {
                let over = left.load(Ordering::SeqCst) == 0;
                let claimed = tasks.claim(&claim(LONG).max(1 + worker % 5)).await.unwrap();
                // Nothing, and nothing to come: other sessions have the remainder.
                if claimed.tasks.is_empty() && claimed.next.is_none() && over {
                    return done;
                }
                let claimed = claimed.tasks;
                let ending = |key| Ending::new(key, How::Complete(Value::Null));
                let endings: Vec<_> = claimed.iter().map(|task| ending(task.key)).collect();
                let ended = tasks.finish(&endings).await.unwrap();
                assert!(
                    ended
                        .iter()
                        .all(|ended| *ended == Ended::Own(State::Succeeded))
                );
                done.extend(claimed.iter().map(|task| task.key.id));
            }
        });
    }
    let mut added: Vec<_> = writing.join_all().await.concat();
    let mut done: Vec<_> = working.join_all().await.concat();
    added.sort_unstable();
    done.sort_unstable();
    assert_eq!(added, done);
}

/// Batches that name the same claims in opposite orders.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn batches_in_opposite_orders_do_not_deadlock() {
    const ROUNDS: u64 = 20;
    let queue = Postgres::start().await;
    let tasks = queue.tasks(8).await;
    let new: Vec<_> = (0..100).map(|_| task()).collect();
    tasks.enqueue(&new).await.unwrap();
    let claimed = tasks.claim(&claim(LONG).max(100)).await.unwrap().tasks;
    assert_eq!(claimed.len(), 100);
    let keys: Vec<ClaimKey> = claimed.iter().map(|task| task.key).collect();
    let mut both = JoinSet::new();
    for turned in [false, true] {
        let (tasks, mut keys) = (tasks.clone(), keys.clone());
        if turned {
            keys.reverse();
        }
        both.spawn(async move {
            for n in 1..=ROUNDS {
                let beat = |key: &ClaimKey| {
                    let name = Name::new(key.name().to_string()).unwrap();
                    Renew::new(name, key.uuid, n)
                };
                let beats: Vec<Renew> = keys.iter().map(beat).collect();
                for renewed in tasks.claims().renew_many(&beats).await {
                    // A batch that meets the other one learns so, and is repeated.
                    if let Err(error) = renewed {
                        assert!(error.to_string().contains("locked"), "{error:?}");
                    }
                }
            }
            let how = |place: usize| match place % 3 {
                0 => How::Complete(Value::Null),
                1 => How::Discard { error: "x".into() },
                _ => How::GiveBack,
            };
            let ending =
                |key: &ClaimKey| Ending::new(*key, how(usize::try_from(key.id.get()).unwrap()));
            let endings: Vec<_> = keys.iter().map(ending).collect();
            let ended = tasks.finish(&endings).await.unwrap();
            let answers = keys
                .iter()
                .map(|key| key.id)
                .zip(ended.iter().map(|ended| format!("{ended:?}")));
            answers.collect::<BTreeMap<_, _>>()
        });
    }
    let answers = both.join_all().await;
    assert_eq!(answers[0], answers[1], "the second answers as the first");
    assert!(
        answers[0].values().all(|answer| answer.starts_with("Own")),
        "{answers:?}"
    );
}

/// A key that becomes free while its batch holds a later one is not waited for: another session may do the same in the
/// other order.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn key_that_comes_free_meanwhile_does_not_deadlock() {
    let queue = Postgres::start().await;
    queue.wait_for_rows().await;
    let tasks = queue.tasks(2).await;
    let keyed = |key: &str| NewTask::builder().kind("x").key(key).build();
    let enqueue =
        |key: &str| format!("SELECT dlock_enqueue('default', 'x', 'null', key => '{key}')");
    let [first, second, third, watcher] = [(); 4].map(|()| queue.client());
    let (first, second) = (first.await, second.await);
    let (third, watcher) = (third.await, watcher.await);
    for (client, key) in [(&first, "a"), (&second, "b")] {
        client.batch_execute("BEGIN").await.unwrap();
        client.batch_execute(&enqueue(key)).await.unwrap();
    }
    let (own, both) = (tasks.clone(), [keyed("a"), keyed("b")]);
    let adding = tokio::spawn(async move { own.enqueue(&both).await });
    queue.until_blocked_by(&first, &adding).await;
    first.batch_execute("COMMIT").await.unwrap();
    // It has found that `a` is in use.
    queue.until_blocked_by(&second, &adding).await;
    watcher
        .batch_execute("DELETE FROM dlock_task WHERE key = 'a'")
        .await
        .unwrap();
    third.batch_execute("BEGIN").await.unwrap();
    third.batch_execute(&enqueue("a")).await.unwrap();
    second.batch_execute("ROLLBACK").await.unwrap();
    queue.until_blocked_by(&third, &adding).await;
    third.batch_execute(&enqueue("b")).await.unwrap();
    third.batch_execute("COMMIT").await.unwrap();
    let added = adding.await.unwrap().unwrap();
    assert!(
        added
            .iter()
            .all(|added| matches!(added, Enqueued::Duplicate(_))),
        "{added:?}"
    );
}

/// The task of a worker that is killed passes to another worker when its lease ends, and not before.
#[tokio::test]
async fn task_of_a_killed_process_is_taken_when_its_lease_ends() {
    const LEASE: Duration = Duration::from_secs(1);
    const SCHEMA: &str = "DLOCK_TASKS_TEST_SCHEMA";
    const PORT: &str = "DLOCK_TEST_POSTGRES_URL";
    if let Ok(schema) = std::env::var(SCHEMA) {
        let tasks = Postgres { schema }.tasks(2).await;
        let key = take(&tasks, LEASE).await.key;
        eprintln!("claimed {}", key.name());
        std::future::pending::<()>().await;
    }
    let queue = Postgres::start().await;
    let tasks = queue.tasks(2).await;
    tasks.enqueue(&[task()]).await.unwrap();
    let port = crate::server().await.get_ports()[0];
    let url = std::env::var(PORT)
        .unwrap_or_else(|_| format!("host=127.0.0.1 port={port} user=postgres dbname=postgres"));
    let began = Instant::now();
    let mut worker = Command::new(std::env::current_exe().unwrap())
        .args([
            "concurrency::task_of_a_killed_process_is_taken_when_its_lease_ends",
            "--exact",
            "--nocapture",
        ])
        .env(SCHEMA, &queue.schema)
        .env(PORT, url)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let claimed = BufReader::new(worker.stderr.take().unwrap())
        .lines()
        .map_while(Result::ok)
        .find(|line| line.starts_with("claimed"))
        .unwrap();
    worker.kill().unwrap();
    worker.wait().unwrap();
    let first: u64 = claimed.rsplit('/').next().unwrap().parse().unwrap();
    let second = loop {
        if let Some(task) = tasks.claim(&claim(LONG)).await.unwrap().tasks.pop() {
            break task;
        }
        assert!(began.elapsed() < LONG, "its lease does not end");
        tokio::time::sleep(LEASE / 100).await;
    };
    assert!(began.elapsed() >= LEASE, "before the lease was over");
    assert!(second.key.token.get() > first && second.attempt == 2);
    let first = FencingToken::new(first).unwrap();
    let late = ClaimKey::new(second.key.id, second.key.uuid, first);
    let ended = finish(&tasks, late, How::Complete(json!(1))).await;
    assert_eq!(ended, Ended::Lost(Some(State::Running)));
}

/// A deadlock is an error of the database here, which the store would hide by ending each claim separately.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn endings_in_opposite_orders_do_not_deadlock() {
    const MANY: usize = 2000;
    const FINISH: &str =
        "SELECT e.own, cardinality(e.places) FROM dlock_task_finish_1($1, $2, $3, array_fill('complete'::text, $4),
        array_fill('1'::text, $4), array_fill(NULL::text, $4), array_fill(NULL::bigint, $4)) AS e";
    let queue = Postgres::start().await;
    let tasks = queue.tasks(2).await;
    let clients = [queue.client().await, queue.client().await];
    for _ in 0..3 {
        tasks.enqueue(&vec![task(); MANY]).await.unwrap();
        let claimed = tasks.claim(&claim(LONG).max(MANY)).await.unwrap().tasks;
        let mut keys: Vec<ClaimKey> = claimed.iter().map(|task| task.key).collect();
        let mut finishing = Vec::new();
        for client in &clients {
            keys.reverse();
            let ids: Vec<i64> = keys.iter().map(|key| key.id.get()).collect();
            let uuids: Vec<_> = keys.iter().map(|key| key.uuid).collect();
            let token = |key: &ClaimKey| i64::try_from(key.token.get()).unwrap();
            let tokens: Vec<i64> = keys.iter().map(token).collect();
            finishing.push(async move {
                let size = vec![i32::try_from(MANY).unwrap()];
                let ended = client.query(FINISH, &[&ids, &uuids, &tokens, &size]).await;
                let ended = ended.unwrap_or_else(|error| panic!("{error:?}"));
                assert!(ended.iter().all(|row| row.get::<_, bool>(0)));
                let answered: i32 = ended.iter().map(|row| row.get::<_, i32>(1)).sum();
                assert_eq!(answered, size[0]);
            });
        }
        let (first, second) = (finishing.remove(0), finishing.remove(0));
        tokio::join!(first, second);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn keys_in_opposite_orders_do_not_deadlock() {
    const MANY: usize = 2000;
    let queue = Postgres::start().await;
    let tasks = queue.tasks(3).await;
    for round in 0..3 {
        let keyed = |number| {
            let key = format!("{round} {number}");
            NewTask::builder().kind("a").key(key).build()
        };
        let one: Vec<NewTask> = (0..MANY).map(keyed).collect();
        let mut other = one.clone();
        other.reverse();
        let (one, other) = tokio::join!(tasks.enqueue(&one), tasks.enqueue(&other));
        let new = [one.unwrap(), other.unwrap()].concat();
        let is_new = |added: &&Enqueued| matches!(added, Enqueued::New(_));
        assert_eq!(new.iter().filter(is_new).count(), MANY);
    }
}
