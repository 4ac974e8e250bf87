//! An idle connection.

use std::time::Duration;

use dlock_core::{Name, Provider};
use dlock_etcd_proof::{Server, provider};
use dlock_testkit::proxy::{Happening, Proxy};
use tokio::time::{sleep, timeout};

/// etcd closes the connection of a client that sends a few pings in a row without a call (`too_many_pings`).
#[tokio::test]
async fn idle_connection_is_kept() {
    let server = Server::start().await;
    let proxy = Proxy::start(server.address()).await.unwrap();
    // The client pings a connection with a call when nothing has arrived for a tenth of a second.
    let limit = Duration::from_millis(1600);
    let ours = provider(proxy.address(), limit).await;
    let door = Name::new("door").unwrap();
    // Opening it may take longer.
    let opened = async { while ours.read(&door).await.is_err() {} };
    timeout(40 * limit, opened).await.unwrap();
    let ended = || {
        let log = proxy.log().into_iter();
        log.filter(|event| matches!(event.what, Happening::Ended { .. }))
            .count()
    };
    let before = (proxy.connections(), ended());
    // Long enough for ten pings.
    sleep(limit).await;
    assert_eq!((proxy.connections(), ended()), before);
}
