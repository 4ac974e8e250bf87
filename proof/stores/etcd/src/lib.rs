//! An etcd for tests: the crate `etcd-bin-vendored` has the program. Its tests are the published suites, and what
//! only etcd can do to a lock.

use std::{fmt::Debug, net::SocketAddr, process::Command, time::Duration};

use dlock_etcd::EtcdProvider;
use dlock_test_servers::{Place, Service, certificates::Certificates};
use etcd_client::{Client, ConnectOptions};

/// A server of one member, which ends with this value or with the process.
#[derive(Debug)]
pub struct Server {
    service: Service,
}

impl Server {
    /// An empty one.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn start() -> Self {
        let service = Service::builder(command).spawn(is_ready).await;
        Self {
            service: must("etcd does not start", service),
        }
    }

    /// An empty one that speaks TLS only.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn with_tls(certificates: &Certificates) -> Self {
        let over_tls = |place: &Place| {
            let clients = format!("https://127.0.0.1:{}", place.port());
            let mut command = command_at(place, &clients);
            command.arg("--cert-file").arg(&certificates.certificate);
            command.arg("--key-file").arg(&certificates.key);
            command
        };
        // It listens as soon as it can answer.
        let listens = |place: Place| async move { place.accepts_connections().await };
        Self {
            service: must(
                "etcd does not start",
                Service::builder(over_tls).spawn(listens).await,
            ),
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.service.place().port()).into()
    }

    /// A provider with a connection of its own.
    pub async fn provider(&self) -> EtcdProvider {
        provider(self.address(), Duration::from_secs(20)).await
    }

    /// Kills it without warning, and starts it again.
    ///
    /// # Panics
    /// If it does not come back.
    pub async fn restart(&mut self) {
        must("etcd is gone", self.service.restart(is_ready).await);
    }

    /// Sends it a signal.
    ///
    /// # Panics
    /// If that is not possible.
    pub fn signal(&mut self, name: &str) {
        must("no signal", self.service.signal(name));
    }
}

fn command(place: &Place) -> Command {
    command_at(place, &format!("http://127.0.0.1:{}", place.port()))
}

fn command_at(place: &Place, clients: &str) -> Command {
    let program = must(
        "no etcd for this machine",
        etcd_bin_vendored::etcd_bin_path(),
    );
    // It has no peers, so nobody asks at its address.
    let peers = "http://127.0.0.1:1";
    let mut command = Command::new(program);
    command.arg("--data-dir").arg(place.dir());
    command.args([
        "--listen-client-urls",
        clients,
        "--advertise-client-urls",
        clients,
    ]);
    command.args(["--listen-peer-urls", "http://127.0.0.1:0"]);
    command.args(["--initial-advertise-peer-urls", peers]);
    // Clients with leases of a second look after their connections oftener than etcd likes.
    command.args(["--grpc-keepalive-min-time", "1ms"]);
    command.args(["--initial-cluster", &format!("default={peers}")]);
    command
}

/// Whether it answers, if only to ask for a user.
async fn is_ready(place: Place) -> bool {
    let at = ([127, 0, 0, 1], place.port()).into();
    let mut client = client(at, Duration::from_secs(1)).await;
    match client.get("ready", None).await {
        Ok(_) => true,
        Err(error) => error.to_string().contains("user name is empty"),
    }
}

/// A client of the server at this address, whose calls end within this limit.
///
/// # Panics
/// If there can be none.
pub async fn client(address: SocketAddr, limit: Duration) -> Client {
    let options = ConnectOptions::new()
        .with_timeout(limit)
        .with_connect_timeout(limit)
        .with_keep_alive(limit / 16, limit / 16);
    let client = Client::connect([format!("http://{address}")], Some(options)).await;
    must("no client", client)
}

/// A provider at this address, whose calls end within this limit.
///
/// # Panics
/// If there can be none.
pub async fn provider(address: SocketAddr, limit: Duration) -> EtcdProvider {
    let client = client(address, limit).await;
    must("no provider", dlock_etcd::provider(client, "dlock"))
}

#[expect(clippy::panic, reason = "it is a test that fails here")]
fn must<T, E: Debug>(what: &str, result: Result<T, E>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{what}: {error:?}"),
    }
}
