//! The queue in a database of the user's: the suite for stores of tasks, and what is PostgreSQL's own.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test panics where it fails")]

use dlock_postgres::{
    deadpool_postgres::{
        Manager, ManagerConfig, Pool, RecyclingMethod,
        tokio_postgres::{Client, Config, NoTls},
    },
    tasks::PostgresTasks,
};
use dlock_test_servers::{Service, postgres::postgres};
use dlock_testkit::tasks::TaskFixture;
use tokio::sync::OnceCell;
use uuid::Uuid;

/// The way to the server that all tests share: a new one, or the one that `DLOCK_TEST_POSTGRES_URL` names.
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

/// A queue in a database schema of its own.
struct Postgres {
    schema: String,
}

impl Postgres {
    /// A way to it whose pool has so many connections.
    async fn tasks(&self, connections: usize) -> PostgresTasks {
        let pool = pool(server().await, connections);
        let tasks = PostgresTasks::builder().pool(pool).schema(&self.schema);
        tasks.build().unwrap()
    }

    async fn client() -> Client {
        let (client, connection) = server().await.connect(NoTls).await.unwrap();
        tokio::spawn(connection);
        client
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
        self.tasks(4).await
    }
}

mod suite {
    dlock_testkit::task_store!(super::Postgres);
}
