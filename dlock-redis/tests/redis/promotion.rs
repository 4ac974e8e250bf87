//! Replicas of a cluster that become primaries while locks are held.

use std::time::Duration;

use dlock_core::{
    DLock, EndCause, FencingToken, Guard, Provider,
    provider::{Acquire, Release, Renew, RenewOutcome},
};
use dlock_redis::{Channels, RedisProvider};
use tokio::time::{sleep, timeout};

use crate::support::{
    Cluster, LONG, SOON, Server, ask, at_last, built, eventually, fresh_name, granted, key, major,
    soon, try_for, words,
};

/// A name whose slot is the first node's.
async fn name_of_the_first(cluster: &Cluster) -> dlock_core::Name {
    loop {
        let name = fresh_name("promoted");
        let slot = format!("CLUSTER KEYSLOT {}", key(&name));
        if cluster.nodes[1].ask::<u16>(&slot).await < 5461 {
            return name;
        }
    }
}

/// Much longer than a promotion takes.
const LEASE: Duration = Duration::from_secs(30);

/// A lock whose holder has a long lease, and renews it often.
async fn lock(cluster: &Cluster, provider: &RedisProvider) -> DLock {
    DLock::builder()
        .name(name_of_the_first(cluster).await.as_str())
        .duration(LEASE)
        .renew_every(LEASE / 20)
        .provider(provider.clone())
        .build()
        .unwrap()
}

/// Waits until the holder has renewed its lease at the lock's current node.
async fn renews_there(provider: &RedisProvider, lock: &DLock, guard: &Guard) {
    let before = at_last("the record", || provider.read(lock.name())).await;
    let before = before.unwrap().renewals;
    eventually("a renewal", || async move {
        let record = provider.read(lock.name()).await;
        record.is_ok_and(|record| record.is_some_and(|record| record.renewals > before))
    })
    .await;
    assert!(guard.is_valid(), "{:?}", guard.state());
}

/// Promotes a replica. An orderly promotion takes the votes of the other primaries, and fails if the machine is so busy
/// that they come too late. They are given once in two node time-outs, which is longer than a test waits; in that case
/// the replica takes over without them.
async fn becomes_primary(replica: &Server, how: &str) {
    let mut commands = [how, " TAKEOVER"].into_iter().cycle();
    at_last("the promotion", || {
        let how = commands.next().unwrap_or_default();
        let failover = words(&format!("CLUSTER FAILOVER{how}"));
        async move {
            let mut raw = replica.raw().await;
            failover.exec_async(&mut raw).await.ok();
            for _ in 0..500 {
                let info: String = ask(&mut raw, &words("INFO replication")).await;
                if info.contains("role:master") {
                    return Ok(());
                }
                sleep(Duration::from_millis(10)).await;
            }
            Err("it is still a replica")
        }
    })
    .await;
}

/// A provider that announces releases and listens for them.
async fn waking(cluster: &Cluster) -> RedisProvider {
    let channels = match major(&cluster.nodes[0]).await {
        ..7 => Channels::Plain,
        _ => Channels::Sharded,
    };
    let provider = RedisProvider::builder()
        .connection(cluster.connection().await)
        .client(cluster.nodes[0].client())
        .wakeups(channels)
        .call_timeout(SOON);
    built(provider.build())
}

