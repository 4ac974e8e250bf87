//! Many clients.

use tokio::io::AsyncWriteExt;

use crate::support::{Running, answer, ask, ok, send, wide};

#[tokio::test]
async fn connection_too_many_takes_the_place_of_a_stranger_first() {
    let mut bounds = wide();
    bounds.connections = 4;
    let server = Running::start(bounds, None).await;
    let mut known = server.connect().await;
    assert_eq!(ask(&mut known, "/known").await, ok("known"));
    // One has requested something public, one has begun a request, and one waits for an answer.
    let mut strangers = [
        server.connect().await,
        server.connect().await,
        server.hold_at("/held/stranger").await,
    ];
    assert_eq!(ask(&mut strangers[0], "/").await, ok("here"));
    strangers[1].write_all(b"GET / HT").await.unwrap();
    let mut held = [
        server.hold().await,
        server.hold().await,
        server.hold().await,
    ];
    for stranger in &mut strangers {
        assert_eq!(answer(stranger).await, None);
    }
    assert_eq!(ask(&mut known, "/known").await, ok("known"));
    let _fourth = server.hold().await;
    assert_eq!(answer(&mut known).await, None);
    // All have a request in flight.
    let mut late = server.connect().await;
    send(&mut late, "/").await;
    server.released.add_permits(1);
    assert_eq!(answer(&mut held[0]).await, ok("released"));
    assert_eq!(answer(&mut late).await, ok("here"));
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
    // They were connected all the time.
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
