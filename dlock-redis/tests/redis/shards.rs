//! Wake-ups in a cluster: sharded channels, and what happens when the shards move.

use std::{future::ready, ops::Range};

use dlock_core::{
    ErrorKind, Provider,
    provider::{Acquire, Release, Wakeup, Wakeups},
};
use dlock_redis::{Channels, RedisProvider};
use redis::aio::MultiplexedConnection;

use crate::support::{
    Cluster, LONG, SOON, Server, ask, built, client, eventually, fake::Fake, fresh_name, granted,
    key, name, record::mark, soon, try_for, words,
};

async fn heard(cluster: &Cluster, channels: Channels) -> RedisProvider {
    let provider = RedisProvider::builder()
        .connection(cluster.connection().await)
        .client(cluster.nodes[0].client())
        .call_timeout(SOON)
        .wakeups(channels);
    built(provider.build())
}

async fn listen(provider: &RedisProvider) -> Wakeups {
    provider.watch().await.unwrap().unwrap()
}

async fn releases(provider: &RedisProvider, term: &Acquire) {
    granted(provider, term).await;
    mark(provider, &term.name).await;
    let release = Release::new(term.name.clone(), term.new, None);
    provider.release(&release).await.unwrap();
}

async fn hears(wakeups: &mut Wakeups, term: &Acquire) {
    let hint = soon("the hint", wakeups.next()).await;
    assert_eq!(hint, Some(Wakeup::Name(term.name.clone())));
}

/// A term of a lock in one of these slots.
async fn term_in(raw: &mut MultiplexedConnection, slots: &Range<u16>) -> Acquire {
    loop {
        let term = try_for(&fresh_name("slot"), LONG);
        let slot = words(&format!("CLUSTER KEYSLOT {}", key(&term.name)));
        if slots.contains(&ask::<u16>(raw, &slot).await) {
            return term;
        }
    }
}

/// How many messages the nodes have sent to their neighbours.
async fn broadcast(cluster: &Cluster) -> u64 {
    let mut sum = 0;
    for node in &cluster.nodes {
        let info: String = node.ask("CLUSTER INFO").await;
        let count = info
            .lines()
            .find_map(|line| line.strip_prefix("cluster_stats_messages_publish_sent:"));
        sum += count.map_or(0, |count| count.trim().parse::<u64>().unwrap());
    }
    sum
}

#[tokio::test]
async fn releases_on_every_node_are_heard_on_both_kinds_of_channels() {
    let cluster = Cluster::start().await;
    for channels in [Channels::Plain, Channels::Sharded] {
        let (here, there) = (
            heard(&cluster, channels).await,
            heard(&cluster, channels).await,
        );
        let mut wakeups = listen(&there).await;
        for number in 0..60 {
            let odd = ["{a}b", "}", "{}", "a}b{c", "x"][number % 5];
            let term = try_for(&name(&format!("{odd}{}", fresh_name(""))), LONG);
            granted(&here, &term).await;
            mark(&there, &term.name).await;
            if channels == Channels::Plain {
                // It listens for the lock now.
                hears(&mut wakeups, &term).await;
            }
            let release = Release::new(term.name.clone(), term.new, None);
            here.release(&release).await.unwrap();
            hears(&mut wakeups, &term).await;
        }
    }
}

/// The purpose of sharded channels: nothing goes to the other nodes, except for the few locks whose shard is divided
/// between two nodes. Their releases are received as well, on either side of the border.
#[tokio::test]
async fn a_release_stays_on_its_node_unless_its_shard_is_divided() {
    let cluster = Cluster::start().await;
    let provider = heard(&cluster, Channels::Sharded).await;
    let mut wakeups = listen(&provider).await;
    let mut raw = cluster.nodes[0].raw().await;
    let before = broadcast(&cluster).await;
    for slots in [0..5440, 5504..10880, 10944..16384] {
        for _ in 0..10 {
            let term = term_in(&mut raw, &slots).await;
            releases(&provider, &term).await;
            hears(&mut wakeups, &term).await;
        }
    }
    assert_eq!(broadcast(&cluster).await, before);
    // The second node begins at slot 5461.
    for slots in [5440..5461, 5461..5504] {
        let term = term_in(&mut raw, &slots).await;
        releases(&provider, &term).await;
        hears(&mut wakeups, &term).await;
    }
    let others = cluster.nodes.len() as u64 - 1;
    assert_eq!(broadcast(&cluster).await, before + others, "one of the two");
}

