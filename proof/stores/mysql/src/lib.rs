//! A MariaDB for tests, from the packages of the system. Its tests are the published suites, and the cases that only
//! this server can cause for a lock.

use std::{net::SocketAddr, process::Command, time::Duration};

use dlock_mysql::MysqlProvider;
use dlock_test_servers::{Place, Service, must};
use mysql_async::{Conn, OptsBuilder, PoolConstraints, PoolOpts, prelude::Queryable};
use tokio::{sync::OnceCell, time::timeout};
use uuid::Uuid;

/// A server, which ends when this value is dropped or the process ends. Any client on 127.0.0.1 may connect as `root`.
#[derive(Debug)]
pub struct Server {
    service: Service,
}

/// The server that the tests of a program share. Each works in its own database.
///
/// # Panics
/// If it does not start.
pub async fn server() -> &'static Server {
    static SERVER: OnceCell<Server> = OnceCell::const_new();
    SERVER.get_or_init(|| Server::start(&[])).await
}

impl Server {
    /// An empty server, with these additional arguments.
    ///
    /// # Panics
    /// If it is not installed or does not start.
    pub async fn start(settings: &[&str]) -> Self {
        let command = |place: &Place| {
            let mut shell = Command::new("sh");
            shell.args(["-euc", include_str!("mariadb.sh"), "sh"]);
            shell.arg(place.port().to_string()).args(settings);
            shell
        };
        let service = Service::builder(command).spawn(is_ready).await;
        Self {
            service: must("MariaDB does not start", service),
        }
    }

    /// The address that it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.service.place().port()).into()
    }

    /// A connection of `root`, in no database.
    ///
    /// # Panics
    /// If the server refuses it.
    pub async fn root(&self) -> Conn {
        must("no connection", Conn::new(root_at(self.address())).await)
    }

    /// A new database, without a table.
    ///
    /// # Panics
    /// If it cannot be made.
    pub async fn database(&self) -> Database {
        self.database_named(&format!("test_{}", Uuid::new_v4().simple()))
            .await
    }

    /// The same with this name.
    ///
    /// # Panics
    /// If it cannot be made.
    pub async fn database_named(&self, name: &str) -> Database {
        let create = format!("CREATE DATABASE `{name}`");
        must("no database", self.root().await.query_drop(create).await);
        Database {
            name: name.into(),
            address: self.address(),
        }
    }

    /// Kills it without warning, and starts it again.
    ///
    /// # Panics
    /// If it does not come back.
    pub async fn restart(&mut self) {
        must("MariaDB is gone", self.service.restart(is_ready).await);
    }

    /// Stops it until it gets `CONT`. Meanwhile it answers nothing.
    ///
    /// # Panics
    /// If that fails.
    pub async fn freeze(&mut self) {
        must("it does not stop", self.service.freeze().await);
    }

    /// Sends it a signal.
    ///
    /// # Panics
    /// If that fails.
    pub fn signal(&mut self, name: &str) {
        must("no signal", self.service.signal(name));
    }
}

/// A database on a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Database {
    /// Its name.
    pub name: String,
    /// The address of its server.
    pub address: SocketAddr,
}

impl Database {
    /// The options of a connection to it, with a pool of at most this size.
    #[must_use]
    pub fn options(&self, size: usize) -> OptsBuilder {
        self.through(self.address, size)
    }

    /// The options of a connection to it through an address that leads to its server.
    ///
    /// The pool keeps every connection that it has opened: a connection that it closes sends a goodbye, at any time,
    /// and a fault of the proxy that is meant for a call would strike that instead.
    ///
    /// # Panics
    /// If no pool can have this size.
    #[must_use]
    pub fn through(&self, address: SocketAddr, size: usize) -> OptsBuilder {
        let constraints = PoolConstraints::new(size, size);
        let pool = PoolOpts::new().with_constraints(must("no pool", constraints.ok_or(size)));
        root_at(address)
            .db_name(Some(self.name.clone()))
            .pool_opts(pool)
    }

    /// A connection of `root`.
    ///
    /// # Panics
    /// If the server refuses it.
    pub async fn connection(&self) -> Conn {
        must("no connection", Conn::new(self.options(1)).await)
    }

    /// Runs statements as `root`.
    ///
    /// # Panics
    /// If one fails.
    pub async fn run(&self, statements: &str) {
        let done = self.connection().await.query_drop(statements).await;
        must("a statement failed", done);
    }

    /// A provider over a pool of this size, with its table.
    ///
    /// # Panics
    /// If it cannot be made.
    pub async fn provider(&self, size: usize) -> MysqlProvider {
        let provider = provider(self.options(size), Duration::from_secs(20));
        must("no schema", provider.create_schema().await);
        provider
    }
}

/// A provider with these options, whose calls end within this limit.
///
/// # Panics
/// If it cannot be created.
#[must_use]
pub fn provider(options: OptsBuilder, limit: Duration) -> MysqlProvider {
    let provider = MysqlProvider::builder()
        .options(options)
        .call_timeout(limit)
        .build();
    must("no provider", provider)
}

fn root_at(address: SocketAddr) -> OptsBuilder {
    OptsBuilder::default()
        .ip_or_hostname(address.ip().to_string())
        .tcp_port(address.port())
        .user(Some("root"))
        .prefer_socket(false)
}

/// Whether the server answers clients, if only to refuse them.
async fn is_ready(place: Place) -> bool {
    let at = ([127, 0, 0, 1], place.port()).into();
    match timeout(Duration::from_secs(5), Conn::new(root_at(at))).await {
        Ok(Ok(_) | Err(mysql_async::Error::Server(_))) => true,
        Ok(Err(_)) | Err(_) => false,
    }
}
