//! Locks behind a server pass the suite that locks in a store pass: the way over HTTP takes nothing away.

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use dlock_core::provider::{Admin, Capabilities, Discipline};
use dlock_http::{HttpProvider, Server};
use dlock_server::{Limits, Service, router};
use dlock_sqlite::SqliteProvider;
use dlock_testkit::Fixture;
use tokio::net::TcpListener;

/// A server before a file.
struct Http {
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

async fn serve(file: PathBuf) -> SocketAddr {
    let store = SqliteProvider::open(file).unwrap_or_else(|error| panic!("{error}"));
    let service = Service::new(Arc::new(store), Limits::default());
    let listener = TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.unwrap_or_else(|error| panic!("no port: {error}"));
    let address = listener.local_addr().unwrap_or_else(|error| panic!("{error}"));
    tokio::spawn(async move { axum::serve(listener, router(&service)).await });
    address
}

impl Fixture for Http {
    type Provider = HttpProvider;

    const CAPABILITIES: Capabilities = Capabilities::new("http", Discipline::StoreClock)
        .closing(true)
        .watch(true)
        .batch(true);

    // "default/" stands before each name.
    const NAME_BYTES: usize = dlock_core::Name::MAX_BYTES - 8;

    // Other tests keep the machine busy.
    const UNANSWERED: u32 = 2;

    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("no folder: {error}"));
        Self {
            address: serve(folder.path().join("locks.db")).await,
            _folder: folder,
        }
    }

    async fn provider(&self) -> HttpProvider {
        let address = format!("http://{}", self.address);
        let server = Server::new(reqwest::Client::new(), [&*address]);
        let server = server.unwrap_or_else(|error| panic!("{error}"));
        let connected = HttpProvider::connect(server).await;
        connected.unwrap_or_else(|error| panic!("{error}"))
    }

    fn admin(provider: &HttpProvider) -> Option<Arc<dyn Admin>> {
        Some(Arc::new(provider.clone()))
    }
}

dlock_testkit::conformance!(Http, without [prefix, purge]);
