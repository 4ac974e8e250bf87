//! Connections that lead to a server that no longer accepts writes, or to none; and those that take long to open.

use dlock_proof::stores::{
    connection_that_came_too_late_is_replaced, one_call_leaves_a_server_that_only_reads,
    one_call_leaves_silent_connections, opening_outlives_its_call,
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
        // A session that is opened after the server has notified all open ones.
        until("it only reads", async || {
            let later = old.client().await;
            let setting = later.query_one("SHOW transaction_read_only", &[]).await;
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

#[tokio::test]
async fn opening_goes_on_without_its_call() {
    let (table, proxy) = (Table::create().await, server().await.proxy().await);
    let provider = table.provider(pool(server().await.through(&proxy), 2));
    opening_outlives_its_call(provider, &proxy).await;
}

#[tokio::test]
async fn connection_that_leaves_no_time_for_an_answer_is_replaced() {
    let (table, proxy) = (Table::create().await, server().await.proxy().await);
    let provider = table.provider(pool(server().await.through(&proxy), 2));
    connection_that_came_too_late_is_replaced(provider, &proxy, 1).await;
}
