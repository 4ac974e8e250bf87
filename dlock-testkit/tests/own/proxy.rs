//! The proxy counts round trips, falls silent and resets as documented.

use std::{io, net::SocketAddr, time::Duration};

use dlock_testkit::proxy::{Direction, Fault, Moment, Proxy};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};

/// The limit for every event that has to come, on a busy machine too.
const SOON: Duration = Duration::from_secs(60);
/// How long we wait before we conclude that nothing comes. A slow machine cannot make that a failure.
const WHILE: Duration = Duration::from_millis(100);

/// A server that echoes every byte.
async fn echo() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut from, mut to) = socket.split();
                tokio::io::copy(&mut from, &mut to).await
            });
        }
    });
    Ok(address)
}

async fn ask(socket: &mut TcpStream, text: &[u8]) -> io::Result<Vec<u8>> {
    socket.write_all(text).await?;
    let mut answer = vec![0; text.len()];
    timeout(SOON, socket.read_exact(&mut answer)).await??;
    Ok(answer)
}

/// A server that waits for the remainder of a message.
#[tokio::test]
async fn keepalive_ends_a_silent_connection_whose_client_has_gone() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let proxy = Proxy::start(listener.local_addr()?).await?;
    for keepalive in [None, Some(WHILE)] {
        if let Some(after) = keepalive {
            proxy.keepalive(after);
        }
        proxy.next(Fault::Close(Moment::InRequest));
        let mut client = TcpStream::connect(proxy.address()).await?;
        let (mut server, _) = listener.accept().await?;
        client.write_all(b"whole").await?;
        let mut half = [0; 2];
        server.read_exact(&mut half).await?;
        assert_eq!(&half, b"wh");
        drop(client);
        let patience = if keepalive.is_some() { SOON } else { 5 * WHILE };
        let told = timeout(patience, server.read_u8()).await;
        assert_eq!(told.is_ok(), keepalive.is_some(), "{told:?}");
    }
    Ok(())
}

#[tokio::test]
async fn every_question_after_an_answer_is_a_round_trip() -> io::Result<()> {
    let proxy = Proxy::start(echo().await?).await?;
    let mut socket = TcpStream::connect(proxy.address()).await?;
    assert_eq!((proxy.connections(), proxy.round_trips()), (0, 0));
    for round in 1..=3 {
        assert_eq!(ask(&mut socket, b"question").await?, b"question");
        assert_eq!(proxy.round_trips(), round);
    }
    // Together on the wire, and in many packets: one round trip.
    let long = vec![7; 100_000];
    let (mut from, mut to) = socket.split();
    let mut answer = vec![0; long.len()];
    proxy.hold(Direction::ToClient);
    let write = async {
        to.write_all(&long).await?;
        proxy.heal();
        Ok::<(), io::Error>(())
    };
    let (written, read) = timeout(SOON, async {
        tokio::join!(write, from.read_exact(&mut answer))
    })
    .await?;
    written?;
    read?;
    assert_eq!(answer, long);
    assert_eq!((proxy.connections(), proxy.round_trips()), (1, 4));
    Ok(())
}

#[tokio::test]
async fn held_bytes_arrive_when_the_partition_is_over() -> io::Result<()> {
    for direction in [Direction::ToServer, Direction::ToClient] {
        let proxy = Proxy::start(echo().await?).await?;
        let mut socket = TcpStream::connect(proxy.address()).await?;
        ask(&mut socket, b"before").await?;
        proxy.hold(direction);
        socket.write_all(b"during").await?;
        let mut answer = [0; 6];
        assert!(timeout(WHILE, socket.read(&mut answer)).await.is_err());
        proxy.heal();
        timeout(SOON, socket.read_exact(&mut answer)).await??;
        assert_eq!(&answer, b"during");
    }
    Ok(())
}

#[tokio::test]
async fn connection_that_lost_bytes_stays_silent_and_a_new_one_works() -> io::Result<()> {
    for direction in [Direction::ToServer, Direction::ToClient] {
        let proxy = Proxy::start(echo().await?).await?;
        let mut lost = TcpStream::connect(proxy.address()).await?;
        ask(&mut lost, b"before").await?;
        let mut idle = TcpStream::connect(proxy.address()).await?;
        ask(&mut idle, b"before").await?;
        proxy.swallow(direction);
        lost.write_all(b"during").await?;
        let mut answer = [0; 6];
        assert!(timeout(WHILE, lost.read(&mut answer)).await.is_err());
        proxy.heal();
        lost.write_all(b"after").await?;
        assert!(timeout(WHILE, lost.read(&mut answer)).await.is_err());
        assert_eq!(ask(&mut idle, b"after").await?, b"after");
    }
    Ok(())
}

#[tokio::test]
async fn reset_ends_every_connection_but_not_the_next_one() -> io::Result<()> {
    let proxy = Proxy::start(echo().await?).await?;
    let mut socket = TcpStream::connect(proxy.address()).await?;
    ask(&mut socket, b"before").await?;
    proxy.reset();
    let mut answer = [0; 1];
    let ended = timeout(SOON, socket.read(&mut answer)).await?;
    assert_eq!(
        ended.map_err(|error| error.kind()),
        Err(io::ErrorKind::ConnectionReset)
    );
    let mut next = TcpStream::connect(proxy.address()).await?;
    assert_eq!(ask(&mut next, b"after").await?, b"after");
    assert_eq!(proxy.connections(), 2);
    Ok(())
}

#[tokio::test]
async fn new_connections_lead_where_the_address_leads_now() -> io::Result<()> {
    let gone = TcpListener::bind("127.0.0.1:0").await?.local_addr()?;
    let proxy = Proxy::start(echo().await?).await?;
    let mut old = TcpStream::connect(proxy.address()).await?;
    ask(&mut old, b"before").await?;
    proxy.lead_to(gone);
    let mut new = TcpStream::connect(proxy.address()).await?;
    let ended = timeout(SOON, ask(&mut new, b"after")).await?;
    assert!(ended.is_err(), "{ended:?}");
    assert_eq!(ask(&mut old, b"after").await?, b"after");
    Ok(())
}

#[tokio::test]
async fn end_of_the_questions_is_passed_on() -> io::Result<()> {
    let proxy = Proxy::start(echo().await?).await?;
    let mut socket = TcpStream::connect(proxy.address()).await?;
    socket.write_all(b"last").await?;
    socket.shutdown().await?;
    let mut answer = Vec::new();
    timeout(SOON, socket.read_to_end(&mut answer)).await??;
    assert_eq!(answer, b"last");
    Ok(())
}
