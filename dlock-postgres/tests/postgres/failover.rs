//! Connections that lead to a server that takes no writes any more, or to none.

use dlock_proof::stores::{
    one_call_leaves_a_server_that_only_reads, one_call_leaves_silent_connections,
};

use crate::support::{Server, Table, create, on, pool, server, until};

const CONNECTIONS: usize = 4;

#[tokio::test]
async fn one_call_leaves_a_primary_that_became_read_only() {
    let (old, new) = (Server::start(&[]).await, Server::start(&[]).await);
    for server in [&old, &new] {
        create(&on(server.pool(1), "dlock")).await;
    }
    let proxy = old.proxy().await;
    let provider = on(pool(old.through(&proxy), CONNECTIONS), "dlock");
    one_call_leaves_a_server_that_only_reads(provider, &proxy, CONNECTIONS, async || {
        let client = old.client().await;
        for change in [
            "ALTER SYSTEM SET default_transaction_read_only = on",
            "SELECT pg_reload_conf()",
        ] {
            client.batch_execute(change).await.unwrap();
        }
        until("it only reads", async || {
            let setting = client.query_one("SHOW transaction_read_only", &[]).await;
            setting.unwrap().get::<_, &str>(0) == "on"
        })
        .await;
        new.address().await
    })
    .await;
}

#[tokio::test]
async fn one_call_leaves_all_connections_that_were_silent() {
    let table = Table::create().await;
    let address = server().await.address().await;
    one_call_leaves_silent_connections(address, CONNECTIONS, async |through| {
        table.provider(pool(server().await.at(through), CONNECTIONS))
    })
    .await;
}
