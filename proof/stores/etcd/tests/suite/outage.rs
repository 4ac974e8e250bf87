//! Clients do not flood a server that is down with calls.

use dlock_etcd_proof::{Server, provider};
use dlock_proof::outage::is_ridden_out_at_one_pace;

#[tokio::test]
async fn outage_is_ridden_out_at_one_pace() {
    let server = Server::start().await;
    is_ridden_out_at_one_pace(server.address(), async |proxy, duration| {
        provider(proxy.address(), duration).await
    })
    .await;
}
