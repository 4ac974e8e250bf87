//! A connection that leads to a server that no longer accepts writes, or to none.

use std::net::SocketAddr;

use dlock_proof::stores::{
    one_call_leaves_a_server_that_only_reads, one_call_leaves_silent_connections,
};
use dlock_redis::RedisProvider;
use dlock_testkit::proxy::Proxy;

use crate::support::{SOON, Server, built, caught_up, client, replicated};

/// The provider keeps one, which its calls share.
const CONNECTIONS: usize = 1;

fn provider(address: SocketAddr) -> RedisProvider {
    let provider = RedisProvider::builder().client(client(address));
    built(provider.call_timeout(SOON).build())
}

#[tokio::test]
async fn one_call_leaves_a_primary_that_became_read_only() {
    let (old, new) = replicated().await;
    let proxy = Proxy::start(old.address()).await.unwrap();
    let provider = provider(proxy.address());
    one_call_leaves_a_server_that_only_reads(provider, &proxy, CONNECTIONS, async || {
        caught_up(&old).await;
        new.ask::<()>("REPLICAOF NO ONE").await;
        let follow = format!("REPLICAOF 127.0.0.1 {}", new.port());
        old.ask::<()>(&follow).await;
        new.address()
    })
    .await;
}

#[tokio::test]
async fn one_call_leaves_a_connection_that_was_silent() {
    let server = Server::start(&[]).await;
    one_call_leaves_silent_connections(server.address(), CONNECTIONS, async |through| {
        provider(through)
    })
    .await;
}
