//! A server that is killed, gone, or silent.

use std::time::Duration;

use dlock_core::{
    DLock, ErrorKind, Provider,
    provider::{AcquireOutcome, Release, ReleaseOutcome, Renew, RenewOutcome},
};
use dlock_object_proof::{LIMIT, Server, provider};
use tokio::time::{Instant, timeout};

use crate::term;

/// What was acknowledged is there when the server is back, and what was remembered of it still leads to one write.
#[tokio::test]
async fn acknowledged_writes_survive_a_server_that_is_killed() {
    let mut server = Server::start().await;
    let provider = server.provider();
    let a = term("door");
    let AcquireOutcome::Acquired(tokens) = provider.acquire(&a).await.unwrap() else {
        panic!("nobody else is here");
    };
    let token = tokens.last();
    for n in 1..=3 {
        let renew = Renew::new(a.name.clone(), a.new, n);
        let renewed = provider.renew(&renew).await.unwrap();
        assert_eq!(renewed, RenewOutcome::Renewed { asked: false });
        server.restart().await;
        let other = server.provider();
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
        let lock = DLock::builder()
            .name("door")
            .duration(Duration::from_secs(45));
        lock.provider(provider).build().unwrap()
    };
    let guard = lock(server.provider()).hold().await.unwrap();
    let waiting = lock(server.provider());
    let waiter = tokio::spawn(async move { waiting.acquire().await });
    for _ in 0..2 {
        server.restart().await;
        assert!(guard.is_valid(), "{:?}", guard.state());
        assert!(!waiter.is_finished());
    }
    let token = guard.token();
    guard.release().await.unwrap();
    let next = timeout(Duration::from_secs(30), waiter).await.unwrap();
    let next = next.unwrap().unwrap();
    assert!(next.token() > token);
    next.release().await.unwrap();
}

#[tokio::test]
async fn server_that_is_not_there_is_said_so_at_once() {
    let gone = Server::start().await.address();
    let provider = provider(gone, LIMIT);
    let began = Instant::now();
    for _ in 0..3 {
        let error = provider.acquire(&term("door")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotApplied, "{error:?}");
        let error = provider.read(&term("door").name).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotApplied, "{error:?}");
    }
    assert!(began.elapsed() < LIMIT);
}

/// It stands still, and goes on: the answer is not known, and the next one is right.
#[tokio::test]
async fn silent_server_leaves_it_unknown() {
    let mut server = Server::start().await;
    let patient = server.provider();
    let hasty = provider(server.address(), Duration::from_secs(1));
    let a = term("door");
    let opened = async { while hasty.read(&a.name).await.is_err() {} };
    timeout(LIMIT, opened).await.unwrap();
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
