//! The proxy strikes single exchanges as documented, at the documented moment.

mod lines;

use std::{io, time::Duration};

use dlock_testkit::proxy::{Direction, Event, Fault, Happening, Mix, Moment, Proxy, Rule};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::{Instant, timeout},
};

use self::lines::{Heard, Lines, SOON, ask, ask_for, client, struck};

/// How long we wait before we conclude that nothing comes. A slow machine cannot make that a failure.
const WHILE: Duration = Duration::from_millis(100);
/// Longer than any test waits.
const HOUR: Duration = Duration::from_hours(1);

#[tokio::test]
async fn request_is_lost_before_the_server_and_reply_after_it() -> io::Result<()> {
    for (fault, executed) in [(Fault::LoseRequest, false), (Fault::LoseReply, true)] {
        let server = Lines::start().await?;
        let proxy = server.proxy().await?;
        let mut socket = client(&proxy).await?;
        proxy.next(fault);
        let heard = ask_for(WHILE, &mut socket, "lost").await?;
        assert_eq!(heard, Heard::Nothing, "{fault}");
        struck(&proxy, 1).await?;
        assert_eq!(fault.executed(), executed);
        if executed {
            server.until_executed("lost").await?;
        }
        // The connection is open and dead; others work, since the fault was that of one exchange.
        let heard = ask_for(WHILE, &mut socket, "again").await?;
        assert_eq!(heard, Heard::Nothing, "{fault}");
        client(&proxy).await?;
        let seen = server.executed();
        assert_eq!(seen.iter().any(|line| line == "lost"), executed, "{fault}");
        assert_eq!(proxy.struck(), 1);
    }
    Ok(())
}

/// Otherwise a client that takes any arriving bytes for a sign of life would keep a connection that no network would
/// keep.
#[tokio::test]
async fn client_whose_words_are_lost_hears_nothing_new() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let proxy = Proxy::start(listener.local_addr()?).await?;
    let mut client = TcpStream::connect(proxy.address()).await?;
    let (mut server, _) = timeout(SOON, listener.accept()).await??;
    server.write_all(b"before").await?;
    timeout(SOON, client.read_exact(&mut [0; 6])).await??;
    proxy.next(Fault::LoseRequest);
    client.write_all(b"lost").await?;
    struck(&proxy, 1).await?;
    server.write_all(b"after").await?;
    assert!(timeout(WHILE, client.read(&mut [0; 1])).await.is_err());
    Ok(())
}

