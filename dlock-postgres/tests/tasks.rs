//! The queue in a user's database: the suite for stores of tasks, and PostgreSQL's own cases.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test panics where it fails")]

use dlock_postgres::{
    deadpool_postgres::{
        Manager, ManagerConfig, Pool, RecyclingMethod,
        tokio_postgres::{Client, Config, NoTls},
    },
    tasks::PostgresTasks,
};
use dlock_tasks::{Claim, ClaimKey, ClaimedTask, Ended, Ending, How, NewTask, TaskStore};
use dlock_test_servers::{Service, postgres::postgres};
use dlock_testkit::tasks::TaskFixture;
use std::time::Duration;

use tokio::{sync::OnceCell, task::JoinHandle, time::sleep};
use uuid::Uuid;

/// The settings for the server that all tests share: a new one, or the one that `DLOCK_TEST_POSTGRES_URL` names.
async fn server() -> Config {
    static SERVER: OnceCell<(Config, Option<Service>)> = OnceCell::const_new();
    let start = || async {
        if let Ok(url) = std::env::var("DLOCK_TEST_POSTGRES_URL") {
            let config = url.parse();
            return (
                config.unwrap_or_else(|_| panic!("DLOCK_TEST_POSTGRES_URL is no URL of a server")),
                None,
            );
        }
        let service = match postgres(&["max_connections=400"]).await {
            Ok(service) => service,
            Err(error) => panic!("no PostgreSQL server for the tests: {error}"),
        };
        let mut config = Config::new();
        config.host("127.0.0.1").port(service.place().port());
        config.user("postgres").dbname("postgres");
        (config, Some(service))
    };
    SERVER.get_or_init(start).await.0.clone()
}

fn pool(config: Config, size: usize) -> Pool {
    let recycling = ManagerConfig {
        recycling_method: RecyclingMethod::Fast,
    };
    let manager = Manager::from_config(config, NoTls, recycling);
    Pool::builder(manager).max_size(size).build().unwrap()
}

/// Long enough to outlast any test.
const LONG: Duration = Duration::from_secs(600);

async fn connect(config: &Config) -> Client {
    let (client, connection) = config.connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// A separate database for a test, created with these options.
async fn database(how: &str) -> Config {
    let name = format!("test-{}", Uuid::new_v4().simple());
    let mut config = server().await;
    let make = format!("CREATE DATABASE \"{name}\" {how}");
    connect(&config).await.batch_execute(&make).await.unwrap();
    config.dbname(&name);
    config
}

fn task() -> NewTask {
    NewTask::builder().kind("invoice").build()
}

/// A claim of a new worker.
fn claim(lease: Duration) -> Claim {
    Claim::new(NewTask::QUEUE, Uuid::new_v4(), lease).owner("worker")
}

async fn take(tasks: &PostgresTasks, lease: Duration) -> ClaimedTask {
    tasks.claim(&claim(lease)).await.unwrap().tasks.remove(0)
}

async fn finish(tasks: &PostgresTasks, key: ClaimKey, how: How) -> Ended {
    tasks.finish(&[Ending::new(key, how)]).await.unwrap()[0]
}

/// A queue in a database schema of its own.
struct Postgres {
    schema: String,
}

impl Postgres {
    /// A store of this queue whose pool has that many connections.
    async fn tasks(&self, connections: usize) -> PostgresTasks {
        let pool = pool(server().await, connections);
        let tasks = PostgresTasks::builder().pool(pool).schema(&self.schema);
        // Sixteen tests that make their schemas at once take longer on a busy machine than a call may by default.
        let tasks = tasks.call_timeout(Duration::from_secs(60));
        tasks.build().unwrap()
    }

    /// A store that listens for hints.
    async fn listening(&self, connections: usize) -> PostgresTasks {
        let config = server().await;
        let tasks = PostgresTasks::builder()
            .pool(pool(config.clone(), connections))
            .schema(&self.schema)
            .listen(config, NoTls);
        tasks.build().unwrap()
    }

    /// A connection that is not from a pool, whose unqualified names are those of the queue.
    async fn client(&self) -> Client {
        let client = connect(&server().await).await;
        let path = format!("SET search_path = \"{}\", public", self.schema);
        client.batch_execute(&path).await.unwrap();
        client
    }

    /// From now on the functions of the queue wait for a row as long as it is locked.
    async fn wait_for_rows(&self) {
        let alter = include_str!("wait_for_rows.sql").replace("{schema}", &self.schema);
        self.client().await.batch_execute(&alter).await.unwrap();
    }

    /// Waits until another session waits for this one; the call of that session must not have been answered.
    async fn until_blocked_by<T>(&self, session: &Client, call: &JoinHandle<T>) {
        const PID: &str = "SELECT pg_backend_pid()";
        const WAITS: &str = "SELECT FROM pg_stat_activity WHERE $1 = ANY(pg_blocking_pids(pid))";
        let pid: i32 = session.query_one(PID, &[]).await.unwrap().get(0);
        let watcher = self.client().await;
        while watcher.query_opt(WAITS, &[&pid]).await.unwrap().is_none() {
            assert!(!call.is_finished(), "it has to wait for the other session");
            sleep(Duration::from_millis(2)).await;
        }
    }
}

impl TaskFixture for Postgres {
    type Store = PostgresTasks;

    async fn start() -> Self {
        let schema = format!("test-{}", Uuid::new_v4().simple());
        let queue = Self { schema };
        let made = queue.tasks(1).await.create_schema().await;
        made.unwrap_or_else(|error| panic!("the schema could not be made: {error:?}"));
        queue
    }

    async fn store(&self) -> PostgresTasks {
        self.listening(4).await
    }
}

mod suite {
    dlock_testkit::task_store!(super::Postgres);
}

#[path = "tasks/bound.rs"]
mod bound;
#[path = "tasks/columns.rs"]
mod columns;
#[path = "tasks/concurrency.rs"]
mod concurrency;
#[path = "tasks/cost.rs"]
mod cost;
#[path = "tasks/cursors.rs"]
mod cursors;
#[path = "tasks/durability.rs"]
mod durability;
#[path = "tasks/hints.rs"]
mod hints;
#[path = "tasks/lanes.rs"]
mod lanes;
#[path = "tasks/large.rs"]
mod large;
#[path = "tasks/prepared.rs"]
mod prepared;
#[path = "tasks/rights.rs"]
mod rights;
#[path = "tasks/rows.rs"]
mod rows;
#[path = "tasks/schema.rs"]
mod schema;
#[path = "tasks/transactions.rs"]
mod transactions;
