//! The connection that listens: it breaks, falls silent, is refused, is given up. A waiter that misses a hint for any
//! of these reasons enters all the same.

use std::{
    io,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use dlock_core::{
    Client, DLock, ErrorKind, Provider,
    provider::{Release, Wakeups},
};
use dlock_postgres::{PostgresProvider, deadpool_postgres::tokio_postgres::Config};
use dlock_test_servers::postgres::pgbouncer;
use dlock_testkit::{faults::Faulty, proxy::Direction};
use tokio::{
    task::{JoinHandle, JoinSet},
    time::{Instant, timeout},
};

use crate::hearing::{SOON, heard, sleeps, use_wanted};
use crate::support::{
    LONG, Server, Table, connect, create, fresh, listening, listening_within, local, name, on,
    server, telling, term, until,
};

/// A poll later than the end of any test: a waiter that gets the lock was woken.
const NEVER: Duration = Duration::from_secs(3600);
/// The time that a silent session has to answer when it is queried whether it listens.
const LIMIT: Duration = Duration::from_secs(2);

/// A lock that is held, and a waiter for it on a connection that listens.
struct Waiting {
    silent: PostgresProvider,
    release: Release,
    waiter: JoinHandle<Result<dlock_core::Lease, dlock_core::Error>>,
    client: Client,
}

impl Waiting {
    /// The waiter has been refused, and listens.
    async fn new(server: &Server, schema: &str) -> Self {
        let silent = on(server.pool(2), schema);
        let a = term("lock");
        silent.acquire(&a).await.unwrap();
        let asking = Faulty::new(listening(server.pool(2), schema, server.config()));
        let client = Client::new(asking.clone());
        let lock = DLock::builder()
            .name("lock")
            // It puts up with a server that is gone for as long.
            .duration(LONG)
            .poll_every(NEVER)
            .provider(client.clone())
            .build()
            .unwrap();
        let waiter = tokio::spawn(async move { lock.acquire().await });
        sleeps(&asking).await;
        let record = silent.read(&a.name).await.unwrap();
        assert_ne!(record.unwrap().wanted, 0, "it has left no mark");
        assert!(!waiter.is_finished(), "the lock is held");
        Self {
            silent,
            release: Release::new(a.name.clone(), a.new, None),
            waiter,
            client,
        }
    }

    /// Frees the lock without a notification.
    async fn free_in_silence(&self) {
        self.silent.release(&self.release).await.unwrap();
    }

    async fn enters(self) -> Client {
        let lease = timeout(SOON, self.waiter).await;
        let lease = lease.expect("it waits for ever").unwrap().unwrap();
        lease.release().await.unwrap();
        self.client
    }
}

#[tokio::test]
async fn waiter_is_told_after_its_channel_was_killed() {
    let table = Table::create().await;
    let server = server().await;
    let waiting = Waiting::new(server, table.schema()).await;
    let find = "SELECT pid FROM pg_stat_activity WHERE application_name = $1";
    let client = server.client().await;
    let first: i32 = client
        .query_one(find, &[&table.schema()])
        .await
        .unwrap()
        .get(0);
    let kill = "SELECT pg_terminate_backend($1)";
    client.query_one(kill, &[&first]).await.unwrap();
    until("another one listens", async || {
        let sessions = client.query(find, &[&table.schema()]).await.unwrap();
        let another = sessions
            .iter()
            .all(|session| session.get::<_, i32>(0) != first);
        another && !sessions.is_empty()
    })
    .await;
    assert!(!waiting.waiter.is_finished(), "the lock is held");
    let telling = telling(server.pool(1), table.schema());
    telling.release(&waiting.release).await.unwrap();
    waiting.enters().await;
}

#[tokio::test]
async fn waiters_are_woken_when_the_channel_is_killed() {
    let table = Table::create().await;
    let server = server().await;
    let waiting = Waiting::new(server, table.schema()).await;
    waiting.free_in_silence().await;
    let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1";
    let client = server.client().await;
    assert_eq!(client.execute(kill, &[&table.schema()]).await.unwrap(), 1);
    let _client = waiting.enters().await;
    // It is opened anew.
    until("it listens again", async || {
        server.listeners(table.schema()).await == 1
    })
    .await;
}

#[tokio::test]
async fn channel_is_opened_anew_after_a_restart() {
    let mut server = Server::start(&[]).await;
    let schema = fresh();
    create(&on(server.pool(2), &schema)).await;
    let waiting = Waiting::new(&server, &schema).await;
    server.crash().await;
    let telling = listening(server.pool(2), &schema, server.config());
    until("the server is back", async || {
        telling.read(&name("lock")).await.is_ok()
    })
    .await;
    telling.release(&waiting.release).await.unwrap();
    waiting.enters().await;
}

/// Opens the channel. On a busy machine that may take longer than a session may stay silent.
async fn listens(provider: &PostgresProvider) -> Wakeups {
    let opening = async {
        loop {
            if let Ok(Some(stream)) = provider.watch().await {
                return stream;
            }
        }
    };
    timeout(SOON, opening).await.expect("it does not listen")
}

#[tokio::test]
async fn silent_channel_is_noticed() {
    let server = server().await;
    let mut silences = JoinSet::new();
    for direction in Direction::BOTH {
        for swallowed in [false, true] {
            silences.spawn(async move {
                let (table, proxy) = (Table::create().await, server.proxy().await);
                let through = server.through(&proxy);
                let provider = listening_within(LIMIT, server.pool(2), table.schema(), through);
                let mut stream = listens(&provider).await;
                if swallowed {
                    proxy.swallow(direction);
                } else {
                    proxy.hold(direction);
                }
                // TCP would notice after a quarter of an hour, or never.
                let end = timeout(SOON, stream.next()).await;
                assert_eq!(end.expect("nobody notices"), None);
            });
        }
    }
    silences.join_all().await;
}

#[tokio::test]
async fn channel_that_hears_nothing_for_long_stays_open() {
    let table = Table::create().await;
    let mut stream = watch(&table, server().await.config()).await;
    let client = server().await.client().await;
    let asked =
        "SELECT max(query_start), count(*) FROM pg_stat_activity WHERE application_name = $1";
    let mut last = None;
    for _ in 0..3 {
        until(
            "the silent session is asked whether it listens",
            async || {
                let row = client.query_one(asked, &[&table.schema()]).await.unwrap();
                assert_eq!(row.get::<_, i64>(1), 1, "it was closed");
                let now: Option<SystemTime> = row.get(0);
                std::mem::replace(&mut last, now) != now
            },
        )
        .await;
    }
    let telling = table.listening(server().await.pool(2), server().await.config());
    use_wanted(&telling, "lock").await;
    assert_eq!(heard(&mut stream).await, name("lock"));
}

#[tokio::test]
async fn session_is_closed_when_nobody_listens_any_more() {
    let table = Table::create().await;
    let server = server().await;
    let gone = async || {
        until("the session is gone", async || {
            server.listeners(table.schema()).await == 0
        })
        .await;
    };
    let stream = watch(&table, server.config()).await;
    assert_eq!(server.listeners(table.schema()).await, 1);
    drop(stream);
    gone().await;

    let waiting = Waiting::new(server, table.schema()).await;
    waiting.free_in_silence().await;
    waiting.waiter.abort();
    waiting.client.close().await;
    gone().await;
}

#[tokio::test]
async fn watch_that_is_dropped_or_runs_out_of_time_leaves_no_session() {
    let table = Table::create().await;
    let server = server().await;
    let proxy = server.proxy().await;
    // At any moment of its beginning: while it connects, and while it waits for each answer.
    let mut whole = SOON;
    for moment in 0..40 {
        let provider = table.listening(server.pool(2), server.through(&proxy));
        let began = Instant::now();
        let opened = timeout(whole * moment / 30, provider.watch()).await;
        if matches!(opened, Ok(Ok(Some(_)))) {
            whole = whole.min(began.elapsed());
        }
    }
    assert!(whole < SOON, "it never listened");
    until("the sessions are gone", async || {
        server.listeners(table.schema()).await == 0
    })
    .await;

    proxy.hold(Direction::ToClient);
    let through = server.through(&proxy);
    let provider = listening_within(LIMIT, server.pool(2), table.schema(), through);
    let error = provider.watch().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotApplied, "{error}");
    proxy.heal();
    until("the session is gone", async || {
        server.listeners(table.schema()).await == 0
    })
    .await;
}

