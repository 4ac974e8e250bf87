//! An etcd for tests: the crate `etcd-bin-vendored` contains the program. Its tests are the published suites, and the
//! cases that only etcd can cause for a lock.

use std::{net::SocketAddr, path::Path, time::Duration};

use dlock_etcd::EtcdProvider;
use dlock_test_servers::{
    Place, Service,
    certificates::Certificates,
    etcd::{command, is_ready},
    must,
};
use etcd_client::{Client, ConnectOptions};

/// A server of one member, which ends when this value is dropped or the process ends.
#[derive(Debug)]
pub struct Server {
    service: Service,
}

impl Server {
    /// An empty server.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn start() -> Self {
        let program = program();
        let plain = |place: &Place| command(program, place, "http");
        let service = Service::builder(plain).spawn(is_ready).await;
        Self {
            service: must("etcd does not start", service),
        }
    }

    /// An empty server whose authentication tokens are JSON web tokens.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn with_web_tokens() -> Self {
        let program = program();
        let secret = must("no file", tempfile::NamedTempFile::new());
        must(
            "no secret",
            std::fs::write(secret.path(), "a secret of this test alone"),
        );
        let tokens = format!("jwt,sign-method=HS256,priv-key={}", secret.path().display());
        let signing = |place: &Place| {
            let mut command = command(program, place, "http");
            command.args(["--auth-token", &tokens]);
            command
        };
        let service = Service::builder(signing).spawn(is_ready).await;
        Self {
            service: must("etcd does not start", service),
        }
    }

    /// An empty server that uses only TLS, with these additional arguments.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn with_tls(certificates: &Certificates, settings: &[&str]) -> Self {
        let program = program();
        let over_tls = |place: &Place| {
            let mut command = command(program, place, "https");
            command.arg("--cert-file").arg(&certificates.certificate);
            command.arg("--key-file").arg(&certificates.key);
            command.args(settings);
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

    /// The address that it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.service.place().port()).into()
    }

    /// A provider with a separate connection.
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

fn program() -> &'static Path {
    must(
        "no etcd for this machine",
        etcd_bin_vendored::etcd_bin_path(),
    )
}

/// A client of the server at this address, whose calls end within this limit.
///
/// # Panics
/// If it cannot be created.
pub async fn client(address: SocketAddr, limit: Duration) -> Client {
    let options = ConnectOptions::new()
        .with_timeout(limit)
        .with_connect_timeout(limit)
        .with_keep_alive(limit / 16, limit / 16)
        .with_keep_alive_while_idle(false);
    let client = Client::connect([format!("http://{address}")], Some(options)).await;
    must("no client", client)
}

/// A provider at this address, whose calls end within this limit.
///
/// # Panics
/// If it cannot be created.
pub async fn provider(address: SocketAddr, limit: Duration) -> EtcdProvider {
    let client = client(address, limit).await;
    must("no provider", dlock_etcd::provider(client, "dlock"))
}
