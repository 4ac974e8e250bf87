//! A replica that was mistaken for a primary, and a primary that became one.

use std::{future::ready, time::Duration};

use dlock_core::{
    ErrorKind, Provider,
    provider::{Acquire, AcquireOutcome, Release, Renew, RenewOutcome},
};
use dlock_redis::RedisProvider;
use dlock_testkit::proxy::Proxy;

use crate::support::{
    LONG, SOON, Server, ask, built, caught_up, client, eventually, fake::Fake, fresh_name, granted,
    major, replicated, try_for, words,
};

/// How a primary that became a replica refuses a script.
const DEMOTED: [&str; 3] = [
    // Redis 6
    "-ERR Error running script (call to f_1f8f4cfba6f3375f8c4ec02b9de4361a5dea5c64): @user_script:1: @user_script: 1: -READONLY You can't write against a read only replica.",
    // Redis 7 and later, and Valkey
    "-READONLY You can't write against a read only replica. script: 1f8f4cfba6f3375f8c4ec02b9de4361a5dea5c64, on @user_script:1.",
    // all of them with replica-serve-stale-data no
    "-MASTERDOWN Invoker with MASTER is down and replica-serve-stale-data is set to 'no'.",
];

#[tokio::test]
async fn a_replica_grants_and_changes_nothing() {
    let (primary, replica) = replicated().await;
    let (writer, reader) = (primary.provider(), replica.provider());
    let absent = try_for(&fresh_name("absent"), LONG);
    let held = try_for(&fresh_name("held"), LONG);
    granted(&writer, &held).await;
    let (r, name) = (&reader, &held.name);
    eventually("the replica has it", || async move {
        matches!(r.read(name).await, Ok(Some(_)))
    })
    .await;
    let refused = |error: dlock_core::ProviderError| {
        assert_eq!(error.kind(), ErrorKind::NotApplied, "{error:?}");
        assert!(error.to_string().contains("replica"), "{error}");
    };
    refused(reader.acquire(&absent).await.unwrap_err());
    let renew = Renew::new(held.name.clone(), held.new, 1);
    refused(reader.renew(&renew).await.unwrap_err());
    let release = Release::new(held.name.clone(), held.new, None);
    refused(reader.release(&release).await.unwrap_err());
    assert_eq!(writer.read(&absent.name).await.unwrap(), None);
    let record = writer.read(&held.name).await.unwrap().unwrap();
    assert_eq!((record.renewals, record.released), (0, false));
}

/// The address follows the primary; the old connection does not.
#[tokio::test]
async fn a_connection_of_our_own_follows_a_failover() {
    for acknowledged_by in [0, 1] {
        let (primary, replica) = replicated().await;
        let proxy = Proxy::start(primary.address()).await.unwrap();
        let provider = RedisProvider::builder()
            .client(client(proxy.address()))
            .call_timeout(SOON)
            .acknowledged_by(acknowledged_by)
            .acknowledged_within(Duration::from_secs(1));
        let provider = built(provider.build());
        let terms: Vec<Acquire> = (0..3)
            .map(|_| try_for(&fresh_name("followed"), LONG))
            .collect();
        for term in &terms {
            // The replica of a busy machine is sometimes late: repeated, as a client repeats it (A2, R2).
            eventually("it is acknowledged", || async {
                let granted = provider.acquire(term).await;
                let renew = Renew::new(term.name.clone(), term.new, 1);
                let renewed = provider.renew(&renew).await;
                matches!(granted, Ok(AcquireOutcome::Acquired(_))) && renewed.is_ok()
            })
            .await;
        }
        caught_up(&primary).await;
        replica.ask::<()>("REPLICAOF NO ONE").await;
        let follow = format!("REPLICAOF 127.0.0.1 {}", replica.port());
        primary.ask::<()>(&follow).await;
        proxy.lead_to(replica.address());
        let batch: Vec<Renew> = terms
            .iter()
            .map(|term| Renew::new(term.name.clone(), term.new, 2))
            .collect();
        // One call learns that the old server is a replica now.
        for answer in provider.renew_many(&batch).await {
            let error = answer.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotApplied, "{error:?}");
        }
        let provider = &provider;
        eventually(
            "the new primary renews, and its replica acknowledges",
            || {
                let batch = batch.clone();
                async move {
                    let answers = provider.renew_many(&batch).await;
                    for error in answers.iter().filter_map(|answer| answer.as_ref().err()) {
                        assert_eq!(error.kind(), ErrorKind::Unknown, "{error:?}");
                    }
                    answers.iter().all(Result::is_ok)
                }
            },
        )
        .await;
    }
}