/// The log.
#[derive(Clone, Default)]
struct Logged(Arc<Mutex<Vec<u8>>>);

impl io::Write for Logged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn waiter_without_a_channel_polls_and_says_why() {
    let server = Server::start(&[]).await;
    let schema = fresh();
    let silent = on(server.pool(2), &schema);
    create(&silent).await;
    let role = "CREATE ROLE guarded LOGIN PASSWORD 'the right one'";
    server.client().await.batch_execute(role).await.unwrap();
    let mut wrong = server.config();
    wrong.user("guarded").password("the wrong one");
    let provider = listening(server.pool(2), &schema, wrong);
    let error = provider.watch().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");

    // For the whole program: whether a message is of interest is cached once for all threads.
    let logged = Logged::default();
    let writer = logged.clone();
    tracing_subscriber::fmt()
        .with_env_filter("dlock_core=debug")
        .with_writer(move || writer.clone())
        .init();
    let a = term("lock");
    silent.acquire(&a).await.unwrap();
    let lock = DLock::builder()
        .name("lock")
        .provider(provider)
        .build()
        .unwrap();
    let waiter = tokio::spawn(async move { lock.acquire().await });
    until("it says why", async || {
        let logged = logged.0.lock().unwrap();
        String::from_utf8_lossy(&logged).contains("password authentication failed")
    })
    .await;
    let release = Release::new(a.name.clone(), a.new, None);
    silent.release(&release).await.unwrap();
    let lease = timeout(SOON, waiter).await;
    drop(lease.expect("it does not poll").unwrap().unwrap());
    let logged = logged.0.lock().unwrap();
    assert!(!String::from_utf8_lossy(&logged).contains("the wrong one"));
}

#[tokio::test]
async fn way_through_a_pooler_is_noticed() {
    let server = Server::start(&[]).await;
    let schema = fresh();
    create(&on(server.pool(2), &schema)).await;
    let pooler = pgbouncer(server.port(), 2).await;
    let pooler = pooler.unwrap_or_else(|error| panic!("no pooler: {error}"));
    let way = local(pooler.place().port());
    let provider = listening_within(LIMIT, server.pool(2), &schema, way.clone());
    let mut stream = listens(&provider).await;
    // The session that was set up to listen now serves another client.
    let other = connect(&way).await;
    other.batch_execute("BEGIN").await.unwrap();
    let end = timeout(SOON, stream.next()).await;
    assert_eq!(end.expect("nobody notices"), None);
    other.batch_execute("COMMIT").await.unwrap();
}

async fn watch(table: &Table, listen: Config) -> Wakeups {
    let provider = table.listening(server().await.pool(2), listen);
    provider.watch().await.unwrap().expect("it listens")
}
