//! The provider keeps its promises when the wire to its server breaks.

use std::{net::SocketAddr, time::Duration};

use dlock_redis::RedisProvider;
use dlock_testkit::wire::Wired;

use crate::support::{Server, built, client};

struct Redis(Server);

impl Wired for Redis {
    type Provider = RedisProvider;

    /// The driver introduces itself.
    const HANDSHAKE: usize = 1;

    async fn start() -> Self {
        Self(Server::start(&[]).await)
    }

    fn server(&self) -> SocketAddr {
        self.0.address()
    }

    async fn provider(&self, address: SocketAddr, limit: Duration) -> RedisProvider {
        let provider = RedisProvider::builder().client(client(address));
        built(provider.call_timeout(limit).build())
    }
}

dlock_testkit::wire_conformance!(Redis);
