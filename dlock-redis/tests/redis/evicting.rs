//! Servers whose memory is full, and servers that make room by dropping our records.

use dlock_core::{
    ErrorKind, Provider,
    provider::{AcquireOutcome, Renew},
};
use dlock_redis::RedisProvider;

use crate::support::{
    Cluster, LONG, SOON, Server, ask, built, contents, fresh_name, granted, key, record::mark,
    try_for, words,
};

const EVICTING: [&str; 7] = [
    "volatile-lru",
    "volatile-lfu",
    "volatile-ttl",
    "volatile-random",
    "allkeys-lru",
    "allkeys-lfu",
    "allkeys-random",
];

#[tokio::test]
async fn a_server_that_evicts_is_refused_until_it_no_longer_does() {
    let server = Server::start(&[]).await;
    let mut raw = server.raw().await;
    let provider = server.provider();
    let careless = RedisProvider::builder()
        .client(server.client())
        .call_timeout(SOON)
        .allow_eviction(true);
    let careless = built(careless.build());
    for policy in EVICTING {
        let set = format!("CONFIG SET maxmemory-policy {policy}");
        ask::<()>(&mut raw, &words(&set)).await;
        let term = try_for(&fresh_name("evicted"), LONG);
        let error = provider.acquire(&term).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Fatal);
        assert!(error.to_string().contains(policy), "{error}");
        assert_eq!(provider.read(&term.name).await.unwrap(), None);
        granted(&careless, &term).await;
        // An existing record is still renewed, refused and shown.
        let renew = Renew::new(term.name.clone(), term.new, 1);
        provider.renew(&renew).await.unwrap();
        let held = provider.acquire(&try_for(&term.name, LONG)).await.unwrap();
        assert!(matches!(held, AcquireOutcome::Held(_)));
    }
    ask::<()>(&mut raw, &words("CONFIG SET maxmemory-policy noeviction")).await;
    granted(&provider, &try_for(&fresh_name("kept"), LONG)).await;
}

/// The node of the lock is checked, not any node.
#[tokio::test]
async fn one_node_that_evicts_is_refused_and_the_others_are_not() {
    let cluster = Cluster::start().await;
    let provider = cluster.provider().await;
    let [first, ..] = cluster.nodes.as_slice() else {
        panic!("no nodes")
    };
    first
        .ask::<()>("CONFIG SET maxmemory-policy allkeys-lru")
        .await;
    let (mut refused, mut taken) = (0, 0);
    for _ in 0..60 {
        let term = try_for(&fresh_name("evicted"), LONG);
        let slot: u16 = first
            .ask(&format!("CLUSTER KEYSLOT {}", key(&term.name)))
            .await;
        match provider.acquire(&term).await {
            Ok(_) => {
                assert!(slot > 5460, "slot {slot} is the evicting node's");
                taken += 1;
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Fatal);
                assert!(slot <= 5460, "slot {slot} is not the evicting node's");
                refused += 1;
            }
        }
    }
    assert!(refused > 0 && taken > 0, "{refused} refused, {taken} taken");
}

/// Without free memory nothing is half-written, and no verdict on a lease is given.
#[tokio::test]
async fn a_full_memory_applies_nothing() {
    let server = Server::start(&[]).await;
    let mut raw = server.raw().await;
    let provider = server.provider();
    let term = try_for(&fresh_name("full"), LONG).data(Some(vec![1; 100]));
    granted(&provider, &term).await;
    let key = key(&term.name);
    let before = contents(&mut raw, &key).await;
    ask::<()>(&mut raw, &words("CONFIG SET maxmemory 1")).await;
    let absent = try_for(&fresh_name("absent"), LONG);
    let renew = Renew::new(term.name.clone(), term.new, 1);
    let takeover = try_for(&term.name, LONG).prev(Some(dlock_core::provider::Version {
        uuid: term.new,
        renewals: 0,
    }));
    for error in [
        provider.acquire(&absent).await.unwrap_err(),
        provider.acquire(&takeover).await.unwrap_err(),
        provider.renew(&renew).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::NotApplied, "{error:?}");
        assert!(error.to_string().contains("maxmemory"), "{error}");
    }
    // N1: a mark is left out, and the refusal stands.
    assert_eq!(mark(&provider, &term.name).await, 0);
    assert_eq!(contents(&mut raw, &key).await, before);
    assert_eq!(provider.read(&absent.name).await.unwrap(), None);
    ask::<()>(&mut raw, &words("CONFIG SET maxmemory 0")).await;
    provider.renew(&renew).await.unwrap();
    granted(&provider, &absent).await;
}
