//! Elections on a server. A wrapper of the provider delays and loses the answers, not a proxy: a proxy that delays each
//! answer of the server delays a call with two requests twice.

use std::{net::SocketAddr, time::Duration};

use dlock_nats::NatsProvider;
use dlock_nats_proof::{Server, provider};
use dlock_proof::election::Electorate;

pub(crate) struct Nats(Server);

impl Electorate for Nats {
    type Provider = NatsProvider;

    async fn start() -> Self {
        Self(Server::start().await)
    }

    fn server(&self) -> Option<SocketAddr> {
        None
    }

    async fn provider(&self, _: Option<SocketAddr>, limit: Duration) -> NatsProvider {
        provider(self.0.address(), limit).await
    }
}

dlock_proof::election_stories!(Nats);
