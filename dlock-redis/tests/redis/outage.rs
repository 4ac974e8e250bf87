//! A server that is down does not receive a flood of requests.

use dlock_proof::outage::is_ridden_out_at_one_pace;

use crate::support::{Server, client, provider};

#[tokio::test]
async fn outage_is_ridden_out_at_one_pace() {
    let server = Server::start(&[]).await;
    is_ridden_out_at_one_pace(server.address(), async |proxy, _| {
        provider(client(proxy.address()))
    })
    .await;
}
