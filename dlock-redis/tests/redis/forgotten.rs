//! Losses of the server: scripts, and after a restart everything that was not on disk.

use dlock_core::{
    Provider,
    provider::{
        Acquire, AcquireOutcome, Admin, List, Release, ReleaseOutcome, Renew, RenewOutcome,
    },
};
use dlock_redis::RedisProvider;
use uuid::Uuid;

use crate::support::{
    Cluster, LONG, SOON, Server, built, fresh_name, granted, key, replicated, try_for,
};

#[tokio::test]
async fn scripts_that_were_flushed_come_back() {
    let server = Server::start(&[]).await;
    let provider = server.provider();
    for _ in 0..3 {
        let term = try_for(&fresh_name("flushed"), LONG);
        let flush = async || server.ask::<()>("SCRIPT FLUSH").await;
        flush().await;
        granted(&provider, &term).await;
        flush().await;
        let renewals: Vec<Renew> = (1..=1200)
            .map(|n| Renew::new(term.name.clone(), term.new, n))
            .collect();
        let answers = provider.renew_many(&renewals).await;
        assert_eq!(answers.len(), renewals.len());
        for answer in answers {
            assert_eq!(answer.unwrap(), RenewOutcome::Renewed { asked: false });
        }
        flush().await;
        let record = provider.read(&term.name).await.unwrap().unwrap();
        assert_eq!(record.renewals, 1200);
        flush().await;
        assert_eq!(
            provider
                .list(&List::new("flushed"))
                .await
                .unwrap()
                .records
                .len(),
            1
        );
        flush().await;
        let release = Release::new(term.name, term.new, None);
        assert_eq!(
            provider.release(&release).await.unwrap(),
            ReleaseOutcome::Released { wanted: false }
        );
        server.ask::<()>("FLUSHALL").await;
    }
}

#[tokio::test]
async fn scripts_that_were_flushed_come_back_while_replicas_acknowledge() {
    let (primary, _replica) = replicated().await;
    let provider = RedisProvider::builder()
        .client(primary.client())
        .acknowledged_by(1)
        .call_timeout(SOON)
        .acknowledged_within(SOON / 2)
        .build();
    let provider = built(provider);
    let term = try_for(&fresh_name("flushed"), LONG);
    primary.ask::<()>("SCRIPT FLUSH").await;
    granted(&provider, &term).await;
    primary.ask::<()>("SCRIPT FLUSH").await;
    let renewals: Vec<Renew> = (1..=700)
        .map(|n| Renew::new(term.name.clone(), term.new, n))
        .collect();
    for answer in provider.renew_many(&renewals).await {
        assert_eq!(answer.unwrap(), RenewOutcome::Renewed { asked: false });
    }
}

#[tokio::test]
async fn scripts_flushed_on_every_node_come_back() {
    let cluster = Cluster::start().await;
    let provider = cluster.provider().await;
    for round in 0..3 {
        for node in &cluster.nodes {
            node.ask::<()>("SCRIPT FLUSH").await;
        }
        for number in 0..20 {
            let term = try_for(&fresh_name(&format!("flushed/{round}/{number}")), LONG);
            granted(&provider, &term).await;
        }
    }
}

/// With `appendfsync always` nothing acknowledged is lost.
#[tokio::test]
async fn a_persistent_server_keeps_its_locks_over_a_crash() {
    let mut server = Server::start(&["--appendonly", "yes", "--appendfsync", "always"]).await;
    let provider = server.provider();
    let held = try_for(&fresh_name("held"), LONG).data(Some(b"kept".to_vec()));
    let token = granted(&provider, &held).await;
    let renewal = Renew::new(held.name.clone(), held.new, 1);
    provider.renew(&renewal).await.unwrap();
    let released = try_for(&fresh_name("released"), LONG);
    let earlier = granted(&provider, &released).await;
    let release = Release::new(released.name.clone(), released.new, Some(earlier));
    provider.release(&release).await.unwrap();
    let life: u64 = server.ask(&format!("PTTL {}", key(&held.name))).await;

    server.restart().await;

    let rival = Acquire::new(held.name.clone(), Uuid::new_v4(), LONG);
    // The connection broke; the answer after that is the server's.
    let refused = loop {
        match provider.acquire(&rival).await {
            Ok(answer) => break answer,
            Err(error) => assert_ne!(error.kind(), dlock_core::ErrorKind::Fatal, "{error:?}"),
        }
    };
    let AcquireOutcome::Held(record) = refused else {
        panic!("the lock was lost: {refused:?}")
    };
    assert_eq!(
        (record.uuid, record.renewals, record.token),
        (held.new, 1, token)
    );
    assert_eq!(record.data.as_deref(), Some(b"kept".as_slice()));
    let after: u64 = server.ask(&format!("PTTL {}", key(&held.name))).await;
    assert!(
        after <= life && life - after < 60_000,
        "{life}, then {after}"
    );
    let renewal = Renew::new(held.name.clone(), held.new, 2);
    let renewed = provider.renew(&renewal).await.unwrap();
    assert_eq!(renewed, RenewOutcome::Renewed { asked: false });
    assert_eq!(
        provider.release(&release).await.unwrap(),
        ReleaseOutcome::Released { wanted: false }
    );
    let next = try_for(&released.name, LONG);
    assert!(granted(&provider, &next).await > earlier);
}

/// T1: tokens follow the clock, so they grow even if the last one was forgotten.
#[tokio::test]
async fn tokens_grow_over_a_crash_that_forgot_everything() {
    let mut server = Server::start(&[]).await;
    let name = fresh_name("forgotten");
    let mut highest = 0;
    for _ in 0..3 {
        let provider = server.provider();
        for _ in 0..3 {
            let term = try_for(&name, LONG);
            let token = granted(&provider, &term).await.get();
            assert!(token > highest, "{token} after {highest}");
            highest = token;
            let release = Release::new(name.clone(), term.new, None);
            provider.release(&release).await.unwrap();
        }
        server.restart().await;
    }
    // A holder from before the crash learns that its lock is gone (R3, L3).
    let provider = server.provider();
    let term = try_for(&name, LONG);
    granted(&provider, &term).await;
    server.restart().await;
    let provider = server.provider();
    let lost = provider.renew(&Renew::new(name.clone(), term.new, 1)).await;
    assert_eq!(lost.unwrap(), RenewOutcome::Lost(None));
    let release = Release::new(name.clone(), term.new, None);
    let not_held = provider.release(&release).await.unwrap();
    assert_eq!(not_held, ReleaseOutcome::NotHeld(None));
    assert_eq!(
        server.ask::<u64>(&format!("EXISTS {}", key(&name))).await,
        0
    );
}
