//! The provider keeps its promises when the wire to its server breaks.

use std::{net::SocketAddr, time::Duration};

use dlock_etcd::EtcdProvider;
use dlock_etcd_proof::Server;
use dlock_testkit::{proxy::Protocol, wire::Wired};
use etcd_client::{Client, ConnectOptions};

struct Etcd(Server);

impl Wired for Etcd {
    type Provider = EtcdProvider;

    /// A connection begins with the first call.
    const HANDSHAKE: usize = 0;

    const PROTOCOL: Protocol = Protocol::Http2;

    /// All calls share the connection, and so does the watch. Pings detect that it is dead.
    const SHARED: bool = true;

    // An attempt has a sixth of it, in which pings must detect a dead connection, and on a busy machine no live one.
    const LEASE: Duration = Duration::from_secs(4);

    async fn start() -> Self {
        Self(Server::start().await)
    }

    fn server(&self) -> SocketAddr {
        self.0.address()
    }

    async fn provider(&self, address: SocketAddr, limit: Duration) -> EtcdProvider {
        // A late answer also holds up the answers to pings, and the suite delays some answers by a tenth of the limit.
        // Both together are less than an attempt has.
        let options = ConnectOptions::new()
            .with_timeout(limit)
            .with_connect_timeout(limit)
            .with_keep_alive(limit / 50, limit / 8)
            .with_keep_alive_while_idle(false);
        let client = Client::connect([format!("http://{address}")], Some(options)).await;
        dlock_etcd::provider(client.unwrap(), "dlock").unwrap()
    }
}

dlock_testkit::wire_conformance!(Etcd);