#[tokio::test]
async fn connection_breaks_at_every_moment() -> io::Result<()> {
    for moment in Moment::ALL {
        for fault in [Fault::Reset(moment), Fault::Close(moment)] {
            let server = Lines::start().await?;
            let proxy = server.proxy().await?;
            let mut socket = client(&proxy).await?;
            let mut bystander = client(&proxy).await?;
            proxy.next(fault);
            let heard = ask(&mut socket, "broken").await?;
            let expected = match fault {
                // A reset overtakes what was sent before it.
                Fault::Reset(_) => Heard::Reset,
                _ if moment == Moment::InReply => Heard::End("broken\n".len() / 2),
                _ => Heard::End(0),
            };
            // The half that came before a reset may or may not be read.
            assert!(
                heard == expected || (moment == Moment::InReply && heard != Heard::Answer),
                "{fault}: {heard:?}"
            );
            struck(&proxy, 1).await?;
            if moment.executed() {
                server.until_executed("broken").await?;
            }
            assert_eq!(ask(&mut bystander, "bystander").await?, Heard::Answer);
            let seen = server.executed();
            let executed = seen.iter().any(|line| line == "broken");
            assert_eq!(executed, moment.executed(), "{fault}: {seen:?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn half_closed_connection_still_carries_requests() -> io::Result<()> {
    let server = Lines::start().await?;
    let proxy = server.proxy().await?;
    let mut socket = client(&proxy).await?;
    proxy.next(Fault::Close(Moment::BeforeReply));
    assert_eq!(ask(&mut socket, "first").await?, Heard::End(0));
    socket.write_all(b"second\n").await?;
    server.until_executed("second").await?;
    Ok(())
}

#[tokio::test]
async fn delays_are_on_the_side_they_say() -> io::Result<()> {
    for executed in [false, true] {
        let fault = |by| match executed {
            false => Fault::DelayRequest(by),
            true => Fault::DelayReply(by),
        };
        let server = Lines::start().await?;
        let proxy = server.proxy().await?;
        let mut socket = client(&proxy).await?;
        proxy.next(fault(WHILE));
        let began = Instant::now();
        assert_eq!(ask(&mut socket, "slow").await?, Heard::Answer);
        assert!(began.elapsed() >= WHILE, "{:?}", began.elapsed());
        assert_eq!(ask(&mut socket, "next").await?, Heard::Answer);

        proxy.next(fault(HOUR));
        let heard = ask_for(WHILE, &mut socket, "much later").await?;
        assert_eq!(heard, Heard::Nothing, "{}", fault(HOUR));
        if executed {
            server.until_executed("much later").await?;
        } else {
            assert_eq!(server.executed(), ["hello", "slow", "next"]);
        }
    }
    Ok(())
}

#[tokio::test]
async fn late_request_is_executed_after_its_client_was_reset() -> io::Result<()> {
    let server = Lines::start().await?;
    let proxy = server.proxy().await?;
    let mut socket = client(&proxy).await?;
    proxy.next(Fault::Late(HOUR));
    assert_eq!(ask(&mut socket, "much later").await?, Heard::Reset);
    let mut next = client(&proxy).await?;
    assert_eq!(ask(&mut next, "repeat").await?, Heard::Answer);
    assert_eq!(server.executed(), ["hello", "hello", "repeat"]);
    proxy.next(Fault::Late(WHILE));
    let began = Instant::now();
    assert_eq!(ask(&mut next, "late").await?, Heard::Reset);
    server.until_executed("late").await?;
    assert!(began.elapsed() >= WHILE, "{:?}", began.elapsed());
    Ok(())
}

#[tokio::test]
async fn rules_strike_the_exchanges_they_say_in_the_order_they_were_given() -> io::Result<()> {
    let server = Lines::start().await?;
    let proxy = server.proxy().await?;
    let reset_before = Fault::Reset(Moment::BeforeRequest);
    proxy.spare(1);
    proxy.always(Fault::Close(Moment::BeforeReply));
    proxy.inject(Rule::new(reset_before).skip(1).times(2));
    proxy.next(Fault::LoseReply);
    // Every connection's first exchange is spared; the second meets the fault that is due.
    let mut heard = Vec::new();
    for patience in [WHILE, SOON, SOON, SOON, SOON, SOON] {
        let mut socket = client(&proxy).await?;
        heard.push(ask_for(patience, &mut socket, "struck").await?);
    }
    let (lost, reset, closed) = (Heard::Nothing, Heard::Reset, Heard::End(0));
    assert_eq!(heard[..3], [lost, reset, Heard::Reset]);
    assert_eq!(heard[3..], [closed, Heard::End(0), Heard::End(0)]);
    proxy.clear();
    let mut socket = client(&proxy).await?;
    assert_eq!(ask(&mut socket, "clear").await?, Heard::Answer);
    // For a limited time.
    proxy.inject(Rule::new(reset_before).lasting(HOUR));
    assert_eq!(ask(&mut socket, "soon").await?, Heard::Reset);
    proxy.clear();
    proxy.inject(Rule::new(reset_before).lasting(WHILE));
    tokio::time::sleep(WHILE).await;
    let mut socket = client(&proxy).await?;
    assert_eq!(ask(&mut socket, "over").await?, Heard::Answer);
    Ok(())
}

/// The faults of the first exchanges of this many connections under a seed.
async fn fate(seed: u64, connections: usize) -> io::Result<Vec<Option<Fault>>> {
    let server = Lines::start().await?;
    let proxy = Proxy::seeded(server.address, seed).await?;
    proxy.random(Mix::of_everything(0.5, Duration::from_millis(5)));
    for _ in 0..connections {
        let mut socket = TcpStream::connect(proxy.address()).await?;
        socket.write_all(b"fate\n").await?;
        let strikes = proxy.struck();
        let mut answer = [0; 5];
        let told = async {
            tokio::select! {
                // An answer, an end or a reset: whichever it is, its time has come.
                _ = socket.read(&mut answer) => {}
                () = proxy.until_struck(strikes + 1) => {}
            }
        };
        timeout(SOON, told).await?;
    }
    let mut met = vec![None; connections];
    for Event { what, .. } in proxy.log() {
        if let Happening::Struck {
            connection, fault, ..
        } = what
        {
            met[connection - 1] = Some(fault);
        }
    }
    Ok(met)
}

#[tokio::test]
async fn chance_follows_from_the_seed() -> io::Result<()> {
    let (one, same, other) = tokio::try_join!(fate(7, 60), fate(7, 60), fate(8, 60))?;
    assert_eq!(one, same);
    assert_ne!(one, other);
    let struck = one.iter().flatten().count();
    assert!((15..=45).contains(&struck), "half of 60, not {struck}");
    let mut kinds: Vec<_> = one.iter().flatten().map(std::mem::discriminant).collect();
    kinds.dedup();
    assert!(kinds.len() > 4, "{one:?}");
    Ok(())
}

#[tokio::test]
async fn latency_is_added_in_each_direction() -> io::Result<()> {
    let server = Lines::start().await?;
    let proxy = server.proxy().await?;
    let mut socket = client(&proxy).await?;
    let least = Duration::from_millis(30);
    for (number, direction) in Direction::BOTH.into_iter().enumerate() {
        proxy.latency(direction, least, least);
        let began = Instant::now();
        assert_eq!(ask(&mut socket, "slow").await?, Heard::Answer);
        let ways = u32::try_from(number + 1).map_err(io::Error::other)?;
        assert!(began.elapsed() >= least * ways, "{:?}", began.elapsed());
    }
    for direction in Direction::BOTH {
        proxy.latency(direction, HOUR, HOUR);
    }
    proxy.calm().await;
    assert_eq!(ask(&mut socket, "fast").await?, Heard::Answer);
    Ok(())
}

#[tokio::test]
async fn refused_connections_are_refused_and_open_ones_stay() -> io::Result<()> {
    let server = Lines::start().await?;
    let proxy = server.proxy().await?;
    let mut socket = client(&proxy).await?;
    for _ in 0..3 {
        timeout(SOON, proxy.refuse()).await?;
        let refused = TcpStream::connect(proxy.address()).await;
        let kind = refused.map(drop).map_err(|error| error.kind());
        assert_eq!(kind, Err(io::ErrorKind::ConnectionRefused));
        assert_eq!(ask(&mut socket, "open").await?, Heard::Answer);
        timeout(SOON, proxy.accept()).await?;
        client(&proxy).await?;
    }
    Ok(())
}

#[tokio::test]
async fn every_proxy_has_a_port_of_its_own() -> io::Result<()> {
    let server = Lines::start().await?;
    let mut proxies = Vec::new();
    for _ in 0..300 {
        proxies.push(server.proxy().await?);
    }
    let mut ports: Vec<u16> = proxies.iter().map(|proxy| proxy.address().port()).collect();
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 300);
    Ok(())
}

#[tokio::test]
async fn closed_in_good_order_is_an_end_and_not_a_reset() -> io::Result<()> {
    let server = Lines::start().await?;
    let proxy = server.proxy().await?;
    let mut sockets = [client(&proxy).await?, client(&proxy).await?];
    proxy.close();
    for socket in &mut sockets {
        assert_eq!(timeout(SOON, socket.read(&mut [0; 1])).await??, 0);
    }
    client(&proxy).await?;
    Ok(())
}

#[tokio::test]
async fn partition_carries_no_end_of_a_connection() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let proxy = Proxy::start(listener.local_addr()?).await?;
    let client = TcpStream::connect(proxy.address()).await?;
    let (mut server, _) = timeout(SOON, listener.accept()).await??;
    proxy.hold(Direction::ToServer);
    drop(client);
    let mut byte = [0; 1];
    assert!(timeout(WHILE, server.read(&mut byte)).await.is_err());
    proxy.heal();
    assert_eq!(timeout(SOON, server.read(&mut byte)).await??, 0);
    Ok(())
}

#[tokio::test]
async fn log_tells_what_happened_in_order() -> io::Result<()> {
    let server = Lines::start().await?;
    let proxy = server.proxy().await?;
    let mut socket = client(&proxy).await?;
    proxy.hold(Direction::ToServer);
    proxy.heal();
    proxy.next(Fault::Reset(Moment::BeforeReply));
    assert_eq!(ask(&mut socket, "told").await?, Heard::Reset);
    proxy.refuse().await;
    proxy.accept().await;
    let log = proxy.log();
    assert!(log.is_sorted_by_key(|event| event.at));
    assert!(log.iter().all(|event| event.at >= proxy.started()));
    let told: Vec<String> = log.iter().map(|event| event.what.to_string()).collect();
    let expected = [
        "connection 1 opened",
        "bytes to the server wait",
        "bytes pass again",
        "connection 1, exchange 2: reset before the reply",
        "connection 1 ended",
        "new connections refused",
        "new connections accepted",
    ];
    assert_eq!(told, expected);
    Ok(())
}
