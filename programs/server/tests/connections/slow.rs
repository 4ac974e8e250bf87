//! Slow clients.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::sleep,
};

use crate::support::{BIG, Running, answer, ask, ok, send, wide, within};

const SOON: Duration = Duration::from_millis(300);

#[tokio::test]
async fn client_that_drips_its_headers_is_cut_off() {
    let mut bounds = wide();
    bounds.head = SOON;
    let server = Running::start(bounds, None).await;
    let mut stream = server.connect().await;
    within(async {
        let mut dripping = stream.write_all(b"GET / HTTP/1.1\r\nx: ").await;
        // Until the system reports that the other end reads no more.
        while dripping.is_ok() {
            sleep(SOON / 10).await;
            dripping = stream.write_all(b"y").await;
        }
    })
    .await;
}

#[tokio::test]
async fn client_that_sends_nothing_is_cut_off() {
    let mut bounds = wide();
    bounds.head = SOON;
    let server = Running::start(bounds, None).await;
    let mut stream = server.connect().await;
    assert_eq!(within(stream.read(&mut [0])).await.unwrap(), 0);
}

#[tokio::test]
async fn idle_connection_ends_and_one_with_a_request_does_not() {
    let mut bounds = wide();
    bounds.idle = SOON;
    let server = Running::start(bounds, None).await;
    let mut held = server.hold().await;
    let mut idle = server.connect().await;
    assert_eq!(ask(&mut idle, "/").await, ok("here"));
    assert_eq!(within(idle.read(&mut [0])).await.unwrap(), 0);
    server.released.add_permits(1);
    assert_eq!(answer(&mut held).await, ok("released"));
}

#[tokio::test]
async fn idle_connection_outlives_the_time_for_headers() {
    let mut bounds = wide();
    bounds.head = Duration::from_secs(2);
    let server = Running::start(bounds.clone(), None).await;
    // On a busy machine the first request may come late, too.
    let mut stream = loop {
        let mut stream = server.connect().await;
        if ask(&mut stream, "/").await == ok("here") {
            break stream;
        }
    };
    sleep(bounds.head + SOON).await;
    assert_eq!(ask(&mut stream, "/").await, ok("here"));
}

/// There is room for another, though no client has left.
#[tokio::test]
async fn client_that_does_not_read_its_answer_is_cut_off() {
    let mut bounds = wide();
    bounds.write = SOON;
    bounds.connections = 1;
    let server = Running::start(bounds, None).await;
    let mut silent = server.connect().await;
    send(&mut silent, "/big").await;
    let mut next = server.connect().await;
    assert_eq!(ask(&mut next, "/").await, ok("here"));
    let mut read = Vec::new();
    // Bytes that were in flight may still come, or a reset.
    within(silent.read_to_end(&mut read)).await.ok();
    assert!(read.len() < BIG, "all of it came");
}

#[tokio::test]
async fn headers_have_a_limit() {
    let server = Running::start(wide(), None).await;
    let mut status = Vec::new();
    for length in [15 * 1024, 17 * 1024] {
        let mut stream = server.connect().await;
        let filler = "x".repeat(length);
        let request = format!("GET / HTTP/1.1\r\nhost: localhost\r\nfiller: {filler}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        status.push(answer(&mut stream).await.map(|(status, _)| status));
    }
    assert_eq!(status, [Some(200), Some(431)]);
}
