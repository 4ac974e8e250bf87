//! A server that is killed, gone, or silent.

use std::time::Duration;

use dlock_core::{
    DLock, ErrorKind, Name, Provider,
    provider::{Acquire, AcquireOutcome, Release, ReleaseOutcome, Renew, RenewOutcome},
};
use dlock_etcd_proof::{Server, provider};
use tokio::time::timeout;
use uuid::Uuid;

const LONG: Duration = Duration::from_secs(60);

fn term(name: &str) -> Acquire {
    Acquire::new(Name::new(name).unwrap(), Uuid::new_v4(), LONG)
}

/// What was acknowledged is there when the server is back, and what was remembered of it still leads to one write.
#[tokio::test]
async fn acknowledged_writes_survive_a_server_that_is_killed() {
    let mut server = Server::start().await;
    let provider = server.provider().await;
    let a = term("door");
    let AcquireOutcome::Acquired(tokens) = provider.acquire(&a).await.unwrap() else {
        panic!("nobody else is here");
    };
    let token = tokens.last();
    for n in 1..=5 {
        let renew = Renew::new(a.name.clone(), a.new, n);
        let renewed = provider.renew(&renew).await.unwrap();
        assert_eq!(renewed, RenewOutcome::Renewed { asked: false });
        server.restart().await;
        let other = server.provider().await;
        let record = other.read(&a.name).await.unwrap().unwrap();
        assert_eq!(
            (record.uuid, record.renewals, record.token),
            (a.new, n, token)
        );
        let refused = other.acquire(&term("door")).await.unwrap();
        assert!(matches!(refused, AcquireOutcome::Held(_)), "{refused:?}");
        // The first call meets the broken connection, perhaps.
        if let Err(error) = provider.read(&a.name).await {
            assert_ne!(error.kind(), ErrorKind::Fatal, "{error:?}");
        }
    }
    let release = Release::new(a.name.clone(), a.new, Some(token));
    let released = provider.release(&release).await.unwrap();
    assert_eq!(released, ReleaseOutcome::Released);
}

/// A holder does not notice, and neither does the one that waits for it.
#[tokio::test]
async fn guard_survives_a_server_that_is_killed() {
    let mut server = Server::start().await;
    let lock = |provider| {
        let lock = DLock::builder().name("door").duration(LONG);
        let lock = lock.renew_every(Duration::from_secs(3));
        lock.provider(provider).build().unwrap()
    };
    let guard = lock(server.provider().await).hold().await.unwrap();
    let waiting = lock(server.provider().await);
    let waiter = tokio::spawn(async move { waiting.acquire().await });
    let door = term("door").name;
    for _ in 0..3 {
        server.restart().await;
        let direct = server.provider().await;
        let renewals = async || direct.read(&door).await.unwrap().unwrap().renewals;
        let before = renewals().await;
        while renewals().await == before {
            assert!(guard.is_valid(), "{:?}", guard.state());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(!waiter.is_finished());
    }
    let token = guard.token();
    guard.release().await.unwrap();
    let next = timeout(LONG, waiter).await.unwrap();
    let next = next.unwrap().unwrap();
    assert!(next.token() > token);
    next.release().await.unwrap();
}

#[tokio::test]
async fn server_that_is_not_there_is_said_so_at_once() {
    let gone = Server::start().await.address();
    // What waited for an answer would wait for an hour.
    let provider = provider(gone, 60 * LONG).await;
    let at_once = async {
        for _ in 0..3 {
            let error = provider.acquire(&term("door")).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotApplied, "{error:?}");
            let error = provider.read(&term("door").name).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotApplied, "{error:?}");
        }
    };
    timeout(LONG, at_once).await.unwrap();
}

/// It stands still, and goes on: the answer is not known, and the next one is right.
#[tokio::test]
async fn silent_server_leaves_it_unknown() {
    let mut server = Server::start().await;
    let patient = server.provider().await;
    let hasty = provider(server.address(), Duration::from_secs(2)).await;
    let a = term("door");
    let opened = async { while hasty.read(&a.name).await.is_err() {} };
    timeout(LONG, opened).await.unwrap();
    server.freeze().await;
    let error = hasty.acquire(&a).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unknown, "{error:?}");
    server.signal("CONT");
    let granted = patient.acquire(&a).await.unwrap();
    assert!(
        matches!(granted, AcquireOutcome::Acquired(_)),
        "{granted:?}"
    );
}
