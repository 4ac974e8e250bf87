//! Common parts of the tests: a server, connections to it, and small helpers.

use std::{env, net::SocketAddr, time::Duration};

use dlock_core::{Name, provider::Acquire};
use dlock_postgres::{
    PostgresProvider,
    deadpool_postgres::{
        Manager, ManagerConfig, Pool, RecyclingMethod,
        tokio_postgres::{
            Client, Config, NoTls,
            config::Host,
            types::{ToSql, Type},
        },
    },
};
use dlock_test_servers::{
    Service,
    postgres::{is_ready, postgres},
};
use dlock_testkit::proxy::Proxy;
use tokio::{net::lookup_host, sync::OnceCell, time::Instant};
use uuid::Uuid;

/// Long enough to outlast any test.
pub(crate) const LONG: Duration = Duration::from_secs(600);
/// The limit of a call in tests of something else: opening a connection counts towards it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A PostgreSQL server.
pub(crate) struct Server {
    config: Config,
    /// Our own, unless the user of the tests named a server.
    pub(crate) service: Option<Service>,
}

/// The server that the tests of this program share: a new one, or the one that
/// `DLOCK_TEST_POSTGRES_URL` names. Each test works in a database schema of its own.
pub(crate) async fn server() -> &'static Server {
    static SERVER: OnceCell<Server> = OnceCell::const_new();
    SERVER
        .get_or_init(|| async {
            match env::var("DLOCK_TEST_POSTGRES_URL") {
                Ok(url) => Server {
                    config: url.parse().unwrap_or_else(|_| {
                        panic!("DLOCK_TEST_POSTGRES_URL is no URL of a server")
                    }),
                    service: None,
                },
                Err(_) => Server::start(&[]).await,
            }
        })
        .await
}

impl Server {
    /// A server for one test.
    pub(crate) async fn start(settings: &[&str]) -> Self {
        let settings = [&["max_connections=400"], settings].concat();
        match postgres(&settings).await {
            Ok(service) => Self::on(service),
            Err(error) => panic!("no PostgreSQL server for the tests: {error}"),
        }
    }

    pub(crate) fn on(service: Service) -> Self {
        Self {
            config: local(service.place().port()),
            service: Some(service),
        }
    }

    /// Kills the server, as a crash does, and starts it again.
    pub(crate) async fn crash(&mut self) {
        let service = self.service.as_mut().expect("a server of ours");
        service
            .restart(|place| async move { is_ready(&place) })
            .await
            .unwrap();
    }

    /// The port of a server of ours.
    pub(crate) fn port(&self) -> u16 {
        self.config.get_ports().first().copied().unwrap_or(5432)
    }

    pub(crate) fn config(&self) -> Config {
        self.config.clone()
    }

    pub(crate) fn pool(&self, size: usize) -> Pool {
        pool(self.config(), size)
    }

    /// The address on which it listens.
    pub(crate) async fn address(&self) -> SocketAddr {
        let host = match self.config.get_hosts() {
            [Host::Tcp(host), ..] => (host.as_str(), self.port()),
            hosts => panic!("a proxy needs a server on TCP, not {hosts:?}"),
        };
        lookup_host(host).await.unwrap().next().unwrap()
    }

    /// A proxy in front of it.
    pub(crate) async fn proxy(&self) -> Proxy {
        Proxy::start(self.address().await).await.unwrap()
    }

    /// The settings for a connection through a proxy.
    pub(crate) fn through(&self, proxy: &Proxy) -> Config {
        self.at(proxy.address())
    }

    /// The settings for a connection through this address, which leads to it.
    pub(crate) fn at(&self, address: SocketAddr) -> Config {
        let mut config = Config::new();
        config
            .host(address.ip().to_string())
            .port(address.port())
            .user(self.config.get_user().unwrap_or("postgres"))
            .dbname(self.config.get_dbname().unwrap_or("postgres"));
        if let Some(password) = self.config.get_password() {
            config.password(password);
        }
        config
    }

    /// A connection that is not from a pool.
    pub(crate) async fn client(&self) -> Client {
        connect(&self.config).await
    }

    /// How many of its sessions listen for the locks in this database schema.
    pub(crate) async fn listeners(&self, schema: &str) -> usize {
        let find = "SELECT FROM pg_stat_activity WHERE application_name = $1";
        let found = self.client().await.query(find, &[&schema]).await;
        found.unwrap().len()
    }

    /// The sessions that wait for a lock of the server, in a statement with this text, for example a database schema.
    pub(crate) async fn blocked(&self, text: &str) -> Vec<i32> {
        blocked(&self.client().await, text).await
    }

    /// From now on the functions of this database schema wait for a row as long as it is locked.
    pub(crate) async fn wait_for_rows(&self, schema: &str) {
        let alter = include_str!("../wait_for_rows.sql").replace("{schema}", schema);
        self.client().await.batch_execute(&alter).await.unwrap();
    }

