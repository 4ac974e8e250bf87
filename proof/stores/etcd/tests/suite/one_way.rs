//! Requests that are lost while the events of a watch arrive, and calls that are merely dropped.

use std::time::Duration;

use dlock_core::{Name, Provider, provider::Wakeup};
use dlock_etcd_proof::{Server, provider};
use dlock_proof::stores::{LONG, granted, keep_busy, marked, released, term};
use dlock_testkit::proxy::{Direction, Proxy};
use tokio::time::{Instant, timeout};

/// How long a caller waits for an answer.
const ATTEMPT: Duration = Duration::from_millis(200);

/// Events keep arriving for the watch, so its client does not ping the connection.
#[tokio::test]
async fn connection_that_loses_requests_is_left_although_a_watch_is_told_of_changes() {
    let server = Server::start().await;
    let proxy = Proxy::start(server.address()).await.unwrap();
    let busy = keep_busy(server.provider().await).await;
    // The client pings a connection when nothing has arrived for a second.
    let ours = provider(proxy.address(), Duration::from_secs(16)).await;
    let door = Name::new("door").unwrap();
    let _wakeups = ours.watch().await.unwrap().unwrap();
    ours.read(&door).await.unwrap();
    assert_eq!(proxy.connections(), 1);

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
    assert!(!busy.is_finished(), "nothing arrived");
    busy.abort();
}

#[tokio::test]
async fn dropped_calls_end_no_watch_of_a_server_that_answers() {
    let server = Server::start().await;
    let ours = server.provider().await;
    let mut wakeups = ours.watch().await.unwrap().unwrap();
    // Longer than a watch waits for its own answer.
    let end = Instant::now() + Duration::from_secs(3);
    let mut dropped = 0;
    while Instant::now() < end || dropped <= 10 {
        let a = term("door");
        tokio::select! {
            biased;
            _ = ours.read(&a.name) => panic!("no answer comes at once"),
            () = std::future::ready(()) => dropped += 1,
        }
        granted(&ours, &a).await;
        marked(&ours, &a.name).await;
        released(&ours, &a).await;
        let hint = timeout(LONG, wakeups.next()).await.unwrap();
        assert_eq!(hint, Some(Wakeup::Name(a.name)), "after {dropped} calls");
    }
}
