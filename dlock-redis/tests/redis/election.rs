//! Elections on a server, through a network that breaks.

use std::{net::SocketAddr, time::Duration};

use dlock_proof::election::Electorate;
use dlock_redis::{Channels, RedisProvider};

use crate::support::{Server, built, client};

pub(crate) struct Redis(Server);

impl Electorate for Redis {
    type Provider = RedisProvider;

    async fn start() -> Self {
        Self(Server::start(&[]).await)
    }

    fn server(&self) -> Option<SocketAddr> {
        Some(self.0.address())
    }

    async fn provider(&self, address: Option<SocketAddr>, limit: Duration) -> RedisProvider {
        let address = address.unwrap_or_else(|| self.0.address());
        let provider = RedisProvider::builder()
            .client(client(address))
            .wakeups(Channels::Plain)
            .call_timeout(limit);
        built(provider.build())
    }
}

dlock_proof::election_stories!(Redis);