    /// A provider in a new database schema, over a pool of this size.
    pub(crate) async fn provider(&self, size: usize) -> PostgresProvider {
        let provider = on(self.pool(size), &fresh());
        create(&provider).await;
        provider
    }
}

/// [`Server::blocked`] over this connection: a new one for each look takes long on a busy machine.
pub(crate) async fn blocked(client: &Client, text: &str) -> Vec<i32> {
    let find =
        "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND strpos(query, $1) > 0";
    let sessions = client.query(find, &[&text]).await.unwrap();
    sessions.iter().map(|session| session.get(0)).collect()
}

/// The settings for a server of ours, or a proxy in front of it.
pub(crate) fn local(port: u16) -> Config {
    let mut config = Config::new();
    config
        .host("127.0.0.1")
        .port(port)
        .user("postgres")
        .dbname("postgres");
    config
}

pub(crate) fn pool(config: Config, size: usize) -> Pool {
    let recycling = ManagerConfig {
        recycling_method: RecyclingMethod::Fast,
    };
    Pool::builder(Manager::from_config(config, NoTls, recycling))
        .max_size(size)
        .build()
        .unwrap()
}

/// A provider over this pool, in this database schema.
pub(crate) fn on(pool: Pool, schema: &str) -> PostgresProvider {
    PostgresProvider::builder()
        .pool(pool)
        .schema(schema)
        .call_timeout(PATIENCE)
        .build()
        .unwrap()
}

/// The same, but notifying the listeners of others, without one of its own.
pub(crate) fn telling(pool: Pool, schema: &str) -> PostgresProvider {
    PostgresProvider::builder()
        .pool(pool)
        .schema(schema)
        .notify(true)
        .call_timeout(PATIENCE)
        .build()
        .unwrap()
}

/// The same as [`on`], but listening for wake-ups on a connection with these settings. The connection is named after
/// the schema, so that it can be found among the sessions of the server.
pub(crate) fn listening(pool: Pool, schema: &str, listen: Config) -> PostgresProvider {
    listening_within(PATIENCE, pool, schema, listen)
}

/// The same with this limit of a call, within which the connection that listens has to answer, too.
pub(crate) fn listening_within(
    limit: Duration,
    pool: Pool,
    schema: &str,
    mut listen: Config,
) -> PostgresProvider {
    listen.application_name(schema);
    PostgresProvider::builder()
        .pool(pool)
        .schema(schema)
        .call_timeout(limit)
        .listen(listen, NoTls)
        .build()
        .unwrap()
}

pub(crate) async fn create(provider: &PostgresProvider) {
    provider
        .create_schema()
        .await
        .unwrap_or_else(|error| panic!("the schema could not be made: {error:?}"));
}

pub(crate) async fn connect(config: &Config) -> Client {
    let (client, connection) = config.connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// The name of an unused database schema.
pub(crate) fn fresh() -> String {
    format!("test-{}", Uuid::new_v4().simple())
}

pub(crate) fn name(name: &str) -> Name {
    Name::new(name).unwrap()
}

/// An attempt whose lease outlasts the test.
pub(crate) fn term(lock: &str) -> Acquire {
    Acquire::new(name(lock), Uuid::new_v4(), LONG).owner("a test")
}

/// Waits until a condition holds.
pub(crate) async fn until(what: &str, mut so: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !so().await {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// A table of locks in a new database schema.
pub(crate) struct Table {
    schema: String,
    pool: Pool,
}

impl Table {
    /// On the shared server.
    pub(crate) async fn create() -> Self {
        Self::create_over(server().await.pool(2)).await
    }

    pub(crate) async fn create_over(pool: Pool) -> Self {
        let schema = fresh();
        create(&on(pool.clone(), &schema)).await;
        Self { schema, pool }
    }

    pub(crate) fn schema(&self) -> &str {
        &self.schema
    }

    pub(crate) fn provider(&self, pool: Pool) -> PostgresProvider {
        on(pool, &self.schema)
    }

    /// A provider that listens for wake-ups, on a connection with these settings.
    pub(crate) fn listening(&self, pool: Pool, listen: Config) -> PostgresProvider {
        listening(pool, &self.schema, listen)
    }

    /// Moves an expiry into the past, unnoticed by the provider. Returns whether there was one.
    pub(crate) async fn age(&self, name: &Name, by: Duration) -> bool {
        let update = format!(
            "UPDATE \"{}\".lock SET expiry = expiry - $2 * interval '1 second' WHERE prefix = '' AND name = $1 RETURNING name",
            self.schema
        );
        let client = self.pool.get().await.unwrap();
        let parameters: [(&(dyn ToSql + Sync), Type); 2] = [
            (&name.as_str(), Type::TEXT),
            (&by.as_secs_f64(), Type::FLOAT8),
        ];
        // Unnamed, like the provider's own statements: the pooler keeps nothing prepared.
        let aged = client.query_typed(&update, &parameters).await;
        aged.is_ok_and(|aged| aged.len() == 1)
    }
}