/// The first node hands its slots over to its replica, which dies later; then the first one takes them back. The holder
/// renews its lease at each, and a waiter, whose channels end and are opened anew, is notified of the release.
#[tokio::test]
async fn a_holder_keeps_its_lease_while_replicas_are_promoted() {
    let cluster = Cluster::start().await;
    let first = &cluster.nodes[0];
    let mut second = cluster.replica_of(first).await;
    let provider = waking(&cluster).await;
    let lock = lock(&cluster, &provider).await;
    let guard = lock.hold().await.unwrap();
    let token = guard.token();
    let waiting = DLock::builder()
        .name(lock.name().as_str())
        .duration(LEASE)
        .poll_every(LONG)
        .provider(waking(&cluster).await)
        .build()
        .unwrap();
    let waiter = tokio::spawn(async move { waiting.acquire().await });

    becomes_primary(&second, "").await;
    first.follows(&second).await;
    renews_there(&provider, &lock, &guard).await;

    first.follows(&second).await;
    second.kill().await;
    becomes_primary(first, " TAKEOVER").await;
    renews_there(&provider, &lock, &guard).await;

    guard.release().await.unwrap();
    let next = soon("the next lease", waiter).await.unwrap().unwrap();
    assert!(next.token() > token);
    next.release().await.unwrap();
}

/// A term of this lock that has ended.
async fn passes(provider: &RedisProvider, term: &Acquire) -> FencingToken {
    let token = granted(provider, term).await;
    let release = Release::new(term.name.clone(), term.new, None);
    at_last("the release", || provider.release(&release)).await;
    token
}

/// The new primary has never seen the last writes that the old one acknowledged: leases end if their grants were
/// forgotten, and continue otherwise. Tokens grow for all: with the clock, and for a client that has seen one beyond
/// the clock, from that one (T6).
#[tokio::test]
async fn tokens_grow_where_a_replica_that_lagged_is_promoted() {
    let mut cluster = Cluster::start().await;
    let replica = cluster.replica_of(&cluster.nodes[0]).await;
    let provider = cluster.provider().await;
    let known = lock(&cluster, &provider).await;
    let kept = known.hold().await.unwrap();
    let short = Duration::from_millis(100);
    let earlier = try_for(&name_of_the_first(&cluster).await, short);
    granted(&provider, &earlier).await;
    replica.follows(&cluster.nodes[0]).await;

    replica.lags_behind(&cluster.nodes[0]).await;
    renews_there(&provider, &known, &kept).await;
    let unknown = lock(&cluster, &provider).await;
    let lost = unknown.hold().await.unwrap();
    // The replica still shows the term before, which has ended.
    eventually("the end of the lease", || async {
        let record = provider.read(&earlier.name).await.unwrap().unwrap();
        record.remaining == Some(Duration::ZERO)
    })
    .await;
    let later = try_for(&earlier.name, LONG);
    let later_token = granted(&provider, &later).await;
    let (seconds, _): (u64, u64) = cluster.nodes[0].ask("TIME").await;
    let ahead = FencingToken::new((seconds + 3600) * 1_000_000).unwrap();
    let fed = lock(&cluster, &provider).await;
    fed.raise_floor(ahead);
    let beyond = fed.acquire().await.unwrap();
    let beyond_token = beyond.token();
    assert!(beyond_token > ahead);
    beyond.release().await.unwrap();

    cluster.nodes[0].kill().await;
    becomes_primary(&replica, " TAKEOVER").await;

    renews_there(&provider, &known, &kept).await;
    let end = timeout(LEASE, lost.ended()).await.expect("no loss");
    assert!(
        matches!(end.cause, EndCause::Refused { record: None, .. }),
        "{end:?}"
    );
    let lost_renewal = Renew::new(later.name.clone(), later.new, 1);
    let renewed = provider.renew(&lost_renewal).await.unwrap();
    assert!(
        matches!(renewed, RenewOutcome::Lost(Some(_))),
        "{renewed:?}"
    );
    let next = try_for(&earlier.name, LONG);
    assert!(passes(&provider, &next).await > later_token);
    let next = unknown.acquire().await.unwrap();
    assert!(next.token() > lost.token());
    next.release().await.unwrap();
    // Another client shows that the store has forgotten even that token; our client has not.
    let stranger = try_for(fed.name(), LONG);
    assert!(passes(&provider, &stranger).await < beyond_token);
    let next = fed.acquire().await.unwrap();
    assert!(next.token() > beyond_token);
    next.release().await.unwrap();
    kept.release().await.unwrap();
}
