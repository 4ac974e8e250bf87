//! A server that stops.

use std::time::Duration;

use tokio::net::TcpStream;

use crate::support::{Running, answer, ask, ok, wide, within};

#[tokio::test]
async fn request_under_way_is_answered_and_nobody_is_accepted_any_more() {
    let server = Running::start(wide(), None).await;
    let mut held = server.hold().await;
    server.stop.cancel();
    within(async {
        while TcpStream::connect(server.address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(!server.serving.is_finished());
    server.released.add_permits(1);
    assert_eq!(answer(&mut held).await, ok("released"));
    server.ended().await;
    assert_eq!(ask(&mut held, "/").await, None);
}

#[tokio::test]
async fn request_that_does_not_end_is_cut_off() {
    let mut bounds = wide();
    bounds.grace = Duration::from_millis(300);
    let server = Running::start(bounds, None).await;
    let mut held = server.hold().await;
    server.stop.cancel();
    server.ended().await;
    assert_eq!(answer(&mut held).await, None);
}

#[tokio::test]
async fn connections_without_a_request_do_not_delay_the_end() {
    let server = Running::start(wide(), None).await;
    let new = server.connect().await;
    let mut idle = server.connect().await;
    assert_eq!(ask(&mut idle, "/").await, ok("here"));
    server.stop.cancel();
    // Well before the time for requests in flight has passed.
    server.ended().await;
    drop(new);
}