/// Every release reports it in other words.
#[tokio::test]
async fn a_server_that_says_it_is_a_replica_is_left() {
    let (primary, _replica) = replicated().await;
    for said in DEMOTED {
        let old = Fake::start(move |words| {
            let reply = if words[0] == b"WAIT" { ":0" } else { said };
            Box::pin(ready(format!("{reply}\r\n").into_bytes()))
        });
        let old = old.await;
        for acknowledged_by in [0, 1] {
            let proxy = Proxy::start(old.address()).await.unwrap();
            let provider = RedisProvider::builder()
                .client(client(proxy.address()))
                .call_timeout(SOON)
                .acknowledged_by(acknowledged_by)
                .acknowledged_within(Duration::from_secs(1));
            let provider = &built(provider.build());
            let term = &try_for(&fresh_name("left"), LONG);
            let renew = Renew::new(term.name.clone(), term.new, 1);
            for round in 1..=2 {
                let mut refused = vec![provider.acquire(term).await.unwrap_err()];
                let batch = provider.renew_many(&[renew.clone(), renew.clone()]).await;
                refused.extend(batch.into_iter().map(Result::unwrap_err));
                for error in refused {
                    assert_eq!(error.kind(), ErrorKind::NotApplied, "{error:?}");
                    assert!(error.to_string().contains("replica"), "{error}");
                }
                // Each of the two calls found out, and the next one opened a connection.
                assert_eq!(proxy.connections(), 2 * round, "{said}");
            }
            proxy.lead_to(primary.address());
            eventually("the new primary grants", || async move {
                provider.acquire(term).await.is_ok()
            })
            .await;
        }
    }
}

/// The state during an orderly failover by Sentinel, for some seconds: two servers that accept writes.
async fn two_primaries(settings: &str) -> (Server, Server) {
    let (old, new) = replicated().await;
    if !settings.is_empty() {
        old.ask::<()>(&format!("CONFIG SET {settings}")).await;
    }
    new.ask::<()>("REPLICAOF NO ONE").await;
    (old, new)
}

#[tokio::test]
async fn an_old_primary_cannot_grant_where_replicas_must_acknowledge() {
    let (old, new) = two_primaries("").await;
    let cautious = RedisProvider::builder()
        .client(old.client())
        .call_timeout(SOON)
        .acknowledged_by(1)
        .acknowledged_within(Duration::from_millis(100));
    let cautious = built(cautious.build());
    let term = try_for(&fresh_name("two"), LONG);
    granted(&new.provider(), &term).await;
    let rival = try_for(&term.name, LONG);
    for _ in 0..3 {
        let error = cautious.acquire(&rival).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unknown, "{error:?}");
    }
    // Other clients, without acknowledgements, are granted there.
    granted(&old.provider(), &rival).await;
}

/// Before Redis 7 the setting applies to commands, and not to those in a script.
#[tokio::test]
async fn an_old_primary_that_requires_replicas_refuses_scripts_from_redis_7_on() {
    let (old, new) = two_primaries("min-replicas-to-write 1").await;
    eventually("the old primary misses its replica", || async {
        let set = words("SET started 1");
        set.exec_async(&mut old.raw().await).await.is_err()
    })
    .await;
    let term = try_for(&fresh_name("two"), LONG);
    granted(&new.provider(), &term).await;
    let rival = old.provider().acquire(&try_for(&term.name, LONG)).await;
    if major(&old).await < 7 {
        rival.unwrap();
        return;
    }
    let error = rival.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotApplied, "{error:?}");
    assert!(error.to_string().contains("too few replicas"), "{error}");
}

/// The roles change under a holder: its connection is refused, then it renews at the new primary.
#[tokio::test]
async fn a_lock_survives_an_orderly_failover() {
    let (primary, replica) = replicated().await;
    let before = primary.provider();
    let term = try_for(&fresh_name("failover"), LONG);
    let token = granted(&before, &term).await;
    let mut raw = primary.raw().await;
    caught_up(&primary).await;
    replica.ask::<()>("REPLICAOF NO ONE").await;
    let follow = format!("REPLICAOF 127.0.0.1 {}", replica.port());
    ask::<()>(&mut raw, &words(&follow)).await;

    let renew = Renew::new(term.name.clone(), term.new, 1);
    let error = before.renew(&renew).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotApplied, "{error:?}");
    let after = replica.provider();
    let renewed = after.renew(&renew).await.unwrap();
    assert_eq!(renewed, RenewOutcome::Renewed { asked: false });
    let release = Release::new(term.name.clone(), term.new, None);
    after.release(&release).await.unwrap();
    assert!(granted(&after, &try_for(&term.name, LONG)).await > token);
}
