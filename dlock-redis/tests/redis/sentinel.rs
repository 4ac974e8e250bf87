//! Connections that follow the primary that Sentinels know.

use std::time::Duration;

use dlock_core::{DLock, EndCause, ErrorKind, Provider, provider::AcquireOutcome};
use dlock_redis::{Channels, RedisProvider};
use tokio::time::{Instant, timeout};

use crate::support::{
    LONG, SOON, Server, ask, built, caught_up, eventually, fresh_name, granted, major,
    sentinels::{Watched, builder, client, watching},
    soon, try_for, words,
};

/// Much longer than a failover takes.
const LEASE: Duration = Duration::from_secs(60);

/// A lock that its holder renews often.
fn lock(name: &str, provider: RedisProvider) -> DLock {
    DLock::builder()
        .name(name)
        .duration(LEASE)
        .renew_every(LEASE / 20)
        .poll_every(LONG)
        .provider(provider)
        .build()
        .unwrap()
}

/// The primary dies, and the replica has everything: the holder continues there, and so do wake-ups, over connections
/// that lead to the new primary.
#[tokio::test]
async fn holder_keeps_its_lease_while_a_replica_is_promoted() {
    let mut watched = Watched::start().await;
    let waking = || {
        let follows = RedisProvider::builder().sentinel(watched.client());
        built(follows.wakeups(Channels::Plain).call_timeout(SOON).build())
    };
    let (ours, others) = (waking(), waking());
    let name = fresh_name("followed");
    let guard = lock(name.as_str(), ours.clone()).hold().await.unwrap();
    let token = guard.token();
    let waiting = lock(name.as_str(), others);
    let waiter = tokio::spawn(async move { waiting.acquire().await });
    caught_up(&watched.primary).await;

    watched.primary.kill().await;
    let killed = Instant::now();
    let before = watched.replica.provider().read(&name).await;
    let before = before.unwrap().unwrap().renewals;
    let (provider, name) = (&ours, &name);
    eventually("a renewal at the new primary", || async move {
        let record = provider.read(name).await;
        record.is_ok_and(|record| record.is_some_and(|record| record.renewals > before))
    })
    .await;
    println!(
        "renewed {:?} after the death of the primary",
        killed.elapsed()
    );
    assert!(guard.is_valid(), "{:?}", guard.state());
    guard.release().await.unwrap();
    let next = soon("the next lease", waiter).await.unwrap().unwrap();
    assert!(next.token() > token);
    next.release().await.unwrap();
}

/// The primary dies, and the replica has never seen the grant: the holder learns that its lease is lost, and the next
/// one has a larger token. If replicas have to acknowledge, there was no such grant.
#[tokio::test]
async fn grant_that_the_new_primary_has_never_seen_is_lost_and_told() {
    let mut watched = Watched::start().await;
    let cautious = RedisProvider::builder()
        .sentinel(watched.client())
        .acknowledged_by(1)
        .acknowledged_within(Duration::from_millis(200));
    let cautious = &built(cautious.call_timeout(SOON).build());
    let seen = &try_for(&fresh_name("cautious"), LONG);
    eventually("a replica acknowledges", || async move {
        matches!(
            cautious.acquire(seen).await,
            Ok(AcquireOutcome::Acquired(_))
        )
    })
    .await;
    watched.replica.lags_behind(&watched.primary).await;
    let unseen = try_for(&fresh_name("cautious"), LONG);
    let error = cautious.acquire(&unseen).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unknown, "{error:?}");
    let ours = lock(fresh_name("lost").as_str(), watched.provider());
    let lost = ours.hold().await.unwrap();

    watched.primary.kill().await;
    let end = timeout(LEASE, lost.ended()).await.expect("no loss");
    assert!(
        matches!(end.cause, EndCause::Refused { record: None, .. }),
        "{end:?}"
    );
    assert!(!lost.is_valid());
    let next = ours.acquire().await.unwrap();
    assert!(next.token() > lost.token());
    next.release().await.unwrap();
    assert_eq!(cautious.read(&unseen.name).await.unwrap(), None);
    assert!(cautious.read(&seen.name).await.unwrap().is_some());
}

/// Before the answers of the others count, a Sentinel that does not answer costs more time than an attempt has. The
/// next attempt continues the lookup.
#[tokio::test]
async fn silent_sentinel_does_not_keep_short_attempts_out() {
    let mut silent = Server::start(&[]).await;
    let primary = Server::start(&[]).await;
    let sentinel = watching(&primary).await;
    silent.freeze().await;
    let impatient = RedisProvider::builder()
        .sentinel(client(&[&silent, &sentinel]))
        .call_timeout(Duration::from_millis(300));
    let impatient = &built(impatient.build());
    let name = &fresh_name("silent");
    let error = impatient.read(name).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotApplied, "{error:?}");
    eventually(
        "an answer",
        || async move { impatient.read(name).await.is_ok() },
    )
    .await;
}

#[tokio::test]
async fn sentinels_that_cannot_help_are_told_apart() {
    let primary = Server::start(&[]).await;
    let refused = async |sentinel: &Server| {
        let follows = RedisProvider::builder().sentinel(client(&[sentinel]));
        let follows = built(follows.call_timeout(SOON).build());
        follows.read(&fresh_name("asked")).await.unwrap_err()
    };
    // A server that is no Sentinel.
    let error = refused(&primary).await;
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
    // A Sentinel that watches no primary of this name.
    let sentinel = watching(&primary).await;
    sentinel.ask::<()>("SENTINEL REMOVE locks").await;
    let error = refused(&sentinel).await;
    assert_eq!(error.kind(), ErrorKind::NotApplied, "{error:?}");
    assert!(error.to_string().contains("know no primary"), "{error}");
}

/// The rights that the README names below its list.
#[tokio::test]
async fn user_needs_few_rights_on_the_way_to_the_primary() {
    let primary = Server::start(&[]).await;
    let sentinel = watching(&primary).await;
    // A Sentinel has users from Redis 6.2 on, and rights to subcommands from 7 on.
    let guarded = major(&primary).await >= 7;
    if guarded {
        let watcher = words("ACL SETUSER watcher on >secret +role +sentinel|masters");
        ask::<()>(&mut sentinel.raw().await, &watcher).await;
    }
    for (right, is_enough) in [("+role", true), ("+info", true), ("", false)] {
        let rights = "reset on >secret ~dlock:{*} +evalsha +eval +time +get +set";
        let user = format!("ACL SETUSER app {rights} {right}");
        primary.ask::<()>(user.trim_end()).await;
        let mut follows = builder(&[&sentinel])
            .set_client_to_redis_username("app")
            .set_client_to_redis_password("secret");
        if guarded {
            follows = follows
                .set_client_to_sentinel_username("watcher")
                .set_client_to_sentinel_password("secret");
        }
        let provider = RedisProvider::builder().sentinel(follows.build().unwrap());
        let provider = built(provider.call_timeout(SOON).build());
        let term = try_for(&fresh_name("rights"), LONG);
        if is_enough {
            granted(&provider, &term).await;
        } else {
            let error = provider.acquire(&term).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
            assert!(error.to_string().contains("may not run"), "{error}");
        }
    }
}
