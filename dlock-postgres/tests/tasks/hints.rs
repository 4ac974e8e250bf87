//! Which transactions notify, when and how often, and what happens to the listeners.

use std::{
    future::poll_fn,
    slice,
    time::{Duration, SystemTime},
};

use dlock_core::provider::{Wakeup, Wakeups};
use dlock_postgres::{
    deadpool_postgres::tokio_postgres::{AsyncMessage, Client, NoTls},
    tasks::PostgresTasks,
};
use dlock_tasks::{Context, How, NewTask, Payload, Served, TaskStore, Worker};
use dlock_test_servers::postgres::postgres;
use dlock_testkit::tasks::TaskFixture;
use serde::{Deserialize, Serialize};
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{Instant, sleep, timeout},
};
use uuid::Uuid;

use crate::{LONG, Postgres, claim, connect, finish, pool, server, take, task};

const PATIENCE: Duration = Duration::from_secs(30);
/// The transaction that sent this text, which no queue has, is the last one.
const END: &str = "the end";

#[derive(Serialize, Deserialize)]
struct Nothing;

impl Payload for Nothing {
    const KIND: &'static str = "nothing";
}

/// Receives all notifications of this queue's schema.
struct Ear {
    said: mpsc::UnboundedReceiver<String>,
    client: Client,
    schema: String,
}

impl Ear {
    async fn of(queue: &Postgres) -> Self {
        let (client, mut connection) = server().await.connect(NoTls).await.unwrap();
        let (sender, said) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await
            {
                if let AsyncMessage::Notification(hint) = message {
                    drop(sender.send(hint.payload().to_owned()));
                }
            }
        });
        client.batch_execute("LISTEN dlock_task").await.unwrap();
        let schema = queue.schema.clone();
        Self {
            said,
            client,
            schema,
        }
    }

    /// The number of notifications so far.
    async fn said(&mut self) -> usize {
        let end = format!("NOTIFY dlock_task, '\"{}\"/{END}'", self.schema);
        self.client.batch_execute(&end).await.unwrap();
        let mut heard = 0;
        loop {
            let said = timeout(PATIENCE, self.said.recv()).await.unwrap().unwrap();
            let own = said.strip_prefix(&format!("\"{}\"/", self.schema));
            match own {
                Some(END) => return heard,
                Some(_) => heard += 1,
                None => {}
            }
        }
    }
}

async fn listen(tasks: &PostgresTasks) -> Wakeups {
    let hints = tasks.watch(&claim(LONG)).await;
    hints.unwrap().unwrap()
}

#[tokio::test]
async fn hints_follow_the_commit_of_the_users_transaction() {
    let queue = Postgres::start().await;
    let (tasks, mut client) = (queue.listening(2).await, queue.client().await);
    let (mut stream, mut ear) = (listen(&tasks).await, Ear::of(&queue).await);
    let rolled_back = client.transaction().await.unwrap();
    tasks.enqueue_in(&rolled_back, &[task()]).await.unwrap();
    rolled_back.rollback().await.unwrap();
    assert_eq!(ear.said().await, 0);

    let transaction = client.transaction().await.unwrap();
    tasks.enqueue_in(&transaction, &[task()]).await.unwrap();
    assert_eq!(ear.said().await, 0);
    transaction.commit().await.unwrap();
    assert_eq!(ear.said().await, 1);
    let heard = timeout(PATIENCE, stream.next()).await;
    assert_eq!(heard.unwrap(), Some(Wakeup::Everyone));

    let sql = "SELECT dlock_enqueue('default', 'invoice')";
    client.query(sql, &[]).await.unwrap();
    assert_eq!(ear.said().await, 1);
}

#[tokio::test]
async fn what_adds_nothing_notifies_nobody() {
    let queue = Postgres::start().await;
    let tasks = queue.tasks(2).await;
    let keyed = NewTask::builder().kind("a").key("k").build();
    let mut ear = Ear::of(&queue).await;
    tasks.enqueue(slice::from_ref(&keyed)).await.unwrap();
    assert_eq!(ear.said().await, 1);
    tasks.enqueue(&[keyed]).await.unwrap();
    let key = take(&tasks, LONG).await.key;
    finish(&tasks, key, How::Complete(serde_json::Value::Null)).await;
    tasks.cancel(key.id, true).await.unwrap();
    let periodic = task();
    let begun = tasks.enqueue_periodic("s", SystemTime::UNIX_EPOCH, &periodic);
    assert_eq!(begun.await.unwrap(), Served::Begun);
    assert_eq!(ear.said().await, 0);
}

/// One statement, one transaction or many calls in it: no more than one notification for a queue, and never many locks.
#[tokio::test]
async fn one_transaction_notifies_once() {
    let queue = Postgres::start().await;
    let (tasks, client) = (queue.tasks(1).await, queue.client().await);
    let mut ear = Ear::of(&queue).await;
    tasks.enqueue(&vec![task(); 10_000]).await.unwrap();
    assert_eq!(ear.said().await, 1);

    client.batch_execute("BEGIN").await.unwrap();
    for sql in [
        "SELECT dlock_enqueue('default', 'a') FROM generate_series(1, 300)",
        // A later slice of time.
        "SELECT pg_sleep(0.05)",
        "SELECT dlock_enqueue('default', 'a') FROM generate_series(1, 300)",
        "SELECT dlock_enqueue('tenant ' || n, 'a') FROM generate_series(1, 1000) AS n",
    ] {
        client.query(sql, &[]).await.unwrap();
    }
    let locks =
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()";
    let locks: i64 = client.query_one(locks, &[]).await.unwrap().get(0);
    client.batch_execute("COMMIT").await.unwrap();
    let said = ear.said().await;
    assert!(
        (60..=64).contains(&locks) && said <= 64,
        "{locks} locks, {said} notifications"
    );
}

