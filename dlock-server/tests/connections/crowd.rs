//! Many clients.

use tokio::io::AsyncWriteExt;

use crate::support::{Running, answer, ask, ok, send, wide};

#[tokio::test]
async fn connection_too_many_is_served_when_another_ends() {
    let mut bounds = wide();
    bounds.connections = 2;
    let server = Running::start(bounds, None).await;
    let (mut first, mut second) = (server.connect().await, server.connect().await);
    for stream in [&mut first, &mut second] {
        assert_eq!(ask(stream, "/").await, ok("here"));
    }
    let mut third = server.connect().await;
    send(&mut third, "/held").await;
    // The server is busy with the others again and again, and could have come to it.
    for _ in 0..20 {
        assert_eq!(ask(&mut first, "/").await, ok("here"));
    }
    assert_eq!(server.begun.available_permits(), 0);
    drop(first);
    server.released.add_permits(1);
    assert_eq!(answer(&mut third).await, ok("released"));
    assert_eq!(ask(&mut second, "/").await, ok("here"));
}

#[tokio::test]
async fn requests_pass_while_two_hundred_connections_do_nothing() {
    let server = Running::start(wide(), None).await;
    let mut others = Vec::new();
    for n in 0..200 {
        let mut stream = server.connect().await;
        match n % 3 {
            // Idle from the beginning, in the middle of its headers, and after a request.
            0 => {}
            1 => stream.write_all(b"GET / HTTP/1.1\r\nx: y").await.unwrap(),
            _ => assert_eq!(ask(&mut stream, "/").await, ok("here")),
        }
        others.push(stream);
    }
    let mut stream = server.connect().await;
    for _ in 0..20 {
        assert_eq!(ask(&mut stream, "/").await, ok("here"));
    }
    // They were there all the time.
    for (n, stream) in others.iter_mut().enumerate() {
        if n % 3 == 1 {
            stream
                .write_all(b"\r\nhost: localhost\r\n\r\n")
                .await
                .unwrap();
            assert_eq!(answer(stream).await, ok("here"));
        } else {
            assert_eq!(ask(stream, "/").await, ok("here"));
        }
    }
}
