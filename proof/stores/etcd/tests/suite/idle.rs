//! An idle connection.

use std::time::Duration;

use dlock_core::{Name, Provider};
use dlock_etcd_proof::{Server, provider};
use dlock_proof::stores::LONG;
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
    let ended = || {
        let log = proxy.log().into_iter();
        log.filter(|event| matches!(event.what, Happening::Ended { .. }))
            .count()
    };
    // Opening it may take longer, and a ping that was sent with a call may still be unanswered after the call.
    let kept = async {
        loop {
            while ours.read(&door).await.is_err() {}
            let opened = proxy.connections();
            // Long enough for ten pings, however long this thread stalls: each step leaves time for one.
            for _ in 0..16 {
                sleep(limit / 16).await;
            }
            if (proxy.connections(), ended()) == (opened, opened - 1) {
                break;
            }
        }
    };
    assert!(timeout(LONG, kept).await.is_ok(), "it is never kept");
}
