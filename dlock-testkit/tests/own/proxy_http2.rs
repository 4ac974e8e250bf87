//! On an HTTP/2 connection the proxy strikes calls, and not the connection's own frames.

mod frames;

use std::{io, time::Duration};

use dlock_testkit::proxy::{Fault, Moment, Proxy};
use tokio::time::{Instant, timeout};

use self::frames::{Call, Client, Heard, SOON, Server};

/// How long we wait before we conclude that nothing comes.
const WHILE: Duration = Duration::from_millis(100);

/// A ping is answered, and so are two concurrent calls.
#[tokio::test]
async fn round_trips_are_those_of_calls() -> io::Result<()> {
    let server = Server::start().await?;
    let proxy = server.proxy().await?;
    let mut client = Client::connect(&proxy).await?;
    client.ping().await?;
    assert_eq!(client.hear(SOON).await?, Heard::Pong);
    assert_eq!(proxy.round_trips(), 0);
    client.call(1, "first").await?;
    client.call(3, "second").await?;
    assert_eq!(client.hear(SOON).await?, Heard::answer(1, "first"));
    assert_eq!(client.hear(SOON).await?, Heard::answer(3, "second"));
    // The end of the client's message is part of the call.
    client.end(3).await?;
    client.window(3).await?;
    client.ping().await?;
    assert_eq!(client.hear(SOON).await?, Heard::Pong);
    assert_eq!(proxy.round_trips(), 2);
    // A stream of several requests: each is a round trip.
    client.say(1, "third").await?;
    assert_eq!(client.hear(SOON).await?, Heard::answer(1, "third"));
    assert_eq!(proxy.round_trips(), 3);
    Ok(())
}

#[tokio::test]
async fn fault_strikes_the_next_call_and_no_ping() -> io::Result<()> {
    for fault in [Fault::LoseRequest, Fault::LoseReply] {
        let server = Server::start().await?;
        let proxy = server.proxy().await?;
        let mut client = Client::connect(&proxy).await?;
        proxy.next(fault);
        client.ping().await?;
        assert_eq!(client.hear(SOON).await?, Heard::Pong, "{fault}");
        assert_eq!(proxy.struck(), 0, "{fault}");
        client.call(1, "lost").await?;
        timeout(SOON, proxy.until_struck(1)).await?;
        // The connection is silent from then on: a ping serves to detect that.
        client.ping().await?;
        assert_eq!(client.hear(WHILE).await?, Heard::Nothing, "{fault}");
        if fault.executed() {
            server.until_executed("lost").await?;
        } else {
            assert!(server.executed().is_empty(), "{fault}");
        }
    }
    Ok(())
}

/// The proxy never takes a reply on one stream for the answer to another.
#[tokio::test]
async fn reply_is_struck_when_its_own_call_is_answered() -> io::Result<()> {
    let server = Server::start().await?;
    let proxy = server.proxy().await?;
    let mut client = Client::connect(&proxy).await?;
    client.call(1, "events").await?;
    assert_eq!(client.hear(SOON).await?, Heard::answer(1, "events"));
    proxy.next(Fault::Reset(Moment::BeforeReply));
    client.call(3, Call::HELD).await?;
    server.until_executed(Call::HELD).await?;
    server.tell(1, "event");
    assert_eq!(client.hear(SOON).await?, Heard::answer(1, "event"));
    assert_eq!(proxy.struck(), 0);
    server.tell(3, "at last");
    assert_eq!(client.hear(SOON).await?, Heard::Reset);
    assert_eq!(proxy.struck(), 1);
    Ok(())
}

#[tokio::test]
async fn connection_breaks_at_every_moment_of_a_call() -> io::Result<()> {
    for moment in Moment::ALL {
        for fault in [Fault::Reset(moment), Fault::Close(moment)] {
            let server = Server::start().await?;
            let proxy = server.proxy().await?;
            let mut client = Client::connect(&proxy).await?;
            client.call(1, "whole").await?;
            assert_eq!(client.hear(SOON).await?, Heard::answer(1, "whole"));
            proxy.next(fault);
            client.ping().await?;
            assert_eq!(client.hear(SOON).await?, Heard::Pong, "{fault}");
            client.call(3, "broken").await?;
            let heard = client.hear(SOON).await?;
            let expected = match fault {
                Fault::Reset(_) => Heard::Reset,
                _ => Heard::End,
            };
            // The half that came before a reset may or may not be read.
            let half = moment == Moment::InReply && heard == Heard::End;
            assert!(heard == expected || half, "{fault}: {heard:?}");
            timeout(SOON, proxy.until_struck(1)).await?;
            let mut expected = vec!["whole"];
            if moment.executed() {
                server.until_executed("broken").await?;
                expected.push("broken");
            }
            assert_eq!(server.executed(), expected, "{fault}");
        }
    }
    Ok(())
}

/// Although it comes in parts, and although the server sends something else before it answers.
#[tokio::test]
async fn late_request_is_executed_whole_after_its_client_was_reset() -> io::Result<()> {
    let late = Duration::from_secs(1);
    let server = Server::start().await?;
    let proxy = server.proxy().await?;
    let mut client = Client::connect(&proxy).await?;
    client.ping().await?;
    assert_eq!(client.hear(SOON).await?, Heard::Pong);
    proxy.next(Fault::Late(late));
    let began = Instant::now();
    client.open(1).await?;
    timeout(SOON, proxy.until_struck(1)).await?;
    client.say(1, Call::HELD).await?;
    assert_eq!(client.hear(SOON).await?, Heard::Reset);
    server.until_executed(Call::HELD).await?;
    assert!(began.elapsed() >= late);
    // Until the server has answered, it has a client.
    server.ping();
    assert!(!ends(&proxy, WHILE).await);
    server.tell(1, "at last");
    assert!(ends(&proxy, SOON).await);
    Ok(())
}

/// Whether the only connection ends within this time.
async fn ends(proxy: &Proxy, time: Duration) -> bool {
    let ended = async {
        let is_end = |what: String| what == "connection 1 ended";
        while !proxy
            .log()
            .iter()
            .any(|event| is_end(event.what.to_string()))
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(time, ended).await.is_ok()
}

/// Frames arrive as they were sent, wherever the reads cut them.
#[tokio::test]
async fn frames_pass_however_they_are_cut() -> io::Result<()> {
    let server = Server::start().await?;
    let proxy = server.proxy().await?;
    let mut client = Client::connect(&proxy).await?;
    client.send_in_parts();
    for (stream, text) in [(1, "one"), (3, "two"), (5, "three")] {
        client.call(stream, text).await?;
        assert_eq!(client.hear(SOON).await?, Heard::answer(stream, text));
    }
    let long = "x".repeat(16_384);
    client.call(7, &long).await?;
    assert_eq!(client.hear(SOON).await?, Heard::answer(7, &long));
    assert_eq!(proxy.round_trips(), 4);
    Ok(())
}
