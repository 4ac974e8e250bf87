//! A table whose server is down is not asked to death.

use std::time::Duration;

use dlock_proof::outage::is_ridden_out_at_one_pace;
use dlock_testkit::proxy::Proxy;

use crate::common::{client_of, provider_on, table_name, url};

async fn ridden_out(duration: Duration) {
    let address = url().await.trim_start_matches("http://");
    let Ok(server) = address.parse() else {
        panic!("no address: {address}")
    };
    let Ok(proxy) = Proxy::start(server).await else {
        panic!("no port for a proxy")
    };
    let provider = provider_on(
        client_of(&format!("http://{}", proxy.address())),
        &table_name(),
    );
    assert!(provider.create_table().await.is_ok());
    is_ridden_out_at_one_pace(provider, &proxy, server, duration).await;
}

#[tokio::test]
async fn outage_is_ridden_out_at_one_pace_with_short_leases() {
    ridden_out(Duration::from_secs(1)).await;
}

#[tokio::test]
async fn outage_is_ridden_out_at_one_pace_with_long_leases() {
    ridden_out(Duration::from_secs(15)).await;
}
