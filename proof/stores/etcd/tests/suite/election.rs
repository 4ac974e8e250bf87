//! Elections on a server. A wrapper of the provider delays and loses the answers, not a proxy: a proxy that delays each
//! piece of a reply delays a reply of HTTP/2 several times.

use std::{net::SocketAddr, time::Duration};

use dlock_etcd::EtcdProvider;
use dlock_etcd_proof::{Server, provider};
use dlock_proof::election::Electorate;

pub(crate) struct Etcd(Server);

impl Electorate for Etcd {
    type Provider = EtcdProvider;

    async fn start() -> Self {
        Self(Server::start().await)
    }

    fn server(&self) -> Option<SocketAddr> {
        None
    }

    async fn provider(&self, _: Option<SocketAddr>, limit: Duration) -> EtcdProvider {
        provider(self.0.address(), limit).await
    }
}

dlock_proof::election_stories!(Etcd);
