//! Clients do not flood a server that is down with calls.

use dlock_proof::outage::is_ridden_out_at_one_pace;

use crate::unsealed::Unsealed;

#[tokio::test]
async fn outage_is_ridden_out_at_one_pace() {
    let server = Unsealed::start().await;
    is_ridden_out_at_one_pace(server.address, async |proxy, duration| {
        server.provider(proxy.address(), duration).await
    })
    .await;
}
