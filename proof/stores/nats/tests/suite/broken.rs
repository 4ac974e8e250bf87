//! A server that is killed, gone, or silent.

use std::time::Duration;

use dlock_core::{ErrorKind, Provider};
use dlock_nats_proof::{BUCKET, Server, client, provider};
use dlock_proof::stores::{self, LONG, granted, marked, released, term, until_answered};
use tokio::time::timeout;

use super::sent;

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

/// The server stops and continues: the outcome is unknown, or no request was sent, and the next answer is right.
#[tokio::test]
async fn silent_server_leaves_it_unknown() {
    let mut server = Server::start().await;
    let patient = server.provider().await;
    let a = term("door");
    patient.read(&a.name).await.unwrap();
    let raw = client(server.address(), LONG).await;
    let hasty = dlock_nats::provider(raw.clone(), BUCKET, "dlock").unwrap();
    hasty.read(&a.name).await.unwrap();
    server.freeze().await;
    let unanswered = timeout(Duration::from_millis(500), hasty.acquire(&a)).await;
    assert!(unanswered.is_err(), "{unanswered:?}");
    server.signal("CONT");
    granted(&patient, &a).await;
    // The request of the abandoned acquire arrives as well, and changes nothing.
    let record = hasty.read(&a.name).await.unwrap().unwrap();
    assert_eq!((record.uuid, record.renewals), (a.new, 0));
}

/// A connection that breaks while a request waits for its answer: the request fails long before its time limit.
#[tokio::test]
async fn broken_connection_ends_the_requests_that_wait() {
    let mut server = Server::start().await;
    // The time limit is an hour.
    let raw = client(server.address(), 60 * LONG).await;
    let provider = dlock_nats::provider(raw.clone(), BUCKET, "dlock").unwrap();
    let a = term("door");
    provider.read(&a.name).await.unwrap();
    server.freeze().await;
    let before = sent(&raw);
    let request = tokio::spawn({
        let (provider, a) = (provider.clone(), a.clone());
        async move { provider.acquire(&a).await }
    });
    while sent(&raw) == before {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    server.restart().await;
    let error = timeout(LONG, request).await.unwrap().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unknown, "{error:?}");
    until_answered(&provider).await;
    granted(&provider, &a).await;
}

/// Hints that were sent while there was no connection are lost, so the listener has to listen anew, and to try.
#[tokio::test]
async fn channel_of_wakeups_ends_with_its_connection() {
    let mut server = Server::start().await;
    let (provider, other) = (server.provider().await, server.provider().await);
    let given_back = async |name: &str| {
        let a = term(name);
        granted(&other, &a).await;
        marked(&other, &a.name).await;
        released(&other, &a).await;
    };
    let mut wakeups = provider.watch().await.unwrap().unwrap();
    given_back("before").await;
    let woken = timeout(LONG, wakeups.next()).await.unwrap();
    assert!(woken.is_some());
    server.restart().await;
    let ended = async { while wakeups.next().await.is_some() {} };
    timeout(LONG, ended).await.unwrap();
    until_answered(&provider).await;
    until_answered(&other).await;
    let mut wakeups = provider.watch().await.unwrap().unwrap();
    given_back("after").await;
    let woken = timeout(LONG, wakeups.next()).await.unwrap();
    assert!(woken.is_some());
}