/// Of transactions that begin at one time and run concurrently, one notifies. On a busy machine only some of the four
/// begin at one time.
#[tokio::test]
async fn transactions_of_one_time_notify_once() {
    let queue = Postgres::start().await;
    let mut clients = Vec::new();
    for _ in 0..4 {
        clients.push(queue.client().await);
    }
    let mut ear = Ear::of(&queue).await;
    let began = Instant::now();
    loop {
        let mut slots = Vec::new();
        for client in &clients {
            client.batch_execute("BEGIN").await.unwrap();
            let sql =
                "SELECT (extract(epoch FROM now()) * 50)::bigint, dlock_enqueue('default', 'a')";
            slots.push(client.query_one(sql, &[]).await.unwrap().get::<_, i64>(0));
        }
        for client in &clients {
            client.batch_execute("COMMIT").await.unwrap();
        }
        let said = ear.said().await;
        slots.dedup();
        assert_eq!(said, slots.len());
        if slots.len() < clients.len() {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "never at one time");
    }
}

#[tokio::test]
async fn session_may_keep_silent() {
    let queue = Postgres::start().await;
    let client = queue.client().await;
    let mut ear = Ear::of(&queue).await;
    for (setting, expected) in [("off", 0), ("on", 1)] {
        let set = format!("SET dlock.hints = {setting}");
        client.batch_execute(&set).await.unwrap();
        let sql = "SELECT dlock_enqueue('default', 'a')";
        client.query(sql, &[]).await.unwrap();
        assert_eq!(ear.said().await, expected, "{setting}");
    }
}

#[tokio::test]
async fn store_that_does_not_listen_has_no_hints() {
    let tasks = Postgres::start().await.tasks(1).await;
    assert!(tasks.watch(&claim(LONG)).await.unwrap().is_none());
}

/// The workers then open another one. However many queues they wait for, there is one.
#[tokio::test]
async fn streams_share_a_connection_and_end_with_it() {
    let queue = Postgres::start().await;
    let mut config = server().await;
    let name = format!("ear {}", Uuid::new_v4().simple());
    config.application_name(&name);
    let tasks = PostgresTasks::builder()
        .pool(pool(server().await, 1))
        .schema(&queue.schema)
        .listen(config, NoTls)
        .build()
        .unwrap();
    let opened: JoinSet<_> = (0..20)
        .map(|number| {
            let (tasks, claim) = (tasks.clone(), claim(LONG).queues([format!("{number}")]));
            async move { tasks.watch(&claim).await }
        })
        .collect();
    let streams = opened.join_all().await;
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1";
    let ended = connect(&server().await).await.query(end, &[&name]).await;
    assert_eq!(ended.unwrap().len(), 1);
    for stream in streams {
        let mut stream = stream.unwrap().unwrap();
        let heard = timeout(PATIENCE, stream.next()).await;
        assert_eq!(heard.unwrap(), None);
    }
}

/// No transaction id is used, so nothing is written.
#[tokio::test]
async fn idle_worker_that_listens_writes_nothing() {
    let service = postgres(&["autovacuum=off"]).await.unwrap();
    let mut config = dlock_postgres::deadpool_postgres::tokio_postgres::Config::new();
    config.host("127.0.0.1").port(service.place().port());
    config.user("postgres").dbname("postgres");
    let tasks = PostgresTasks::builder()
        .pool(pool(config.clone(), 2))
        .listen(config.clone(), NoTls)
        .build()
        .unwrap();
    tasks.create_schema().await.unwrap();
    let client = connect(&config).await;
    let worker = Worker::builder()
        .store(tasks)
        .poll(Duration::from_millis(10))
        .build();
    let worker = worker
        .unwrap()
        .handle(|_: Context, _: Nothing| async { Ok(()) });
    let xid = || async {
        let sql = "SELECT txid_snapshot_xmax(txid_current_snapshot())::text";
        let row = client.query_one(sql, &[]).await.unwrap();
        row.get::<_, String>(0)
    };
    let before = xid().await;
    let asked = "SELECT xact_commit FROM pg_stat_database WHERE datname = 'postgres'";
    let asked = || async {
        let row = client.query_one(asked, &[]).await.unwrap();
        row.get::<_, i64>(0)
    };
    let first = asked().await;
    let idle = async {
        let began = Instant::now();
        let mut own = 0;
        while asked().await < first + own + 30 {
            own += 1;
            assert!(began.elapsed() < PATIENCE, "it never asks");
            sleep(Duration::from_millis(50)).await;
        }
    };
    worker.run(idle).await.unwrap();
    assert_eq!(xid().await, before);
}