/// The server ends a subscription whose slot has left it; then the stream ends, and the next one listens at the slot's
/// new node.
#[tokio::test]
async fn a_channel_whose_slot_moves_ends_and_the_next_one_follows_it() {
    let cluster = Cluster::start().await;
    let provider = heard(&cluster, Channels::Sharded).await;
    let mut wakeups = listen(&provider).await;
    let [from, to, other] = cluster.nodes.as_slice() else {
        panic!("three nodes")
    };
    // A whole shard, the eleventh.
    let moving = 640..704;
    let to_id: String = to.ask("CLUSTER MYID").await;
    for node in [to, from, other] {
        let mut raw = node.raw().await;
        for slot in moving.clone() {
            let assign = words(&format!("CLUSTER SETSLOT {slot} NODE {to_id}"));
            ask::<()>(&mut raw, &assign).await;
        }
    }
    assert_eq!(soon("the end", wakeups.next()).await, None);
    // The nodes notify each other.
    let moved = &moving;
    eventually("everybody knows", || async move {
        for node in [from, to, other] {
            let slots: String = node.ask("CLUSTER NODES").await;
            let line = slots
                .lines()
                .find(|line| line.contains(&to.port().to_string()));
            if !line
                .is_some_and(|line| line.contains(&format!("{}-{}", moved.start, moved.end - 1)))
            {
                return false;
            }
        }
        true
    })
    .await;
    let before = broadcast(&cluster).await;
    let mut wakeups = listen(&provider).await;
    let term = term_in(&mut from.raw().await, &moving).await;
    releases(&provider, &term).await;
    hears(&mut wakeups, &term).await;
    assert_eq!(broadcast(&cluster).await, before, "over no other node");
}

/// One node gone: its locks are not released either. The stream ends, and no new one opens until the cluster is whole
/// again: the waiters poll.
#[tokio::test]
async fn a_node_that_dies_ends_the_stream() {
    let mut cluster = Cluster::start().await;
    let provider = heard(&cluster, Channels::Sharded).await;
    let mut wakeups = listen(&provider).await;
    drop(cluster.nodes.pop());
    assert_eq!(soon("the end", wakeups.next()).await, None);
    let error = soon("the refusal", provider.watch()).await.unwrap_err();
    assert_ne!(error.kind(), dlock_core::ErrorKind::Fatal, "{error:?}");
}

/// Without a cluster, everything is on one server.
#[tokio::test]
async fn sharded_channels_work_on_a_single_server() {
    let server = Server::start(&[]).await;
    let provider = RedisProvider::builder()
        .client(server.client())
        .call_timeout(SOON)
        .wakeups(Channels::Sharded);
    let provider = built(provider.build());
    let mut wakeups = listen(&provider).await;
    for _ in 0..20 {
        let term = try_for(&fresh_name("single"), LONG);
        releases(&provider, &term).await;
        hears(&mut wakeups, &term).await;
    }
    server.ask::<u64>("CLIENT KILL TYPE pubsub").await;
    assert_eq!(soon("the end", wakeups.next()).await, None);
}

/// Answers like Redis 6, which has only the plain channels.
#[tokio::test]
async fn a_server_without_sharded_channels_is_told_so() {
    let old = Fake::start(|words| {
        let reply = match words[0].as_slice() {
            b"SSUBSCRIBE" => "-ERR unknown command `SSUBSCRIBE`, with args beginning with: `x`, ",
            b"CLUSTER" => "-ERR This instance has cluster support disabled",
            _ => "+OK",
        };
        Box::pin(ready(format!("{reply}\r\n").into_bytes()))
    });
    let old = old.await;
    let provider = RedisProvider::builder()
        .client(client(old.address()))
        .call_timeout(SOON)
        .wakeups(Channels::Sharded);
    let error = built(provider.build()).watch().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
    assert!(error.to_string().contains("sharded channels"), "{error}");
    let chain = format!("{error:?}");
    assert!(chain.len() < 1000, "said once for each channel: {chain}");
}
