//! A server that is down is not asked to death.

use std::time::Duration;

use dlock_proof::outage::is_ridden_out_at_one_pace;
use dlock_testkit::proxy::Proxy;

use crate::support::{Server, client, provider};

async fn ridden_out(duration: Duration) {
    let server = Server::start(&[]).await;
    let proxy = Proxy::start(server.address()).await.unwrap();
    let provider = provider(client(proxy.address()));
    is_ridden_out_at_one_pace(provider, &proxy, server.address(), duration).await;
}

#[tokio::test]
async fn outage_is_ridden_out_at_one_pace_with_short_leases() {
    ridden_out(Duration::from_secs(1)).await;
}

#[tokio::test]
async fn outage_is_ridden_out_at_one_pace_with_long_leases() {
    ridden_out(Duration::from_secs(15)).await;
}
