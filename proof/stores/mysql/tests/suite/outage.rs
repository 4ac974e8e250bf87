//! Clients do not flood a server that is down with calls.

use dlock_mysql_proof::{provider, server};
use dlock_proof::outage::is_ridden_out_at_one_pace;

#[tokio::test]
async fn outage_is_ridden_out_at_one_pace() {
    let database = server().await.database().await;
    database.provider(1).await;
    is_ridden_out_at_one_pace(database.address, async |proxy, duration| {
        provider(database.through(proxy.address(), 8), duration)
    })
    .await;
}
