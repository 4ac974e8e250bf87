//! The fate of the channel of wake-ups: a flood, a cut, silence, and the end of its listeners.

use std::time::Duration;

use dlock_core::{Provider, provider::Release};
use dlock_testkit::proxy::{Direction, Proxy};
use redis::Client;
use tokio::time::{sleep, timeout};

use super::{heard, heard_within, is_heard, listen, listeners, lock};
use crate::support::{
    LONG, SOON, Server, ask, at_last, client, eventually, fresh_name, granted, soon, try_for, words,
};

/// How long a silent channel may take to answer a ping.
const LIMIT: Duration = Duration::from_secs(1);

/// More hints than the receiver takes: the stream ends, which wakes every waiter, and memory stays bounded.
#[tokio::test]
async fn a_flood_ends_the_channel() {
    let server = Server::start(&[]).await;
    let mut wakeups = listen(&heard(server.client())).await;
    let flood =
        "for i = 1, 10000 do redis.call('PUBLISH', 'dlock:released', 'dlock:{' .. i .. '}') end";
    let mut eval = redis::cmd("EVAL");
    eval.arg(flood).arg(0);
    ask::<()>(&mut server.raw().await, &eval).await;
    eventually("nobody listens", || async { listeners(&server).await == 0 }).await;
    let mut hints = 0;
    while soon("the end", wakeups.next()).await.is_some() {
        hints += 1;
    }
    assert!((1000..10_000).contains(&hints), "{hints}");
}

#[tokio::test]
async fn a_dropped_stream_closes_its_connection_and_no_other() {
    let server = Server::start(&[]).await;
    let provider = heard(server.client());
    let (kept, dropped) = (listen(&provider).await, listen(&provider).await);
    assert_eq!(listeners(&server).await, 2);
    drop(dropped);
    eventually("one listens", || async { listeners(&server).await == 1 }).await;
    drop(kept);
    eventually("nobody listens", || async { listeners(&server).await == 0 }).await;
    // Dropped at every moment of its opening.
    for micros in (0..3000).step_by(100) {
        let opening = timeout(Duration::from_micros(micros), provider.watch()).await;
        drop(opening);
    }
    eventually("nobody listens", || async { listeners(&server).await == 0 }).await;
}

/// The client of all waiters listens once, and not after it is gone.
#[tokio::test]
async fn a_client_listens_once_and_leaves_nothing_behind() {
    let server = Server::start(&[]).await;
    let name = fresh_name("shared");
    let held = try_for(&name, LONG);
    granted(&server.provider(), &held).await;
    let provider = heard(server.client());
    let waiting: Vec<_> = (0..5)
        .map(|_| {
            let lock = lock(&provider, &name);
            tokio::spawn(async move { lock.acquire_timeout(SOON).await })
        })
        .collect();
    drop(provider);
    eventually("one listens", || async { listeners(&server).await == 1 }).await;
    // Every one of them has had time to listen.
    sleep(Duration::from_millis(200)).await;
    assert_eq!(listeners(&server).await, 1);
    for task in &waiting {
        task.abort();
    }
    eventually("nobody listens", || async { listeners(&server).await == 0 }).await;
}

/// A channel that is cut, by the server or by its end, wakes every waiter and is opened again.
#[tokio::test]
async fn a_cut_channel_comes_back_and_a_waiter_does_not_hang() {
    let mut server = Server::start(&[]).await;
    let provider = heard(server.client());
    let name = fresh_name("cut");
    let mut stream = listen(&provider).await;
    let held = try_for(&name, 60 * LONG);
    granted(&provider, &held).await;
    let waiting = lock(&heard(server.client()), &name);
    let waiting = tokio::spawn(async move { waiting.acquire().await });
    eventually("both listen", || async { listeners(&server).await == 2 }).await;
    let killed: u64 = server.ask("CLIENT KILL TYPE pubsub").await;
    assert_eq!(killed, 2);
    assert_eq!(soon("the end", stream.next()).await, None);
    // No listener receives this release; the end of the channel, its return and the poll each are enough.
    let release = Release::new(name.clone(), held.new, None);
    provider.release(&release).await.unwrap();
    let lease = soon("the lock", waiting).await.unwrap().unwrap();
    eventually("it listens again", || async {
        listeners(&server).await == 1
    })
    .await;

    let mut stream = listen(&provider).await;
    server.restart().await;
    assert_eq!(soon("the end", stream.next()).await, None);
    eventually("it listens again", || async {
        listeners(&server).await == 1
    })
    .await;
    drop(lease);
}

/// A silent partition, and a server that hangs: nothing is closed, and nothing comes.
#[tokio::test]
async fn a_silent_channel_ends_by_itself() {
    let server = Server::start(&[]).await;
    for way in [Direction::ToServer, Direction::ToClient] {
        let proxy = Proxy::start(server.address()).await.unwrap();
        let hasty = heard_within(LIMIT, client(proxy.address()));
        let opened = at_last("a channel", || hasty.watch()).await;
        let mut stream = opened.unwrap();
        proxy.swallow(way);
        // TCP would notice after a quarter of an hour, or never.
        assert_eq!(soon("the end", stream.next()).await, None);
        proxy.heal();
        let provider = heard(client(proxy.address()));
        // And a new one receives hints.
        let mut stream = listen(&provider).await;
        let name = fresh_name("healed");
        is_heard(&provider, &provider, &mut stream, &name).await;
    }
}

/// A channel without messages is not dead, even if the user may not ping.
#[tokio::test]
async fn a_quiet_channel_stays_open() {
    let server = Server::start(&[]).await;
    let mut raw = server.raw().await;
    let rights = "ACL SETUSER mute on >mute ~* &* +@all -ping";
    ask::<()>(&mut raw, &words(rights)).await;
    let mute = Client::open(format!("redis://mute:mute@{}", server.address())).unwrap();
    let mut streams = Vec::new();
    for client in [server.client(), mute] {
        let provider = heard(client);
        streams.push((listen(&provider).await, provider));
    }
    // Both have been pinged more than once.
    eventually("the channels are asked", || async {
        let stats: String = server.ask("INFO commandstats").await;
        let pings = stats
            .lines()
            .find_map(|line| line.strip_prefix("cmdstat_ping:"));
        let count = |name: &str| -> u64 {
            let fields = pings.unwrap_or_default().split(',');
            let field = fields.filter_map(|field| field.split_once('='));
            field
                .filter(|(key, _)| *key == name)
                .map(|(_, n)| n.parse::<u64>().unwrap())
                .sum()
        };
        count("calls") >= 2 && count("rejected_calls") >= 2
    })
    .await;
    for (stream, provider) in &mut streams {
        let name = fresh_name("loud");
        is_heard(&heard(server.client()), provider, stream, &name).await;
    }
}

/// A server that does not answer: opening ends by its own limit, and closes what it opened.
#[tokio::test]
async fn opening_into_silence_ends_by_itself() {
    let server = Server::start(&[]).await;
    let proxy = Proxy::start(server.address()).await.unwrap();
    proxy.hold(Direction::ToClient);
    let hasty = heard_within(LIMIT, client(proxy.address()));
    let error = soon("the end", hasty.watch()).await;
    assert!(error.is_err(), "{error:?}");
    eventually("nobody listens", || async { listeners(&server).await == 0 }).await;
}
