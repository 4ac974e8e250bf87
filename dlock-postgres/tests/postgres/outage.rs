//! A server that is down does not receive a flood of requests.

use dlock_proof::outage::is_ridden_out_at_one_pace;

use crate::support::{create, fresh, on, pool, server};

#[tokio::test]
async fn outage_is_ridden_out_at_one_pace() {
    let server = server().await;
    is_ridden_out_at_one_pace(server.address().await, async |proxy, _| {
        let provider = on(pool(server.through(proxy), 8), &fresh());
        create(&provider).await;
        provider
    })
    .await;
}
