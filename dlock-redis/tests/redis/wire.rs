//! One round trip each for acquire, renew, release and read, counted on the wire.

use dlock_core::{
    Provider,
    provider::{
        Acquire, AcquireOutcome, Admin, Ask, Release, ReleaseOutcome, Renew, RenewOutcome, Revoke,
        RevokeOutcome,
    },
};
use dlock_redis::{Channels, RedisProvider};
use dlock_testkit::proxy::Proxy;
use uuid::Uuid;

use crate::support::{
    LONG, SOON, Server, built, client, connect, fresh_name, granted, name, provider, record::mark,
    replicated, try_for,
};

/// Every request once, each asserted to be one round trip, except one that leaves a mark, which takes `marking`.
async fn counts(provider: &RedisProvider, proxy: &Proxy, marking: usize) {
    // The scripts are on the server after this; the connections are open.
    for warm in 0..2 {
        let term = try_for(&fresh_name("warm"), LONG);
        let token = granted(provider, &term).await;
        let renewals: Vec<Renew> = (1..3)
            .map(|n| Renew::new(term.name.clone(), term.new, n))
            .collect();
        provider.renew_many(&renewals).await;
        provider.read(&term.name).await.unwrap();
        provider
            .ask(&Ask::new(term.name.clone(), term.new))
            .await
            .unwrap();
        let seen = provider.read(&term.name).await.unwrap().unwrap().version();
        let revoke = Revoke::new(term.name.clone(), seen).unwrap();
        provider.revoke(&revoke).await.unwrap();
        let release = Release::new(term.name, term.new, Some(token));
        provider.release(&release).await.unwrap();
        assert!(warm < 2);
    }
    let mut before = proxy.round_trips();
    let mut took = |what: &str, trips: usize| {
        let now = proxy.round_trips();
        assert_eq!(now - before, trips, "round trips of {what}");
        before = now;
    };

    let term = try_for(&fresh_name("counted"), LONG).data(Some(vec![7; 4096]));
    let token = granted(provider, &term).await;
    took("the first acquire of a name", 1);
    let rival = Acquire::new(term.name.clone(), Uuid::new_v4(), LONG);
    let refused = provider.acquire(&rival).await.unwrap();
    assert!(matches!(refused, AcquireOutcome::Held(_)));
    took("a refused acquire", 1);
    assert_eq!(mark(provider, &term.name).await, 7);
    took("one that marks", marking);
    assert_eq!(mark(provider, &term.name).await, 7);
    took("one of a marked term", 1);
    granted(provider, &term).await;
    took("a repeated acquire", 1);
    let renewed = provider
        .renew(&Renew::new(term.name.clone(), term.new, 1))
        .await;
    assert_eq!(renewed.unwrap(), RenewOutcome::Renewed { asked: false });
    took("a renewal", 1);
    assert!(provider.read(&term.name).await.unwrap().is_some());
    took("a read", 1);
    let released = Release::new(term.name.clone(), term.new, Some(token));
    let released = provider.release(&released).await.unwrap();
    assert_eq!(released, ReleaseOutcome::Released { wanted: true });
    took("a release", 1);
    granted(provider, &rival).await;
    took("an acquire of a released lock", 1);
    let many: Vec<Renew> = (0..100)
        .map(|n| Renew::new(term.name.clone(), rival.new, 1 + n))
        .collect();
    for answer in provider.renew_many(&many).await {
        assert_eq!(answer.unwrap(), RenewOutcome::Renewed { asked: false });
    }
    took("100 renewals", 1);
    let asked = provider.ask(&Ask::new(term.name.clone(), rival.new)).await;
    asked.unwrap();
    took("asking", 1);
    let version = provider.read(&term.name).await.unwrap().unwrap().version();
    took("a read", 1);
    let revoke = Revoke::new(term.name.clone(), version).unwrap();
    let revoked = provider.revoke(&revoke).await.unwrap();
    assert_eq!(revoked, RevokeOutcome::Revoked);
    took("revoking", 1);
}

#[tokio::test]
async fn every_request_is_one_round_trip_on_a_connection_of_our_own() {
    let server = Server::start(&[]).await;
    let proxy = Proxy::start(server.address()).await.unwrap();
    counts(&provider(client(proxy.address())), &proxy, 1).await;
    assert_eq!(proxy.connections(), 1);
}

/// The message of a release is part of its script.
#[tokio::test]
async fn every_request_is_one_round_trip_also_with_wakeups() {
    let server = Server::start(&[]).await;
    for channels in [Channels::Plain, Channels::Sharded] {
        let proxy = Proxy::start(server.address()).await.unwrap();
        let provider = RedisProvider::builder()
            .client(client(proxy.address()))
            .call_timeout(SOON)
            .wakeups(channels);
        counts(&built(provider.build()), &proxy, 1).await;
        assert_eq!(proxy.connections(), 1);
    }
}

#[tokio::test]
async fn every_request_is_one_round_trip_on_a_connection_of_the_users() {
    let server = Server::start(&[]).await;
    let proxy = Proxy::start(server.address()).await.unwrap();
    let connection = connect(&client(proxy.address())).await;
    let provider = RedisProvider::builder().connection(connection);
    let provider = built(provider.call_timeout(SOON).build());
    counts(&provider, &proxy, 1).await;
    assert_eq!(proxy.connections(), 1);
}

/// `WAIT` is sent with the script; a mark does not wait for it.
#[tokio::test]
async fn every_request_is_one_round_trip_also_when_replicas_acknowledge() {
    let (primary, _replica) = replicated().await;
    let proxy = Proxy::start(primary.address()).await.unwrap();
    let provider = RedisProvider::builder()
        .client(client(proxy.address()))
        .acknowledged_by(1)
        // A busy machine's replica may be slow.
        .call_timeout(SOON)
        .acknowledged_within(SOON / 2)
        .build();
    counts(&built(provider), &proxy, 2).await;
}

/// A crowd that arrives at once opens one connection, and its requests are sent together.
#[tokio::test]
async fn a_crowd_shares_one_connection() {
    let server = Server::start(&[]).await;
    let proxy = Proxy::start(server.address()).await.unwrap();
    let provider = provider(client(proxy.address()));
    let crowd = (0..50).map(|number| {
        let provider = provider.clone();
        tokio::spawn(async move {
            let term = try_for(&name(&format!("crowd/{number}")), LONG);
            granted(&provider, &term).await;
        })
    });
    for task in crowd.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert_eq!(proxy.connections(), 1);
}
