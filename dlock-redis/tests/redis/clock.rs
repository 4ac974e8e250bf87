//! The server's clock decides, and a step of it backward does not keep a lock for ever.

use std::time::Duration;

use dlock_core::{
    DLock, Name, Provider,
    provider::{Acquire, AcquireOutcome, Renew, RenewOutcome},
};
use uuid::Uuid;

use crate::support::{Server, fresh_name, granted, record::age, soon, try_for};

const HOUR: i64 = 60 * 60 * 1_000_000;

/// The record that a clock leaves behind when it is set back by an hour: its end is an hour too
/// far.
async fn set_back(server: &Server, name: &Name) {
    assert!(age(&mut server.raw().await, name, -HOUR).await);
}

#[tokio::test]
async fn what_remains_is_never_more_than_the_lease() {
    let server = Server::start(&[]).await;
    let provider = server.provider();
    let term = try_for(&fresh_name("back"), Duration::from_secs(5));
    granted(&provider, &term).await;
    set_back(&server, &term.name).await;
    let rival = Acquire::new(term.name.clone(), Uuid::new_v4(), Duration::from_secs(5));
    let held = provider.acquire(&rival).await.unwrap();
    let AcquireOutcome::Held(record) = held else {
        panic!("{held:?}")
    };
    assert_eq!(record.remaining, Some(Duration::from_secs(5)));
}

/// Contenders observe here too (A6): a dead holder is replaced after one lease of watching.
#[tokio::test]
async fn a_dead_holder_is_replaced_although_the_clock_was_set_back() {
    let server = Server::start(&[]).await;
    let lease = Duration::from_millis(700);
    let term = try_for(&fresh_name("back"), lease);
    let token = granted(&server.provider(), &term).await;
    set_back(&server, &term.name).await;
    let lock = DLock::builder()
        .name(term.name.as_str())
        .duration(lease)
        .provider(server.provider())
        .build()
        .unwrap();
    let began = tokio::time::Instant::now();
    let taken = soon("the takeover", lock.acquire()).await.unwrap();
    assert!(began.elapsed() >= lease, "before a whole lease was watched");
    assert!(taken.token() > token);
}

/// A step forward ends leases early; the old holder learns of it at its next renewal.
#[tokio::test]
async fn a_clock_set_forward_ends_a_lease_and_its_holder_learns_it() {
    let server = Server::start(&[]).await;
    let provider = server.provider();
    let term = try_for(&fresh_name("forward"), Duration::from_secs(60));
    let token = granted(&provider, &term).await;
    assert!(age(&mut server.raw().await, &term.name, HOUR).await);
    let record = provider.read(&term.name).await.unwrap().unwrap();
    assert_eq!(record.remaining, Some(Duration::ZERO));
    let renew = Renew::new(term.name.clone(), term.new, 1);
    let lost = provider.renew(&renew).await.unwrap();
    assert!(matches!(lost, RenewOutcome::Lost(Some(_))));
    let next = try_for(&term.name, Duration::from_secs(60));
    assert!(granted(&provider, &next).await > token);
}

/// A key is deleted while its lock is held: the holder learns of it, and the tokens continue.
#[tokio::test]
async fn a_key_deleted_under_its_holder_is_a_loss() {
    let server = Server::start(&[]).await;
    let lock = DLock::builder()
        .name(fresh_name("deleted").as_str())
        .duration(Duration::from_secs(9))
        .provider(server.provider())
        .build()
        .unwrap();
    let guard = soon("the lock", lock.hold()).await.unwrap();
    let key = format!("dlock:{{{}}}", lock.name());
    assert_eq!(server.ask::<u64>(&format!("DEL {key}")).await, 1);
    // A renewal finds out: the deadline would report that the lease ran out.
    let loss = soon("the loss", guard.ended()).await;
    assert!(loss.to_string().contains("no record"), "{loss}");
    assert_eq!(
        server.ask::<u64>(&format!("EXISTS {key}")).await,
        0,
        "revived"
    );
    let next = soon("the next holder", lock.acquire()).await.unwrap();
    assert!(next.token() > loss.token);
}
