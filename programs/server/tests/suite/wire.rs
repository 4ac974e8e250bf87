//! A provider behind a server keeps its promises when the connection to the server breaks, and when a server
//! stops.

use std::{net::SocketAddr, time::Duration};

use dlock_core::{
    DLock, Provider,
    provider::{Acquire, AcquireOutcome},
};
use dlock_http::HttpProvider;
use dlock_testkit::{proxy::Proxy, wire::Wired};
use uuid::Uuid;

use crate::support::{Served, connect, serve};

struct Http(Served);

impl Wired for Http {
    type Provider = HttpProvider;

    /// The store's capabilities are queried once, at the beginning.
    const HANDSHAKE: usize = 0;

    async fn start() -> Self {
        Self(Served::start().await)
    }

    fn server(&self) -> SocketAddr {
        self.0.address
    }

    async fn provider(&self, address: SocketAddr, limit: Duration) -> HttpProvider {
        connect(&[address], limit).await
    }
}

dlock_testkit::wire_conformance!(Http);

/// A limit of calls, and a lease, that a busy machine keeps.
const LONG: Duration = Duration::from_secs(60);

/// N1: no part of a lease is in a server.
#[tokio::test(flavor = "multi_thread")]
async fn lease_goes_on_at_the_next_server_when_one_is_gone() {
    let served = Served::start().await;
    let second = serve(&served.file).await;
    let proxy = Proxy::start(served.address).await.unwrap();
    let provider = connect(&[proxy.address(), second], LONG).await;
    let lock = DLock::builder()
        .name("door")
        .duration(LONG)
        .provider(provider.clone())
        .build()
        .unwrap();
    let mut lease = lock.acquire().await.unwrap();
    proxy.refuse().await;
    proxy.reset();
    // A request on a connection that breaks may have been applied: it is repeated.
    if lease.renew().await.is_err() {
        lease.renew().await.unwrap();
    }
    let rival = Acquire::new("door".try_into().unwrap(), Uuid::new_v4(), LONG);
    let refused = provider.acquire(&rival).await.unwrap();
    assert!(matches!(refused, AcquireOutcome::Held(_)), "{refused:?}");
    lease.release().await.unwrap();
    let granted = provider.acquire(&rival).await.unwrap();
    assert!(
        matches!(granted, AcquireOutcome::Acquired(_)),
        "{granted:?}"
    );
}
