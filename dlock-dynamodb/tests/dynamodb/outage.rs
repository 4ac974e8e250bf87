//! A table whose server is down does not receive a flood of requests.

use dlock_proof::outage::is_ridden_out_at_one_pace;

use crate::common::{client_of, provider_on, table_name, url};

#[tokio::test]
async fn outage_is_ridden_out_at_one_pace() {
    let address = url().await.trim_start_matches("http://");
    let Ok(server) = address.parse() else {
        panic!("no address: {address}")
    };
    is_ridden_out_at_one_pace(server, async |proxy, _| {
        let client = client_of(&format!("http://{}", proxy.address()));
        let provider = provider_on(client, &table_name());
        assert!(provider.create_table().await.is_ok());
        provider
    })
    .await;
}
