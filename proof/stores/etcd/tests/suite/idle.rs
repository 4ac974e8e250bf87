//! A connection that nobody uses.

use std::time::Duration;

use dlock_core::{Name, Provider};
use dlock_etcd_proof::{Server, provider};
use dlock_testkit::proxy::{Happening, Proxy};
use tokio::time::sleep;

/// etcd hangs up on a client that sends a few pings in a row without a call (`too_many_pings`).
#[tokio::test]
async fn idle_connection_is_kept() {
    let server = Server::start().await;
    let proxy = Proxy::start(server.address()).await.unwrap();
    // A connection with a call is asked whether it lives when nothing has arrived for a tenth of a second.
    let limit = Duration::from_millis(1600);
    let ours = provider(proxy.address(), limit).await;
    let door = Name::new("door").unwrap();
    ours.read(&door).await.unwrap();
    // Long enough for ten pings.
    sleep(limit).await;
    let is_end = |what| matches!(what, Happening::Ended { .. });
    let ends: Vec<_> = proxy
        .log()
        .into_iter()
        .filter(|event| is_end(event.what))
        .collect();
    assert!(ends.is_empty(), "{ends:?}");
    ours.read(&door).await.unwrap();
    assert_eq!(proxy.connections(), 1);
}
