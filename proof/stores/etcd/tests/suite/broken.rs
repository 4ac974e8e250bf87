//! A server that is killed, gone, or silent.

use std::time::Duration;

use dlock_core::{ErrorKind, Provider};
use dlock_etcd_proof::{Server, provider};
use dlock_proof::stores::{self, LONG, granted, term, until_answered};

#[tokio::test]
async fn acknowledged_writes_survive_a_server_that_is_killed() {
    let server = Server::start().await;
    let (connect, restart) = (Server::provider, Server::restart);
    stores::acknowledged_writes_survive_a_server_that_is_killed(server, connect, restart).await;
}

#[tokio::test]
async fn guard_survives_a_server_that_is_killed() {
    let server = Server::start().await;
    let (connect, restart) = (Server::provider, Server::restart);
    stores::guard_survives_a_server_that_is_killed(server, connect, restart).await;
}

#[tokio::test]
async fn server_that_is_not_there_is_said_so_at_once() {
    let gone = Server::start().await.address();
    stores::server_that_is_not_there_is_said_so_at_once(provider(gone, 60 * LONG).await).await;
}

/// The server stops and continues: the outcome of the call is unknown, and the next answer is right.
#[tokio::test]
async fn silent_server_leaves_it_unknown() {
    let mut server = Server::start().await;
    let patient = server.provider().await;
    let hasty = provider(server.address(), Duration::from_secs(2)).await;
    let a = term("door");
    until_answered(&hasty).await;
    server.freeze().await;
    let error = hasty.acquire(&a).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unknown, "{error:?}");
    server.signal("CONT");
    granted(&patient, &a).await;
}
