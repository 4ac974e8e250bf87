//! A NATS server for tests: `scripts/nats-server` fetches the program. Its tests are the published suites, and the
//! cases that only NATS can cause for a lock.

use std::{env, ffi::OsString, net::SocketAddr, process::Command, time::Duration};

use async_nats::{Client, ConnectOptions, connection::State};
use dlock_nats::NatsProvider;
use dlock_test_servers::{Place, Service, must};
use tokio::net::TcpStream;

/// The bucket of the tests.
pub const BUCKET: &str = "locks";

/// A server with JetStream, which ends when this value is dropped or the process ends.
#[derive(Debug)]
pub struct Server {
    service: Service,
}

impl Server {
    /// A server with an empty bucket for locks.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn start() -> Self {
        let server = Self::bare("").await;
        let provider = server.provider().await;
        must("no bucket", provider.store().set_up(1).await);
        server
    }

    /// A server without buckets, with these additional settings.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn bare(settings: &str) -> Self {
        let settings = settings.to_owned();
        let command = move |place: &Place| command(place, &settings);
        let service = Service::builder(command).spawn(is_ready).await;
        Self {
            service: must("the NATS server does not start", service),
        }
    }

    /// The address that it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.service.place().port()).into()
    }

    /// A provider with a separate connection.
    pub async fn provider(&self) -> NatsProvider {
        provider(self.address(), Duration::from_secs(20)).await
    }

    /// Kills it without warning, and starts it again.
    ///
    /// # Panics
    /// If it does not come back.
    pub async fn restart(&mut self) {
        must(
            "the NATS server is gone",
            self.service.restart(is_ready).await,
        );
    }

    /// Kills it without warning, runs this while it is down, and starts it again.
    ///
    /// # Panics
    /// If it does not come back.
    pub async fn restart_after(&mut self, change: impl FnOnce()) {
        self.signal("KILL");
        self.until_down().await;
        change();
        self.restart().await;
    }

    /// Returns once no process listens: a signal takes a moment.
    pub async fn until_down(&self) {
        while self.service.place().accepts_connections().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
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

    /// The folder with its data.
    #[must_use]
    pub fn place(&self) -> &Place {
        self.service.place()
    }
}

fn command(place: &Place, settings: &str) -> Command {
    let unset = "set it to what scripts/nats-server prints";
    let program = env::var_os("DLOCK_TEST_NATS_SERVER").ok_or(unset);
    let program = must("DLOCK_TEST_NATS_SERVER", program);
    let file = place.dir().join("server.conf");
    must("no settings", std::fs::write(&file, settings));
    let port = place.port().to_string();
    let mut command = Command::new(program);
    command.args(["--addr", "127.0.0.1", "--port", &port]);
    command
        .arg("--jetstream")
        .arg("--store_dir")
        .arg(place.dir());
    command.arg("--config").arg(OsString::from(file));
    command
}

/// The server sends its greeting as soon as it can answer.
async fn is_ready(place: Place) -> bool {
    place.accepts_connections().await
}

/// A client of the server at this address, connected if the server listens. It notices within this limit that its
/// connection is dead.
///
/// # Panics
/// If it cannot be created.
pub async fn client(address: SocketAddr, limit: Duration) -> Client {
    let options = options(limit).retry_on_initial_connect();
    let client = must(
        "no client",
        options.connect(format!("nats://{address}")).await,
    );
    while client.connection_state() != State::Connected && TcpStream::connect(address).await.is_ok()
    {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    client
}

/// The settings of such a client.
#[must_use]
pub fn options(limit: Duration) -> ConnectOptions {
    ConnectOptions::new()
        // A connection that was accepted but not greeted is given up.
        .connection_timeout(limit / 8)
        .request_timeout(Some(limit))
        // The client gives a connection up after two pings without an answer.
        .ping_interval(limit / 24)
        .reconnect_delay_callback(|attempts| {
            // At once, as by default, and then at a constant rate.
            Duration::from_millis(if attempts <= 1 { 0 } else { 100 })
        })
}

/// A provider at this address, whose calls end within this limit.
///
/// # Panics
/// If it cannot be created.
pub async fn provider(address: SocketAddr, limit: Duration) -> NatsProvider {
    let client = client(address, limit).await;
    must("no provider", dlock_nats::provider(client, BUCKET, "dlock"))
}
