//! Connections to a server that no longer accepts writes, or to none; and connections that take long to open.

use std::time::Duration;

use dlock_mysql_proof::{Server, provider, server};
use dlock_proof::stores::{
    connection_that_came_too_late_is_replaced, one_call_leaves_a_server_that_only_reads,
    one_call_leaves_silent_connections, opening_outlives_its_call,
};
use dlock_testkit::proxy::Proxy;

const CONNECTIONS: usize = 4;
/// The limit of a call, longer than opening a connection takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn one_call_leaves_a_primary_that_became_read_only() {
    let (old, new) = (Server::start(&[]).await, Server::start(&[]).await);
    for server in [&old, &new] {
        let database = server.database_named("app").await;
        database.provider(1).await;
        database
            .run("CREATE USER app; GRANT ALL ON *.* TO app; REVOKE READ_ONLY ADMIN ON *.* FROM app; REVOKE SUPER ON *.* FROM app")
            .await;
    }
    let database = old.database().await;
    let proxy = Proxy::start(old.address()).await.unwrap();
    let options = database.through(proxy.address(), CONNECTIONS);
    let options = options.db_name(Some("app")).user(Some("app"));
    one_call_leaves_a_server_that_only_reads(
        provider(options, PATIENCE),
        &proxy,
        CONNECTIONS,
        async || {
            database.run("SET GLOBAL read_only = 1").await;
            new.address()
        },
    )
    .await;
}

#[tokio::test]
async fn one_call_leaves_all_connections_that_were_silent() {
    let database = server().await.database().await;
    database.provider(1).await;
    one_call_leaves_silent_connections(database.address, CONNECTIONS, async |through| {
        provider(database.through(through, CONNECTIONS), PATIENCE)
    })
    .await;
}

#[tokio::test]
async fn opening_goes_on_without_its_call() {
    let database = server().await.database().await;
    let proxy = Proxy::start(database.address).await.unwrap();
    database.provider(1).await;
    let provider = provider(database.through(proxy.address(), 2), PATIENCE);
    opening_outlives_its_call(provider, &proxy).await;
}

#[tokio::test]
async fn connection_that_leaves_no_time_for_an_answer_is_replaced() {
    let database = server().await.database().await;
    let proxy = Proxy::start(database.address).await.unwrap();
    database.provider(1).await;
    let provider = provider(database.through(proxy.address(), 2), PATIENCE);
    connection_that_came_too_late_is_replaced(provider, &proxy, 1).await;
}
