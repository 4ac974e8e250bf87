//! A server that is down is not asked to death.

use std::time::Duration;

use dlock_proof::outage::is_ridden_out_at_one_pace;

use crate::support::{create, fresh, on, pool, server};

async fn ridden_out(duration: Duration) {
    let server = server().await;
    let proxy = server.proxy().await;
    let provider = on(pool(server.through(&proxy), 8), &fresh());
    create(&provider).await;
    is_ridden_out_at_one_pace(provider, &proxy, server.address().await, duration).await;
}

#[tokio::test]
async fn outage_is_ridden_out_at_one_pace_with_short_leases() {
    ridden_out(Duration::from_secs(1)).await;
}

#[tokio::test]
async fn outage_is_ridden_out_at_one_pace_with_long_leases() {
    ridden_out(Duration::from_secs(15)).await;
}
