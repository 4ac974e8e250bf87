//! Requests that are lost while messages arrive; servers that are stopped; and calls that are merely dropped.

use std::{net::SocketAddr, time::Duration};

use async_nats::{Client, ConnectOptions};
use dlock_core::{
    Name, Provider,
    provider::{Wakeup, Wakeups},
};
use dlock_nats::NatsProvider;
use dlock_nats_proof::{BUCKET, Server, client, options};
use dlock_proof::stores::{LONG, granted, keep_busy, marked, released, term};
use dlock_testkit::proxy::{Direction, Proxy};
use tokio::time::{Instant, timeout};

use super::connects;

/// How long a caller waits for an answer.
const ATTEMPT: Duration = Duration::from_millis(200);

/// How long a watch trusts its connection, whatever happens.
const BELIEVED: Duration = Duration::from_secs(5);

/// Longer than that, plus both times that the server has for an answer.
const SUSPECTED: Duration = Duration::from_secs(9);

/// A client that sends no pings of its own during a test, and a provider over it.
async fn without_pings(address: SocketAddr, options: ConnectOptions) -> (Client, NatsProvider) {
    let options = options.ping_interval(20 * LONG);
    let client = options.connect(format!("nats://{address}")).await.unwrap();
    let provider = dlock_nats::provider(client.clone(), BUCKET, "dlock").unwrap();
    (client, provider)
}

/// A watch that has received a hint.
async fn watching(ours: &NatsProvider, others: &NatsProvider) -> Wakeups {
    let mut wakeups = ours.watch().await.unwrap().unwrap();
    let window = term("window");
    granted(others, &window).await;
    marked(others, &window.name).await;
    released(others, &window).await;
    let hint = timeout(LONG, wakeups.next()).await.unwrap();
    assert_eq!(hint, Some(Wakeup::Name(window.name)));
    wakeups
}

/// Loses everything that is sent on the present connection from now on, and waits until calls are answered again.
async fn recovers(proxy: &Proxy, ours: &NatsProvider) {
    let door = Name::new("door").unwrap();
    proxy.swallow(Direction::ToServer);
    assert!(timeout(ATTEMPT, ours.read(&door)).await.is_err());
    // A new connection loses nothing.
    proxy.heal();
    let answered = async {
        while !matches!(timeout(10 * ATTEMPT, ours.read(&door)).await, Ok(Ok(_))) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(
        timeout(LONG, answered).await.is_ok(),
        "requests still go where they are lost"
    );
}

/// Messages keep arriving for the watch, so the client does not ping the connection.
#[tokio::test]
async fn connection_that_loses_requests_is_left_although_a_watch_is_told_of_changes() {
    let server = Server::start().await;
    let proxy = Proxy::start(server.address()).await.unwrap();
    let others = server.provider().await;
    let busy = keep_busy(others.clone()).await;
    // The client sends a ping when nothing has arrived for a quarter of a second.
    let raw = client(proxy.address(), Duration::from_secs(6)).await;
    let ours = dlock_nats::provider(raw, BUCKET, "dlock").unwrap();
    let _wakeups = watching(&ours, &others).await;
    recovers(&proxy, &ours).await;
    assert!(!busy.is_finished(), "nothing arrived");
    busy.abort();
}

/// The server informs a watch every few seconds that nothing has happened, which keeps a client with a longer ping
/// interval from sending a ping.
#[tokio::test]
async fn connection_that_loses_requests_is_left_although_a_watch_hears_that_nothing_happened() {
    let server = Server::start().await;
    let proxy = Proxy::start(server.address()).await.unwrap();
    let (raw, ours) = without_pings(proxy.address(), options(LONG)).await;
    let opened = Instant::now();
    let _wakeups = watching(&ours, &server.provider().await).await;
    recovers(&proxy, &ours).await;
    assert!(opened.elapsed() > BELIEVED, "given up at once");
    assert_eq!(connects(&raw), 2);
}

/// Begins a call and drops it.
async fn drop_a_call(ours: &NatsProvider) {
    let door = Name::new("door").unwrap();
    tokio::select! {
        biased;
        _ = ours.read(&door) => panic!("no answer comes at once"),
        () = std::future::ready(()) => {}
    }
}

/// Only the watch waits for an answer, and it gets one.
#[tokio::test]
async fn dropped_calls_end_no_connection_of_a_server_that_answers() {
    let server = Server::start().await;
    let others = server.provider().await;
    let busy = keep_busy(others.clone()).await;
    let (raw, ours) = without_pings(server.address(), options(LONG)).await;
    let _wakeups = watching(&ours, &others).await;
    let end = Instant::now() + SUSPECTED;
    while Instant::now() < end {
        drop_a_call(&ours).await;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(connects(&raw), 1, "the connection was given up");
    assert!(!busy.is_finished(), "nothing arrived");
    busy.abort();
}

/// A user that lacks the right to acknowledge flow gets no answer to the watch's request. Answers to calls also count.
#[tokio::test]
async fn answered_calls_keep_the_connection_of_a_watch_that_may_not_ask() {
    let user =
        r#"{ user: locker, password: secret, permissions: { publish: { deny: "$JS.FC.>" } } }"#;
    let server = Server::bare(&format!("authorization {{ users: [ {user} ] }}")).await;
    let known = || options(LONG).user_and_password("locker".into(), "secret".into());
    let (_, others) = without_pings(server.address(), known()).await;
    others.store().set_up(1).await.unwrap();
    let (raw, ours) = without_pings(server.address(), known()).await;
    let mut wakeups = watching(&ours, &others).await;
    let end = Instant::now() + SUSPECTED;
    while Instant::now() < end {
        drop_a_call(&ours).await;
        let a = term("door");
        granted(&ours, &a).await;
        marked(&ours, &a.name).await;
        released(&ours, &a).await;
        let hint = timeout(LONG, wakeups.next()).await.unwrap();
        assert_eq!(hint, Some(Wakeup::Name(a.name)));
        // The watch would end after thousands of messages without acknowledged flow.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(connects(&raw), 1, "the connection was given up");
}

/// A stopped server has received the requests, and a new connection would not help.
#[tokio::test]
async fn server_that_stands_still_is_not_connected_to_anew() {
    let mut server = Server::start().await;
    let (raw, ours) = without_pings(server.address(), options(LONG)).await;
    let door = Name::new("door").unwrap();
    let _wakeups = watching(&ours, &server.provider().await).await;
    server.freeze().await;
    let end = Instant::now() + SUSPECTED;
    while Instant::now() < end {
        assert!(timeout(ATTEMPT, ours.read(&door)).await.is_err());
    }
    server.signal("CONT");
    let answered = timeout(LONG, ours.read(&door)).await;
    answered.unwrap().unwrap();
    assert_eq!(connects(&raw), 1, "the connection was given up");
}
